package paper

import (
	"fmt"
	"github.com/flowdedup/flowdedup/asm/digest"
	"math/bits"
	"math/rand/v2"
	"testing"
)

// BenchmarkTestAndSet measures the filters of the biased sampling paper's tables at
// its smallest and largest memory, one by one and in batches. Half of all bits
// are set, at random, and all elements are new, so that no probe is cached.
func BenchmarkTestAndSet(b *testing.B) {
	for _, megabytes := range []int{64, 512} {
		for _, name := range []string{"SBF", "RSBF", "BSBF", "BSBFSD", "RLBSBF"} {
			f, err := buildNamed(name, megabytes*megabyte)
			if err != nil {
				b.Fatal(err)
			}
			fillRandomly(f)
			b.Run(fmt.Sprintf("method=%s/MB=%d/by=all", name, megabytes), func(b *testing.B) {
				benchmarkAll(b, 0, func(digests []digest.Digest, seen []bool) { TestAndSetAll(f, digests, seen) })
			})
			b.Run(fmt.Sprintf("method=%s/MB=%d/by=one", name, megabytes), func(b *testing.B) {
				benchmarkAll(b, 1<<40, func(digests []digest.Digest, seen []bool) {
					for i, d := range digests {
						seen[i] = f.TestAndSet(d)
					}
				})
			})
		}
	}
}

// fillRandomly sets every bit of a filter with probability 1/2.
func fillRandomly(f Filter) {
	random := rand.New(rand.NewPCG(1, 2))
	words := wordsOf(f)
	for i := range words {
		words[i] = random.Uint64()
	}
	if f, ok := f.(*RLBSBF); ok {
		for i := range f.load {
			size := int(f.filters.size) / 64 // in words; no filter here ends within one
			for _, word := range words[i*size : (i+1)*size] {
				f.load[i] += uint64(bits.OnesCount64(word))
			}
		}
	}
}

// wordsOf returns the memory of one of the tables' filters.
func wordsOf(f Filter) []uint64 {
	switch f := f.(type) {
	case *Stable:
		return f.cells.words
	case *RSBF:
		return f.filters.bits.words
	case *BSBF:
		return f.filters.bits.words
	case *BSBFSD:
		return f.filters.bits.words
	case *RLBSBF:
		return f.filters.bits.words
	}
	return nil
}

// benchmarkAll tests elements first, first+1, ..., in batches of 8192.
func benchmarkAll(b *testing.B, first uint64, all func([]digest.Digest, []bool)) {
	digests, seen := make([]digest.Digest, 1<<13), make([]bool, 1<<13)
	id := first
	for b.Loop() {
		for i := range digests {
			digests[i] = digestOf(id)
			id++
		}
		all(digests, seen)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(id-first), "ns/element")
}
