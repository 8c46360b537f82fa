// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/internal/check"
)

// newElements takes n new elements through the filter, and returns how many are taken for
// seen, and how many the filter expected by its own estimate.
func newElements(s *Filter, rng *rand.Rand, n int) (seen int, expected float64) {
	const batch = 256
	var digests [batch]digest.Digest
	var verdicts [batch / 64]uint64
	for range n / batch {
		for i := range digests {
			digests[i] = digest.Digest{rng.Uint64(), rng.Uint64()}
		}
		before := s.Stats().FPR
		s.TestAndSet(verdicts[:], digests[:])
		expected += batch * (before + s.Stats().FPR) / 2
		seen += check.CountBits(verdicts[:])
	}
	return seen, expected
}

// Streams of new elements lead to the bound of the false positive rate and not beyond:
// within 5 standard deviations and 8 %, by which runs of decrements make lines of cells
// better than their bound.
func TestBound(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	forStreams(t, 32, func(t *testing.T, c Config) {
		s := mustStream(t, c)
		rng := rand.New(rand.NewPCG(21, 22))
		newElements(s, rng, 1<<16)
		if c.Method == "rsbf" {
			newElements(s, rng, 1<<19) // it takes ever fewer elements in
		}
		const n = 1 << 17
		seen, _ := newElements(s, rng, n)
		bound := s.Stats().FPRBound
		got, chance := float64(seen)/n, 5*math.Sqrt(bound/n)
		if got > bound+chance || got < 0.92*bound-chance && c.Method != "rsbf" && c.Method != "bsbfsd" {
			t.Errorf("%v of new elements are taken for seen, bound %v", got, bound)
		}
	})
}

// At every fill the estimate equals the rate of new elements, within 5 standard
// deviations and 4 %, and 8 % with cells, from empty lines to the limit.
func TestEstimate(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	forStreams(t, 1024, func(t *testing.T, c Config) {
		s := mustStream(t, c)
		rng := rand.New(rand.NewPCG(23, 24))
		tolerance := 0.04
		if s.params.family() == familyCells {
			tolerance = 0.08
		}
		for range 6 {
			seen, expected := newElements(s, rng, 1<<15)
			if slack := tolerance*expected + 5*math.Sqrt(expected) + 1; math.Abs(float64(seen)-expected) > slack {
				t.Errorf("fill %.3f: %d taken for seen, %.1f expected", s.Stats().Fill, seen, expected)
			}
		}
	})
}

// BenchmarkStream takes 2^20 elements round and round, in calls of 4096. About half are
// copies of one of the last 3000.
func BenchmarkStream(b *testing.B) {
	const n, batch = 1 << 20, 4096
	digests := check.Repeating(31, n)
	seen := make([]uint64, batch/64)
	for _, c := range []Config{
		{Method: "lru"}, {Method: "lru", Shape: "32x16"}, {Method: "qht"}, {Method: "qqhtd"}, {Method: "qhtd"}, {Method: "qqht"},
		{Method: "sbf", FPR: 0.1}, {Method: "sbf", FPR: 0.1, Max: 3}, {Method: "rsbf"}, {Method: "bsbf"}, {Method: "rlbsbf"},
	} {
		for _, c.Memory = range []int{1 << 20, 128 << 20} {
			b.Run(fmt.Sprintf("%s%s/Max=%d/MiB=%d", c.Method, c.Shape, c.Max, c.Memory>>20), func(b *testing.B) {
				s := mustStream(b, c)
				at := 0
				for b.Loop() {
					s.TestAndSet(seen, digests[at:at+batch])
					at = (at + batch) % n
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/batch, "ns/element")
			})
		}
	}
}
