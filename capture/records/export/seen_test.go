// SPDX-License-Identifier: Apache-2.0

package export

import (
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture/records/internal/exporttest"
)

// TestSeen remembers messages for an hour where there is memory, and says for how long if
// there is not.
func TestSeen(t *testing.T) {
	enter := func(s *seen, n int, now int64, room *int) (again bool, spanned time.Duration) {
		return s.enter(uint64(n+1)*0x9e3779b97f4a7c15, now, room)
	}
	var s seen
	const allSlots = 1 << 22
	room := allSlots
	for n := range 50000 {
		if again, spanned := enter(&s, n, int64(n)*second/20, &room); again || spanned != 0 {
			t.Fatalf("message %d: %v, remembered for %v", n, again, spanned)
		}
	}
	for n := range 50000 {
		if again, _ := enter(&s, n, 50000*second/20, &room); !again {
			t.Fatalf("message %d is not known", n)
		}
	}
	if used := allSlots - room; used != s.size() || used > 50000*8 {
		t.Errorf("%d slots of %d", used, s.size())
	}
	for n := range 10 {
		enter(&s, 50000+n, int64(n+1)*2*int64(time.Hour), &room)
	}
	if again, _ := enter(&s, 7, 21*int64(time.Hour), &room); again {
		t.Error("a message is known for hours")
	}

	var small seen
	room = 0
	for n := range 1000 {
		if _, spanned := enter(&small, n, int64(n)*second, &room); spanned != 0 && spanned != leastSlots/2*time.Second {
			t.Fatalf("message %d: remembered for %v", n, spanned)
		}
		if again, _ := enter(&small, max(n-leastSlots/2, 0), int64(n)*second, &room); !again {
			t.Fatalf("message %d does not know those before", n)
		}
	}
	if small.size() != 2*leastSlots {
		t.Errorf("%d slots", small.size())
	}
}

// TestReplays drops what comes twice whole: at once, a minute later, where a set waits for a
// template, where none ever comes, and where a template has changed since.
func TestReplays(t *testing.T) {
	const n = 200
	cases := []struct {
		name        string
		later       int64
		message     func(i int) []byte
		untemplated uint64
	}{
		{"at once", 200_000, func(i int) []byte { return sets9(uint32(i), 1, usualSet, usualData) }, 0},
		{"a minute later", 60 * second, func(i int) []byte { return sets9(uint32(i), 1, usualSet, usualData) }, 0},
		{"late template", 200_000, func(i int) []byte {
			if i == n-1 {
				return sets9(uint32(i), 1, usualData, usualSet)
			}
			return sets9(uint32(i), 1, usualData)
		}, 0},
		{"no template", 200_000, func(i int) []byte { return sets9(uint32(i), 1, usualSet, usualData, otherData) }, n},
		{"another template", 60 * second, func(i int) []byte {
			switch i {
			case 0:
				return sets9(0, 1, exporttest.Set(0, exporttest.Template(256, [3]uint32{8, 45})), usualData)
			case 1:
				return sets9(1, 1, usualSet, usualData)
			}
			return sets9(uint32(i), 1, usualData)
		}, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := &exporttest.Wire{AtOnce: 7}
			for i, next := 0, 0; i < n; {
				at, again := int64(i)*second/10, int64(next)*second/10+c.later
				if next < i && again <= at {
					w.Datagrams = append(w.Datagrams, datagramOf(routerA, again, c.message(next)))
					next++
					continue
				}
				w.Datagrams = append(w.Datagrams, datagramOf(routerA, at, c.message(i)))
				if i++; i == n {
					for ; next < n; next++ {
						w.Datagrams = append(w.Datagrams, datagramOf(routerA, int64(next)*second/10+c.later, c.message(next)))
					}
				}
			}
			r := NewReader(w)
			kept := 0
			for _, b := range exporttest.ReadAll(t, r) {
				if b.Replayed && len(b.Records) > 0 {
					t.Fatal("records of a message that came before")
				}
				for _, one := range b.Records {
					if one.Source.String() == exporttest.Flows[0].Source {
						kept++
					}
				}
			}
			want := n
			if c.name == "another template" {
				want-- // the first message says something else
			}
			got := r.Counts()
			if got.Replayed != n || kept != want || got.Records != n || got.Untemplated != c.untemplated || got.Lost != 0 {
				t.Errorf("%d records of %d: %+v", kept, want, got)
			}
		})
	}
}
