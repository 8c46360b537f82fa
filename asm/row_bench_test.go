package asm

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"
)

const benchBatch = 1024

// benchDigests are more than the largest benchmark has lines. Half of them
// repeat one of the last few thousand.
var benchDigests = sync.OnceValue(func() []Digest {
	rng := rand.New(rand.NewPCG(1, 2))
	digests := make([]Digest, 1<<22)
	for i := range digests {
		digests[i] = Digest{rng.Uint64(), rng.Uint64()}
		if back := 1 + rng.IntN(8191); back < i && rng.IntN(2) == 0 {
			digests[i] = digests[i-back]
		}
	}
	return digests
})

// benchRows times call with the digests of one batch after another, which are in
// the first cache as if they had just been computed. It reports the mean time of an
// element and the time that one batch of twenty stays under: on a machine with other
// work that is the one to compare.
func benchRows(b *testing.B, call func(digests []Digest)) {
	digests := benchDigests()
	batch := make([]Digest, benchBatch)
	at := 0
	var sum time.Duration
	var times []time.Duration
	for b.Loop() {
		copy(batch, digests[at:])
		at = (at + benchBatch) % len(digests)
		begin := time.Now()
		call(batch)
		took := time.Since(begin)
		sum += took
		times = append(times, took)
	}
	slices.Sort(times)
	b.ReportMetric(float64(sum.Nanoseconds())/float64(len(times))/benchBatch, "ns/element")
	b.ReportMetric(float64(times[len(times)/20].Nanoseconds())/benchBatch, "quick-ns/element")
}

var benchKiB = []int{128, 1 << 10, 16 << 10, 128 << 10}

func BenchmarkRows(b *testing.B) {
	seen := make([]uint64, benchBatch/64)
	for _, kib := range benchKiB {
		lines := benchLines(b, kib<<10/64)
		for shape := range rowShapes {
			for eviction := range evictions {
				p := RowParams{shape, eviction}
				for _, level := range rowLevels() {
					b.Run(fmt.Sprintf("memory=%dKiB/shape=%dx%d/eviction=%d/level=%d", kib, p.Shape.Cells(), p.Shape.CellBits(), eviction, level), func(b *testing.B) {
						clear(lines)
						position := uint64(0)
						atRowLevel(level, func() {
							benchRows(b, func(digests []Digest) {
								TestAndSetRows(lines, seen, digests, position, nil, p)
								position += benchBatch
							})
						})
					})
				}
			}
		}
	}
}
