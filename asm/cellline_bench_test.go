package asm

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// cellBenchSizes are the sizes of filters that lines are measured with, in KiB.
var cellBenchSizes = []int{128, 1 << 10, 16 << 10, 128 << 10}

// benchElements is how many elements benchCellLines takes before it starts again.
const benchElements = 1 << 18

// benchCellLines measures pass, which takes 512 digests, of which half came before, with
// their positions. It reports the mean time of an element and that of the fastest
// pass over 32 batches: on a machine that has other work to do the latter compares.
func benchCellLines(b *testing.B, pass func(digests []Digest, positions []uint64)) {
	const n, batch, batches = benchElements, 512, 32
	rng := rand.New(rand.NewPCG(41, 42))
	digests, positions := make([]Digest, n), make([]uint64, n)
	for i := range digests {
		digests[i], positions[i] = Digest{rng.Uint64(), rng.Uint64()}, uint64(i)
		if i > 0 && rng.IntN(2) == 0 {
			digests[i] = digests[rng.IntN(i)]
		}
	}
	at, least := 0, time.Hour
	for b.Loop() {
		begin := time.Now()
		for range batches {
			pass(digests[at:at+batch], positions[at:at+batch])
			at = (at + batch) % n
		}
		least = min(least, time.Since(begin))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(batch*batches), "ns/element")
	b.ReportMetric(float64(least.Nanoseconds())/(batch*batches), "least-ns/element")
	b.ReportMetric(0, "ns/op")
}

func BenchmarkCells(b *testing.B) {
	before := level
	defer func() { level = before }()
	for _, kib := range cellBenchSizes {
		lines, seen := make([][8]uint64, kib<<10/64), make([]uint64, 8)
		for _, p := range []CellParams{cellShapes[0], {Bits: 2, Max: 3, K: 3, MissP: 20}, cellShapes[4]} {
			rule := cellRule(b, p)
			for _, level = range levels() {
				clear(lines)
				b.Run(fmt.Sprintf("memory=%dKiB/max=%d/k=%d/level=%s", kib, p.Max, p.K, named(levelNames, level)), func(b *testing.B) {
					var c CellCounts
					benchCellLines(b, func(digests []Digest, positions []uint64) {
						TestAndSetCells(lines, seen, digests, positions, rule, &c)
					})
				})
			}
		}
	}
}
