// SPDX-License-Identifier: Apache-2.0

package paper

import (
	"fmt"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
)

// TestSlidingModel counts the increments of each counter by the elements of the window
// again for each element. Counters of 10 bits must equal them, and so every verdict.
// Narrow ones may be stuck at their largest value, and so find more, never less.
func TestSlidingModel(t *testing.T) {
	for _, window := range []int{1, 2, 7, 60} {
		for counterBits := 2; counterBits <= 10; counterBits += 2 {
			c := SlidingConfig{Counters: 97, CounterBits: counterBits, D: 3, Window: window, ElementBits: 32}
			s, ids, model := must[*SlidingBloom](t)(NewSlidingBloom(c)), skewed(3000, 400, 4), make([]int, c.Counters)
			for at, id := range ids {
				found := true
				for _, i := range placesOf(digestOf(id), c.Counters, c.D) {
					found = found && model[i] > 0
					model[i]++
				}
				if at >= window {
					for _, i := range placesOf(digestOf(ids[at-window]), c.Counters, c.D) {
						model[i]--
					}
				}
				if seen := s.TestAndSet(digestOf(id)); seen != found && (counterBits == 10 || found) {
					t.Fatalf("%+v: element %d at %d: seen %v, model %v", c, id, at, seen, found)
				}
				stuck := 0
				for i, want := range model {
					got := s.get(uint64(i))
					if got == s.top {
						stuck++
					} else if got != uint64(want) {
						t.Fatalf("%+v: counter %d is %d, want %d", c, i, got, want)
					}
				}
				if s.SaturatedShare() != float64(stuck)/97 || stuck > 0 && counterBits == 10 {
					t.Fatalf("%+v: %d counters are stuck, the share is %g", c, stuck, s.SaturatedShare())
				}
			}
		}
	}
}

// TestLRUModel compares with a list that is searched from its start.
func TestLRUModel(t *testing.T) {
	for _, capacity := range []int{1, 2, 7, 50} {
		l, recent := must[*LRU](t)(NewLRU(capacity*64, 64)), []digest.Digest(nil) // most recently used first
		compare(t, fmt.Sprint(capacity), l, uniform(5000, 80, 5), func(d digest.Digest) bool {
			at := slices.Index(recent, d)
			if at >= 0 {
				recent = slices.Delete(recent, at, at+1)
			}
			recent = slices.Insert(recent, 0, d)
			recent = recent[:min(len(recent), capacity)]
			return at >= 0
		})
		if len(l.index) > capacity {
			t.Errorf("capacity %d: %d indexed", capacity, len(l.index))
		}
	}
}

// TestClockModel compares with a queue: elements that were used go to its end when a new one
// needs a place.
func TestClockModel(t *testing.T) {
	type entry struct {
		digest digest.Digest
		used   bool
	}
	for _, capacity := range []int{1, 2, 7, 50} {
		c, queue := must[*Clock](t)(NewClock(capacity*64, 64)), []entry(nil) // from the hand on
		compare(t, fmt.Sprint(capacity), c, uniform(5000, 80, 5), func(d digest.Digest) bool {
			if at := slices.IndexFunc(queue, func(e entry) bool { return e.digest == d }); at >= 0 {
				queue[at].used = true
				return true
			}
			for len(queue) == capacity {
				if queue[0].used {
					queue = append(queue[1:], entry{queue[0].digest, false})
				} else {
					queue = queue[1:]
				}
			}
			queue = append(queue, entry{d, true})
			return false
		})
		if len(c.index) > capacity {
			t.Errorf("capacity %d: %d indexed", capacity, len(c.index))
		}
	}
}

// TestFPBufferingModel compares with a buffer and the same random numbers.
func TestFPBufferingModel(t *testing.T) {
	const q = 0.3
	f := must[*FPBuffering](t)(NewFPBuffering(30*64, 64, q, 8))
	buffer, random, reported := must[*LRU](t)(NewLRU(30*64, 64)), newRandom(8), 0
	compare(t, "FPbuffering", f, uniform(5000, 80, 5), func(d digest.Digest) bool {
		if buffer.TestAndSet(d) {
			return true
		}
		isReported := random.Float64() < q
		if isReported {
			reported++
		}
		return isReported
	})
	if reported < 500 {
		t.Errorf("only %d of what the buffer does not hold", reported)
	}
}

// TestA2Model compares with sets of bits that take capacity elements each: the latest two
// count.
func TestA2Model(t *testing.T) {
	for _, c := range [][3]int{{2000, 3, 1}, {2000, 3, 50}, {20_001, 5, 400}} {
		bits, k, capacity := c[0], c[1], c[2]
		buffers, count := []map[uint64]bool{{}, {}}, 0
		in := func(buffer int, pos []uint64) bool {
			return !slices.ContainsFunc(pos, func(i uint64) bool { return !buffers[buffer][i] })
		}
		compare(t, fmt.Sprint(c), must[*A2](t)(NewA2(bits, k, capacity)), uniform(20_000, 2000, 2),
			func(d digest.Digest) bool {
				pos := placesOf(d, bits/2, k)
				first, seen := in(1, pos), in(0, pos) || in(1, pos)
				if first {
					return true
				}
				if count++; count > capacity {
					buffers, count = []map[uint64]bool{buffers[1], {}}, 1
				}
				for _, i := range pos {
					buffers[1][i] = true
				}
				return seen
			})
	}
}
