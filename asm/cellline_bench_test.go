package asm

import (
	"fmt"
	"testing"
)

// cellBenchSizes are the sizes of filters that passes over all lines are measured
// with, in KiB.
var cellBenchSizes = []int{128, 1 << 10, 16 << 10, 128 << 10}

func BenchmarkCells(b *testing.B) {
	benchSizes(b, func(b *testing.B, lines [][8]uint64) {
		seen := make([]uint64, benchBatch/64)
		for _, p := range []CellParams{cellShapes[0], {Bits: 2, Max: 3, K: 3, MissP: 20}, cellShapes[4]} {
			b.Run(fmt.Sprintf("bits=%d/k=%d", p.Bits, p.K), func(b *testing.B) {
				benchLevels(b, func(b *testing.B) {
					rule, position, c := cellRule(b, p), uint64(0), CellCounts{}
					clear(lines)
					measureDigests(b, func(digests []Digest) {
						TestAndSetCells(lines, seen, digests, position, nil, rule, &c)
						position += benchBatch
					})
				})
			})
		}
	})
}
