// SPDX-License-Identifier: Apache-2.0

package distinct

import (
	"math/rand/v2"
	"testing"
)

// TestSliding compares windows with merged sketches of their steps, over streams with
// pauses, late elements, and jumps.
func TestSliding(t *testing.T) {
	rounds := 600
	if testing.Short() {
		rounds = 200
	}
	for _, steps := range []int{1, 2, 3, 60} {
		rng := rand.New(rand.NewPCG(uint64(steps), 3))
		s, plain := NewSlidingSketch(steps), map[int64]*Sketch{}
		now := int64(-500)
		s.Advance(now)
		for round := range rounds {
			switch n := rng.IntN(20); {
			case n == 0:
				now += int64(rng.IntN(2 * steps))
			case n == 1 && rng.IntN(20) == 0:
				now = -int64(rng.IntN(9999))
				clear(plain)
				s.Reset()
				s.Advance(now)
			case n < 8:
				now++
			}
			for range rng.IntN(30) {
				step, word := now, rng.Uint64()
				if rng.IntN(4) == 0 {
					step -= int64(rng.IntN(steps + 2)) // late, or too late
				}
				if plain[step] == nil {
					plain[step] = new(Sketch)
				}
				plain[step].add(word)
				s.Add(step, word)
			}
			s.Advance(now)
			var want Sketch
			for step := now - int64(steps) + 1; step <= now; step++ {
				if plain[step] != nil {
					want.Merge(plain[step])
				}
			}
			if got := s.Estimate(); got != want.Estimate() {
				t.Fatalf("%d steps, round %d: %v, want %v", steps, round, got, want.Estimate())
			}
			if most := (steps + 2) * SketchSize; s.Bytes() > most {
				t.Fatalf("%d steps take %d bytes, at most %d", steps, s.Bytes(), most)
			}
		}
	}
}
