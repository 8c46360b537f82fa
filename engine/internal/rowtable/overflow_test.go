// SPDX-License-Identifier: Apache-2.0

package rowtable

import (
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/layout"
)

// words returns numbers of 20 bits, some of them repeated, with 0 among them.
func words(n int) []uint32 {
	rng, all := rand.New(rand.NewPCG(1, 2)), make([]uint32, n)
	for i := range all {
		all[i] = rng.Uint32() >> 12 &^ 7
	}
	return append(all, 0, 0)
}

// TestOverflow compares sets of words with a map, and counts their memory.
func TestOverflow(t *testing.T) {
	for _, groups := range []int{1, 8} {
		overflow, known := newOverflow[uint32](groups, 20, layout.Golden, false), map[uint32]bool{}
		for i, y := range words(60_000) {
			if got := overflow.TestAndSet(y); got != known[y] {
				t.Fatalf("%d groups, word %d: known %v, want %v", groups, i, got, known[y])
			}
			known[y] = true
		}
		if got := len(overflow.words()); got != len(known) {
			t.Errorf("%d groups hold %d words, want %d", groups, got, len(known))
		}
		for group := range groups {
			set := overflow.remove(group)
			if 2*set.count > len(set.table) {
				t.Errorf("%d words in a table of %d: more than half full", set.count, len(set.table))
			}
			for y := range set.All {
				if !known[y] || int(y>>overflow.shift) != group {
					t.Fatalf("group %d of %d holds %#x", group, groups, y)
				}
				delete(known, y)
			}
		}
		if len(known) > 0 || overflow.bytes != 0 {
			t.Errorf("%d groups: %d words are lost, %d bytes are left", groups, len(known), overflow.bytes)
		}
	}
}

// TestOverflowDates gives each word the number of its last place as its date.
func TestOverflowDates(t *testing.T) {
	overflow, dates := newOverflow[uint64](4, 20, KeyedFactor([16]byte{1}), true), map[uint64]uint16{}
	for i, y := range words(60_000) {
		y := uint64(y) | 1
		date, known := overflow.DateOf(y)
		if want, ok := dates[y]; known != ok || *date != want {
			t.Fatalf("word %d: known %v with date %d, want %v with %d", i, known, *date, ok, want)
		}
		*date = uint16(i)
		dates[y] = *date
	}
	for words := overflow.words(); len(words) > 0; words = words[2:] {
		if want, ok := dates[words[0]]; !ok || uint16(words[1]) != want {
			t.Fatalf("word %#x has date %d, want %d", words[0], words[1], want)
		}
	}
}
