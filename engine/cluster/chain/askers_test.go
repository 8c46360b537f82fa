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
