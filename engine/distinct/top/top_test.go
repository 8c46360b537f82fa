// SPDX-License-Identifier: Apache-2.0

package top

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
)

// skewed returns a stream in which few elements have most packets, and an element with few long ones.
func skewed(seed uint64, n, elements int) (keys []Key, lengths []uint64) {
	rng := rand.New(rand.NewPCG(seed, 1))
	zipf := rand.NewZipf(rng, 1.1+float64(seed%5)/4, 1, uint64(elements-1))
	for range n {
		k, length := zipf.Uint64(), 60+rng.Uint64N(1440)
		if k == 7 {
			length = 60_000
		}
		var key Key
		binary.BigEndian.PutUint64(key[:], k*0x9e3779b97f4a7c15)
		keys, lengths = append(keys, key), append(lengths, length)
	}
	return keys, lengths
}

// TestBounds compares summaries of any size with a map: no count is too low, and none is more too high
// than it says. Counts of what ranks add up to the stream, so that the lowest count, which bounds the
// error, is at most n/m; elements with more are there (Metwally et al., lemmas 1 to 3, theorem 2).
func TestBounds(t *testing.T) {
	for seed := range uint64(40) {
		keys, lengths := skewed(seed, 20_000, 3000)
		truth, sum := map[Key][2]uint64{}, [2]uint64{}
		for i, key := range keys {
			n := truth[key]
			truth[key] = [2]uint64{n[0] + 1, n[1] + lengths[i]}
			sum = [2]uint64{sum[0] + 1, sum[1] + lengths[i]}
		}
		for _, by := range []By{Packets, Bytes} {
			for _, entries := range []int{1, 2, 10, 100, 1000, 3000} {
				s := New(by)
				s.Limit(entries * entrySize)
				for i, key := range keys {
					s.Add(key, idOf(key), lengths[i])
				}
				all := s.Top(len(truth))
				checkBounds(t, fmt.Sprint(seed, by, entries), all, truth, sum[by]/uint64(entries), by)
				counted, over := uint64(0), uint64(0)
				for _, e := range all {
					counted, over = counted+e.Count[by], over+e.Over[by]
				}
				if counted != sum[by] || (entries >= len(truth)) != (over == 0) {
					t.Errorf("seed %d, by %d, %d entries of %d: counts of %d, up to %d too high, want %d", seed, by, entries, len(truth), counted, over, sum[by])
				}
			}
		}
	}
}

// checkBounds checks the ranking of a summary with all its entries.
func checkBounds(t *testing.T, what string, all []*Entry, truth map[Key][2]uint64, most uint64, by By) {
	t.Helper()
	listed := map[Key]bool{}
	for i, e := range all {
		listed[e.Key] = true
		for which, n := range truth[e.Key] {
			if n > e.Count[which] || n < e.Count[which]-e.Over[which] {
				t.Errorf("%s: %x has %d, not %d to %d", what, e.Key, n, e.Count[which]-e.Over[which], e.Count[which])
			}
		}
		if e.Over[by] > most {
			t.Errorf("%s: %x is up to %d too high, want at most %d", what, e.Key, e.Over[by], most)
		}
		if i > 0 && all[i-1].Count[by] < e.Count[by] {
			t.Errorf("%s: entry %d is in the wrong place", what, i)
		}
	}
	for key, n := range truth {
		if n[by] > most && !listed[key] {
			t.Errorf("%s: %x with %d is missing", what, key, n[by])
		}
	}
}

// TestTop compares an exact ranking, also a short one, with a sorted map.
func TestTop(t *testing.T) {
	keys, lengths := skewed(3, 5000, 400)
	s, truth := New(Bytes), map[Key][2]uint64{}
	for i, key := range keys {
		lengths[i] /= 300 // equal sums
		s.Add(key, idOf(key), lengths[i])
		truth[key] = [2]uint64{truth[key][0] + 1, truth[key][1] + lengths[i]}
	}
	var want []*Entry
	for key, n := range truth {
		want = append(want, &Entry{Key: key, Count: n})
	}
	slices.SortFunc(want, func(a, b *Entry) int {
		for _, which := range []By{Bytes, Packets} {
			if a.Count[which] != b.Count[which] {
				return int(b.Count[which]) - int(a.Count[which])
			}
		}
		return slices.Compare(a.Key[:], b.Key[:])
	})
	for _, n := range []int{1, 10, len(want), len(want) + 1} {
		if got := s.Top(n); !slices.EqualFunc(got, want[:min(n, len(want))], func(a, b *Entry) bool { return a.Key == b.Key && a.Count == b.Count }) {
			t.Errorf("the first %d differ", n)
		}
	}
}

// TestLimitRises raises the limit of a summary that was full, twice.
func TestLimitRises(t *testing.T) {
	keys, lengths := skewed(5, 30_000, 5000)
	s, truth := New(Packets), map[Key][2]uint64{}
	for i, key := range keys {
		if i%10_000 == 0 {
			s.Limit((i/100 + 50) * entrySize)
		}
		s.Add(key, idOf(key), lengths[i])
		truth[key] = [2]uint64{truth[key][0] + 1, truth[key][1] + lengths[i]}
	}
	checkBounds(t, "", s.Top(len(truth)), truth, uint64(len(keys)/50), Packets)
	if s.Limit(1); len(s.Top(1000)) != 250 {
		t.Errorf("%d entries, want 250", len(s.Top(1000)))
	}
}

// TestMemory compares what Needs says with the heap.
func TestMemory(t *testing.T) {
	check := func(name string, fill func() (keep any, says int)) {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		keep, says := fill()
		runtime.GC()
		runtime.ReadMemStats(&after)
		runtime.KeepAlive(keep)
		if takes := int(after.HeapAlloc - before.HeapAlloc); takes > says || takes < says/3 {
			t.Errorf("%s: takes %d bytes, says %d", name, takes, says)
		}
	}
	for _, n := range []uint64{10_000, 100_000, 262_144} {
		check(fmt.Sprint(n), func() (any, int) { return filled(n) })
	}
}

// filled returns a summary of n elements that had to leave one out, and its memory.
func filled(n uint64) (any, int) {
	s := New(Packets)
	s.Limit(s.Needs(int(n)))
	for i := range n + 1 {
		s.Add(Key{}, i*0x9e3779b97f4a7c15, 1)
	}
	return s, s.Needs(0)
}

// idOf returns the id of an element in tests.
func idOf(key Key) uint64 { return binary.BigEndian.Uint64(key[:]) }
