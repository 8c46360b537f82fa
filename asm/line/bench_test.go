// SPDX-License-Identifier: Apache-2.0

package line

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/internal/cpu"
	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
	"github.com/flowdedup/flowdedup/asm/permute"
	"github.com/flowdedup/flowdedup/layout"
)

// benchBatch is the number of elements in a call of a kernel.
const benchBatch = 1024

// benchKiB are the sizes of filters: in the second-level cache, as large as it, in the
// third level, in memory. The name of a size comes first in the benchmark's name, so that
// the largest can be left out.
var benchKiB = []int{128, 1 << 10, 16 << 10, 128 << 10, 512 << 10}

// benchSizes runs a benchmark with lines of each size.
func benchSizes(b *testing.B, run func(b *testing.B, lines []layout.Line)) {
	for _, kib := range benchKiB {
		b.Run(fmt.Sprintf("memory=%dKiB", kib), func(b *testing.B) { run(b, kerneltest.Lines(b, kib)) })
	}
}

// untimed stops the clock that ends a benchmark, for work that takes longer than the
// measured part.
func untimed(b *testing.B, work func()) {
	b.StopTimer()
	work()
	b.StartTimer()
}

// benchDigests are a stream in which half repeat one of the last few thousand, so that
// the branch predictor cannot guess well.
var benchDigests = sync.OnceValue(func() []digest.Digest {
	rng := rand.New(rand.NewPCG(1, 2))
	digests := make([]digest.Digest, 1<<22)
	for i := range digests {
		digests[i] = digest.Digest{rng.Uint64(), rng.Uint64()}
		if back := 1 + rng.IntN(8191); back < i && rng.IntN(2) == 0 {
			digests[i] = digests[i-back]
		}
	}
	return digests
})

// digestBatch is one batch after another of an endless stream: benchDigests, and
// then the same with other digests in their place. A batch is in the first cache,
// as if it had just been computed.
type digestBatch struct {
	digests []digest.Digest
	all     []digest.Digest
	at      int
	salt    uint64
}

func newDigestBatch() *digestBatch {
	return &digestBatch{digests: make([]digest.Digest, benchBatch), all: benchDigests()}
}

// next replaces the batch by the one after it.
func (s *digestBatch) next() {
	for i, d := range s.all[s.at : s.at+benchBatch] {
		s.digests[i] = digest.Digest{d[0] ^ s.salt, d[1] ^ s.salt}
	}
	if s.at = (s.at + benchBatch) % len(s.all); s.at == 0 {
		s.salt += 0x9e3779b97f4a7c15
	}
}

// measureDigests measures call with one batch after another.
func measureDigests(b *testing.B, call func(digests []digest.Digest)) {
	s := newDigestBatch()
	kerneltest.Measure(b, benchBatch, s.next, func() { call(s.digests) })
}

// fillLines sets the first n words of each line to random ones, and the others to
// zero.
func fillLines(lines []layout.Line, n int) {
	rng := rand.New(rand.NewPCG(3, 4))
	clear(lines)
	for i := range lines {
		for w := range n {
			lines[i][w] = rng.Uint64()
		}
	}
}

var evictionNames = [evictions]string{EvictRandom: "random", EvictLRU: "lru", EvictQueue: "queue", EvictRandomCopies: "randomcopies", EvictQueueOnce: "queueonce"}

// BenchmarkRows finds all rows full, as they are for most of a stream's time.
func BenchmarkRows(b *testing.B) {
	benchSizes(b, func(b *testing.B, lines []layout.Line) {
		seen := make([]uint64, benchBatch/64)
		fillLines(lines, 8)
		for shape := range layout.RowShapes {
			for eviction := range evictions {
				p := RowParams{shape, eviction}
				for _, level := range cpu.Levels() {
					b.Run(fmt.Sprintf("shape=%dx%d/eviction=%s/level=%s", p.Shape.Cells(), p.Shape.CellBits(),
						evictionNames[eviction], level), func(b *testing.B) {
						position := uint64(0)
						kerneltest.AtLevel(level, func() {
							measureDigests(b, func(digests []digest.Digest) {
								TestAndSetRows(lines, seen, digests, position, p)
								position += benchBatch
							})
						})
					})
				}
			}
		}
	})
}

// BenchmarkExactRows takes rows from half of their cells taken to two thirds, and
// from there on to a bitmap of all words. With hash=true the words are permuted
// within the measured time.
func BenchmarkExactRows(b *testing.B) {
	benchSizes(b, func(b *testing.B, lines []layout.Line) {
		for _, hash := range []string{"false", "true"} {
			b.Run("hash="+hash, func(b *testing.B) {
				kerneltest.BenchLevels(b, func(b *testing.B) { measureExact(b, lines, hash == "true") })
			})
		}
	})
}

func measureExact(b *testing.B, lines []layout.Line, hash bool) {
	s, permutation := newDigestBatch(), permute.NewBijection([16]byte{7: 1})
	words, overflow := make([]uint32, benchBatch), make([]uint32, benchBatch)
	seen := make([]uint64, benchBatch/64)
	testAndSet, cells := exactKernel(len(lines))
	room := 0
	kerneltest.Measure(b, benchBatch, func() {
		if room -= benchBatch / 2; room < 0 {
			untimed(b, func() { fillLines(lines, 4) })
			room = len(lines) * cells / 6
		}
		s.next()
		for i, d := range s.digests {
			words[i] = uint32(d[1] >> 32)
		}
	}, func() {
		if hash {
			permutation.Permute(words, words)
		}
		testAndSet(lines, seen, words, overflow)
	})
}

// exactKernel returns the kernel for the given number of lines, and the number of words
// in a line of rows.
func exactKernel(lines int) (testAndSet func(lines []layout.Line, seen []uint64, permuted, overflow []uint32) int, cells int) {
	switch {
	case lines == layout.BitmapLines:
		return func(lines []layout.Line, seen []uint64, permuted, _ []uint32) int {
			TestAndSetBitmap(lines, seen, permuted)
			return 0
		}, 512
	case lines >= layout.Exact16Lines:
		return TestAndSetExact16, 32
	default:
		return TestAndSetExact32, 16
	}
}

// BenchmarkBits takes filters from a quarter of their bits set to three eighths,
// the middle of their life as parts of a growing filter.
func BenchmarkBits(b *testing.B) {
	benchSizes(b, func(b *testing.B, lines []layout.Line) {
		seen := make([]uint64, benchBatch/64)
		for _, rounds := range []int{1, 2, 3} {
			b.Run(fmt.Sprintf("rounds=%d", rounds), func(b *testing.B) {
				kerneltest.BenchLevels(b, func(b *testing.B) {
					s, room := newDigestBatch(), 0
					kerneltest.Measure(b, benchBatch, func() {
						if room -= benchBatch / 2; room < 0 {
							untimed(b, func() { setQuarter(lines) })
							room = len(lines) * 12 / rounds // new elements, of 8*rounds bits each
						}
						s.next()
						clear(seen)
					}, func() { TestAndSetBloom(lines, seen, s.digests, rounds) })
				})
			})
		}
	})
}

// setQuarter sets a quarter of all bits.
func setQuarter(lines []layout.Line) {
	fillLines(lines, 8)
	for i := range lines {
		for w, word := range lines[i] {
			lines[i][w] = word & bits.RotateLeft64(word, 23)
		}
	}
}

// usualStable are the methods as they are usually run, all for a few percent to
// a quarter of new elements taken for seen.
var usualStable = []struct {
	name   string
	params StableParams
}{
	{"SBF/K=2/P=5", StableParams{StableSBF, 2, 5, 0}},
	{"SBF/K=3/P=11", StableParams{StableSBF, 3, 11, 0}},
	{"RSBF/K=2", StableParams{StableRSBF, 2, 0, 0}},
	{"BSBF/K=2", StableParams{StableBSBF, 2, 0, 0}},
	{"BSBFSD/K=2", StableParams{StableBSBFSD, 2, 0, 0}},
	{"RLBSBF/K=2", StableParams{StableRLBSBF, 2, 0, 0}},
	{"RLBSBF/K=3", StableParams{StableRLBSBF, 3, 0, 0}},
}

// BenchmarkBitLines starts from empty lines, which are in their steady state after a
// part of the first digests.
func BenchmarkBitLines(b *testing.B) {
	benchSizes(b, func(b *testing.B, lines []layout.Line) {
		var seen [benchBatch / 64]uint64
		for _, m := range usualStable {
			clear(lines)
			b.Run(m.name, func(b *testing.B) {
				kerneltest.BenchLevels(b, func(b *testing.B) {
					var counts StableCounts
					position := uint64(1)
					measureDigests(b, func(digests []digest.Digest) {
						TestAndSetStable(lines, seen[:], digests, position, m.params, &counts)
						position += benchBatch
					})
				})
			})
		}
	})
}

func BenchmarkCells(b *testing.B) {
	benchSizes(b, func(b *testing.B, lines []layout.Line) {
		seen := make([]uint64, benchBatch/64)
		for _, p := range []CellParams{cellShapes[0], {Bits: 2, Max: 3, K: 3, MissP: 20}, cellShapes[4]} {
			b.Run(fmt.Sprintf("bits=%d/k=%d", p.Bits, p.K), func(b *testing.B) {
				kerneltest.BenchLevels(b, func(b *testing.B) {
					rule, position, c := cellRule(b, p), uint64(0), CellCounts{}
					clear(lines)
					measureDigests(b, func(digests []digest.Digest) {
						TestAndSetCells(lines, seen, digests, position, rule, &c)
						position += benchBatch
					})
				})
			})
		}
	})
}
