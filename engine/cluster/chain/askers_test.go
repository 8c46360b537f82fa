// SPDX-License-Identifier: Apache-2.0

package chain

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestThreeAskers has three askers of one site with eight requests each on their way, which is more
// than slices remember answers of. Each request is repeated, in another order, also once slices
// have moved, or the first link is lost. It is answered as it was, or refused, and its elements are
// no copies of themselves.
func TestThreeAskers(t *testing.T) {
	all := shapes()
	for _, s := range shapes() {
		if s.V, s.H = 1, 1; s.Layout == Vertical {
			all = append(all, s)
		}
	}
	for _, s := range all {
		if s.Chains() > 1 {
			continue
		}
		s.Bytes, s.Equal, s.AtLeast = 1<<20, 0, 0 // no false positives, and a lost link stops no copy
		t.Run(s.String(), func(t *testing.T) { threeAskers(t, s, false) })
		if s.Links() > 1 {
			t.Run(s.String()+", first link lost", func(t *testing.T) { threeAskers(t, s, true) })
		}
	}
}

func threeAskers(t *testing.T, s Shape, lose bool) {
	w := newWires(t, s, rand.New(rand.NewPCG(7, 8)))
	w.stale = map[string]bool{}
	var asked []*sent
	for seq := range uint64(8) {
		for asker := range uint64(3) {
			elements, n := random(w.rng, 20), 1000*asker+seq
			asked = append(asked, &sent{
				site: "a", reply: fmt.Sprintf("inbox.a.run%d.0.%d", asker, n), msg: request(n, elements, make([]int64, len(elements))),
			})
		}
	}
	for range 3 {
		for _, m := range asked {
			one := *m
			w.waiting[0] = append(w.waiting[0], &one)
			for w.step() {
			}
		}
		w.rng.Shuffle(len(asked), func(i, j int) { asked[i], asked[j] = asked[j], asked[i] })
		for i := range w.links {
			w.move(i)
		}
		if lose {
			w.crash(0)
		}
	}
	if len(w.answers) != len(asked) || len(w.stale) == 0 {
		t.Fatalf("%d answers, %d refused", len(w.answers), len(w.stale))
	}
	for reply, bits := range w.answers {
		for _, b := range bits {
			if b != 0 {
				t.Fatalf("%s: elements are copies of themselves: %x", reply, bits)
			}
		}
	}
}

// TestBothEndsLost has the first and the last link lose all, and so all requests that they knew,
// while links between them live, and a lost link stops no copy. Elements of repeated requests are
// no copies of themselves, in whatever order requests are repeated. Once the numbers of an asker
// show that a request is new, elements that the other links know are copies again, and so are the
// ones that passed unchecked.
func TestBothEndsLost(t *testing.T) {
	for _, s := range shapes() {
		if s.Chains() > 1 || s.Links() < 3 {
			continue
		}
		s.Bytes, s.Equal, s.AtLeast = 1<<20, 0, 0
		t.Run(s.String(), func(t *testing.T) { bothEndsLost(t, s) })
	}
}

func bothEndsLost(t *testing.T, s Shape) {
	w := newWires(t, s, rand.New(rand.NewPCG(9, 8)))
	ask := func(asker, seq uint64, elements []uint64) []byte {
		reply := fmt.Sprintf("inbox.a.run%d.0.%d", asker, seq)
		w.waiting[0] = append(w.waiting[0], &sent{site: "a", reply: reply, msg: request(seq, elements, make([]int64, len(elements)))})
		for w.step() {
		}
		return w.answers[reply]
	}
	var known [][]uint64
	for seq := range uint64(8) {
		known = append(known, random(w.rng, 8))
		ask(0, seq, known[seq])
	}
	w.crash(0)
	w.crash(s.Links() - 1)
	for _, seq := range w.rng.Perm(len(known)) {
		if bits := ask(0, uint64(seq), known[seq]); bits[0] != 0 {
			t.Errorf("request %d: elements are copies of themselves: %x", seq, bits)
		}
		for i := range w.links {
			w.move(i)
		}
	}
	unchecked := random(w.rng, 8)
	for _, later := range []struct {
		asker, seq uint64
		elements   []uint64
		want       byte
	}{
		{0, 300, unchecked, 0}, {0, 600, known[0], 0xff}, {1, 20_000, known[0], 0}, {1, 20_511, known[0], 0},
		{1, 20_512, known[0], 0xff}, {0, 601, known[0], 0xff}, {0, 602, unchecked, 0xff},
	} {
		if bits := ask(later.asker, later.seq, later.elements); bits[0] != later.want {
			t.Errorf("request %d of asker %d: %x, want %x", later.seq, later.asker, bits, later.want)
		}
	}
}
