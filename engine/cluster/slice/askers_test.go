// SPDX-License-Identifier: Apache-2.0

package slice

import (
	"fmt"
	"testing"

	"github.com/flowdedup/flowdedup/engine/hubclient"
)

func TestAskers(t *testing.T) {
	type note struct {
		name  string
		seq   uint64
		again bool
	}
	fill := func(from, to int) (all []note) { // askers, the last to ask is the last to go
		for i := from; i < to; i++ {
			all = append(all, note{fmt.Sprint("run", i), uint64(1000 * (i + 1)), false})
		}
		return all
	}
	for name, notes := range map[string][]note{
		"repeated":             {{"a", 5, false}, {"a", 5, true}, {"a", 5, true}},
		"others between":       {{"a", 5, false}, {"b", 5, false}, {"b", 6, false}, {"a", 5, true}, {"b", 5, true}},
		"late, but new":        {{"a", 9, false}, {"a", 7, false}, {"a", 7, true}, {"a", 8, false}, {"a", 9, true}},
		"at the edge":          {{"a", 1000, false}, {"a", 1000 + keptNumbers - 1, false}, {"a", 1000, true}, {"a", 1001, false}},
		"behind the edge":      {{"a", 1000, false}, {"a", 1000 + keptNumbers, false}, {"a", 1000, true}, {"a", 999, true}, {"a", 1001, false}},
		"a jump":               {{"a", 1000, false}, {"a", 1000 + 7*keptNumbers, false}, {"a", 1000 + 6*keptNumbers + 1, false}},
		"the highest":          {{"a", 1<<64 - 1, false}, {"a", 1<<64 - 1, true}, {"a", 0, true}},
		"without a name":       {{"", 5, false}, {"", 5, false}},
		"forgotten":            append(fill(0, keptAskers+2), note{"run0", 1000, true}, note{"run1", 2000, true}, note{"run2", 3000, true}, note{"new", 2001, false}),
		"the oldest is active": append(append(fill(0, keptAskers), note{"run0", 1001, false}), append(fill(keptAskers, keptAskers+3), note{"run0", 1000, true}, note{"run0", 1002, false})...),
	} {
		t.Run(name, func(t *testing.T) {
			var askers askers
			for i, n := range notes {
				if again := askers.note(n.name, n.seq); again != n.again {
					t.Fatalf("%d: %s %d: again %v", i, n.name, n.seq, again)
				}
			}
			if len(askers.All) > keptAskers {
				t.Error(len(askers.All), "askers")
			}
		})
	}
}

func TestAskerOf(t *testing.T) {
	for reply, want := range map[string]string{"inbox.a.run.63.12345": "inbox.a.run", "a.b.c": "a", "a.b": "", "a": "", "": ""} {
		if got := askerOf(reply); got != want {
			t.Errorf("%q: %q, want %q", reply, got, want)
		}
	}
}

// TestForgottenAnswer has a slice know a request whose answer it has forgotten, also once it was
// restored.
func TestForgottenAnswer(t *testing.T) {
	const asked = 3 * keptReplies
	s := newSlice(t, 1e6, 1<<16, 1<<16)
	for round := range 2 {
		for i := range uint64(asked) {
			reply := fmt.Sprintf("inbox.a.run%d.0.%d", i%3, i/3)
			r := batch(hubclient.TestAndSet, i/3, []event{{i + 1, at, ""}})
			if again, _ := s.Repeated("a", reply, r); again != (round > 0) {
				t.Fatalf("round %d: %s: again %v", round, reply, again)
			}
			s.Apply(nil, "a", r)
		}
		next, err := Restore(s.cfg, s.Save(nil))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { closeSlice(t, next) })
		s = next
	}
}
