package asm

import (
	"fmt"
	"testing"
)

var evictionNames = [evictions]string{EvictRandom: "random", EvictLRU: "lru", EvictQueue: "queue"}

// BenchmarkRows finds all rows full, as they are for most of a stream's time.
func BenchmarkRows(b *testing.B) {
	benchSizes(b, func(b *testing.B, lines [][8]uint64) {
		seen := make([]uint64, benchBatch/64)
		fillLines(lines, 8)
		for shape := range rowShapes {
			for eviction := range evictions {
				p := RowParams{shape, eviction}
				for _, level := range levels() {
					b.Run(fmt.Sprintf("shape=%dx%d/eviction=%s/level=%s", p.Shape.Cells(), p.Shape.CellBits(),
						evictionNames[eviction], named(levelNames, level)), func(b *testing.B) {
						position := uint64(0)
						atLevel(level, func() {
							measureDigests(b, func(digests []Digest) {
								TestAndSetRows(lines, seen, digests, position, nil, p)
								position += benchBatch
							})
						})
					})
				}
			}
		}
	})
}
