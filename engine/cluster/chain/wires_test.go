// SPDX-License-Identifier: Apache-2.0

package chain

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/engine/hubclient"
)

// wires are a filter whose slices talk to each other. Messages to a link wait in the order in
// which they were sent, and links take them in any order among each other.
type wires struct {
	t       testing.TB
	shape   Shape
	rng     *rand.Rand
	links   []*Link
	waiting [][]*sent // for each slice
	answers map[string][]byte
	stale   map[string]bool // requests that were refused as such; nil for none
	moves   int             // a slice is saved and restored once in moves messages
	kills   int             // one is lost, and restored by its last snapshot and its journal, once in kills messages; 0 for never
	saved   [][]byte        // the last snapshot of each slice, nil for none
	journal [][]*sent       // messages that each slice has taken since, if kills is not 0
	drops   int             // one in drops messages between slices is lost
}

type sent struct {
	site, reply string // of requests
	msg         []byte
}

func newWires(t testing.TB, s Shape, rng *rand.Rand) *wires {
	t.Helper()
	w := &wires{
		t: t, shape: s, rng: rng, waiting: make([][]*sent, s.Slices()), answers: map[string][]byte{},
		saved: make([][]byte, s.Slices()), journal: make([][]*sent, s.Slices()),
	}
	for i := range s.Slices() {
		w.links = append(w.links, newLink(t, s, i))
	}
	t.Cleanup(func() {
		for _, l := range w.links {
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return w
}

func newLink(t testing.TB, s Shape, number int) *Link {
	t.Helper()
	l, err := New(s, number)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// step makes one of the links with waiting messages take one. It reports false if there
// is none.
func (w *wires) step() bool {
	first := w.rng.IntN(len(w.links))
	for i := range w.links {
		n := (first + i) % len(w.links)
		if len(w.waiting[n]) == 0 {
			continue
		}
		m := w.waiting[n][0]
		w.waiting[n] = w.waiting[n][1:]
		w.take(n, m)
		if w.moves > 0 && w.rng.IntN(w.moves) == 0 {
			w.move(n)
		}
		if w.kills > 0 && w.rng.IntN(w.kills) == 0 {
			w.kill(n)
		}
		return true
	}
	return false
}

// take has a slice take a message.
func (w *wires) take(n int, m *sent) {
	if w.kills > 0 {
		w.journal[n] = append(w.journal[n], &sent{m.site, m.reply, slices.Clone(m.msg)})
	}
	result := w.give(n, m)
	chain, link := w.shape.Place(n)
	if result.Next != nil {
		w.post(w.shape.Number(chain, link+1), result.Next)
	}
	for _, msg := range result.First {
		w.post(w.shape.Number(chain, 0), msg)
	}
	if a := result.Answer; a != nil {
		if a.Status == hubclient.Stale && w.stale != nil {
			w.stale[a.Reply] = true
			return
		}
		if a.Status != hubclient.OK || a.Fence != 7 {
			w.t.Fatalf("status %v, fence %d", a.Status, a.Fence)
		}
		if before, ok := w.answers[a.Reply]; ok && string(before) != string(a.Copies) {
			w.t.Fatalf("another answer to %s", a.Reply)
		}
		w.answers[a.Reply] = append([]byte(nil), a.Copies...)
	}
}

// give gives a slice a message.
func (w *wires) give(n int, m *sent) Result {
	if m.reply == "" {
		result, err := w.links[n].Pass(m.msg)
		if err != nil {
			w.t.Fatal(err)
		}
		return result
	}
	var r hubclient.Request
	if err := r.Decode(m.msg); err != nil {
		w.t.Fatal(err)
	}
	return w.links[n].Begin(m.site, m.reply, 7, &r, m.msg)
}

func (w *wires) post(n int, msg []byte) {
	if w.drops == 0 || w.rng.IntN(w.drops) > 0 {
		w.waiting[n] = append(w.waiting[n], &sent{msg: append([]byte(nil), msg...)})
	}
}

// move saves a slice, and restores it.
func (w *wires) move(n int) {
	w.t.Helper()
	w.saved[n], w.journal[n] = w.links[n].Save(nil), nil
	w.restore(n)
}

// restore replaces a slice by its last snapshot, or by an empty one.
func (w *wires) restore(n int) {
	w.t.Helper()
	if err := w.links[n].Close(); err != nil {
		w.t.Fatal(err)
	}
	if w.saved[n] == nil {
		w.links[n] = newLink(w.t, w.shape, n)
		return
	}
	var err error
	if w.links[n], err = Restore(w.shape, n, w.saved[n]); err != nil {
		w.t.Fatal(err)
	}
}

// kill makes a slice lose its state. Another one takes its place, by the last snapshot and the
// messages since, whose results have been sent.
func (w *wires) kill(n int) {
	w.t.Helper()
	w.restore(n)
	for _, m := range w.journal[n] {
		w.give(n, m)
	}
}

// crash makes a slice lose its state.
func (w *wires) crash(n int) {
	w.t.Helper()
	if err := w.links[n].Close(); err != nil {
		w.t.Fatal(err)
	}
	w.links[n] = newLink(w.t, w.shape, n)
	w.links[n].Lose()
}

// request returns the message that a site sends about elements, of times in microseconds.
func request(seq uint64, elements []uint64, times []int64) []byte {
	r := hubclient.Request{Op: hubclient.TestAndSet, Times: true, Seq: seq, Time: uint64(times[0]), Digests: elements}
	for _, t := range times {
		r.Deltas = append(r.Deltas, int32((t-times[0])/hubclient.DeltaUnit))
	}
	return r.Append(nil)
}
