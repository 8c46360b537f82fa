package paper

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
)

// builders returns a function for each kind of filter that makes a new one of a
// few thousand bits.
func builders() map[string]func() (Filter, error) {
	biased := BiasedConfig{Bits: 3000, K: 3, Seed: 5}
	qht := QHTConfig{Bits: 3000, CellBits: 3, Cells: 2, Seed: 5}
	return map[string]func() (Filter, error){
		"Bloom":          func() (Filter, error) { return NewBloom(20_000, 3) },
		"Stable":         func() (Filter, error) { return NewStable(StableConfig{Cells: 3000, CellBits: 1, K: 3, P: 10, Seed: 5}) },
		"Stable 3 bits":  func() (Filter, error) { return NewStable(StableConfig{Cells: 1000, CellBits: 3, K: 2, P: 20, Seed: 5}) },
		"RSBF":           func() (Filter, error) { return NewRSBF(biased, 0) },
		"RSBF threshold": func() (Filter, error) { return NewRSBF(biased, 0.2) },
		"BSBF":           func() (Filter, error) { return NewBSBF(biased) },
		"BSBFSD":         func() (Filter, error) { return NewBSBFSD(biased) },
		"RLBSBF":         func() (Filter, error) { return NewRLBSBF(biased) },
		"QHT":            func() (Filter, error) { return NewQHT(qht) },
		"QHTD":           func() (Filter, error) { return NewQHTD(qht) },
		"QQHTD":          func() (Filter, error) { return NewQQHTD(qht) },
		"SQF":            func() (Filter, error) { return NewSQF(SQFConfig{3000, 2, 3, 2, 5}) },
		"Cuckoo":         func() (Filter, error) { return NewCuckoo(CuckooConfig{3000, 4, 2, 20, 5}) },
		"A2":             func() (Filter, error) { return NewA2(3000, 3, 200) },
		"b_DBF":          func() (Filter, error) { return NewBDBF(BDBFConfig{3000, 3, 2, 500}) },
		"LRU":            func() (Filter, error) { return NewLRU(3000, 20) },
	}
}

// TestTestAndSetAll compares with the plain loop, in batches of many sizes around
// prefetchBatch, with and without prefetching. It also compares the state of the filters: both must report some more
// elements alike.
func TestTestAndSetAll(t *testing.T) {
	ids := biasedStream(20_000, 8_000, 9)
	digests := make([]digest.Digest, len(ids))
	for i, id := range ids {
		digests[i] = digestOf(uint64(id))
	}
	for name, build := range builders() {
		t.Run(name, func(t *testing.T) {
			plain, batched := mustBuild(t, build), mustBuild(t, build)
			want := make([]bool, len(digests))
			for i, d := range digests {
				want[i] = plain.TestAndSet(d)
			}
			got := make([]bool, len(digests))
			for from, size := 0, 0; from < len(digests); size++ {
				to := min(from+size%(3*prefetchBatch), len(digests))
				p, _ := batched.(prefetcher)
				if size%2 == 0 {
					p = nil
				}
				testAndSetAll(batched, p, digests[from:to], got[from:to])
				from = to
			}
			requireBothReports(t, want)
			for i := range want {
				if got[i] != want[i] {
					t.Fatalf("element %d: %v in a batch, %v by itself", i, got[i], want[i])
				}
			}
			for _, d := range digests[:2000] {
				if plain.TestAndSet(d) != batched.TestAndSet(d) {
					t.Fatal("the filters differ after the stream")
				}
			}
		})
	}
}

func mustBuild(t *testing.T, build func() (Filter, error)) Filter {
	t.Helper()
	f, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// requireBothReports makes sure that a comparison of reports means something.
func requireBothReports(t *testing.T, seen []bool) {
	t.Helper()
	count := 0
	for _, s := range seen {
		if s {
			count++
		}
	}
	if count < 100 || count > len(seen)-100 {
		t.Fatalf("%d of %d elements seen", count, len(seen))
	}
}

// TestPrefetch makes sure that prefetch reads every word that an element changes, random
// ones included: adding one to such a word shows in the sum. Of two equal filters, one
// goes ahead to show which words those are.
func TestPrefetch(t *testing.T) {
	for _, name := range []string{"SBF", "RSBF", "BSBF", "BSBFSD", "RLBSBF"} {
		first, second := mustBuildNarrow(t, name), mustBuildNarrow(t, name)
		fillRandomly(first)
		fillRandomly(second)
		changed := 0
		for id := range uint64(2000) {
			d := digestOf(id)
			first.TestAndSet(d)
			sum := second.(prefetcher).prefetch([]digest.Digest{d})
			for i, word := range wordsOf(first) {
				if words := wordsOf(second); words[i] != word {
					changed++
					words[i]++
					if second.(prefetcher).prefetch([]digest.Digest{d}) == sum {
						t.Fatalf("%s: element %d changes word %d, which was not touched", name, id, i)
					}
					words[i]--
				}
			}
			second.TestAndSet(d)
		}
		if changed < 1000 {
			t.Errorf("%s: only %d words changed", name, changed)
		}
	}
}

// mustBuildNarrow returns a filter of 2048 bits. The SBF decrements a single cell, since
// a run of them may continue in the next word, which is not prefetched.
func mustBuildNarrow(t *testing.T, name string) Filter {
	t.Helper()
	return mustBuild(t, func() (Filter, error) {
		if name == "SBF" {
			return NewStable(StableConfig{Cells: 2048, CellBits: 1, K: 2, P: 1, Seed: 7})
		}
		return buildNamed(name, 2048)
	})
}

func TestForeseen(t *testing.T) {
	f := newLookahead(7)
	plain := newRandom(7)
	for range 100 {
		ahead := f.peek()
		first, second := ahead.Uint64(), ahead.Uint64()
		for _, want := range []uint64{first, second} {
			if got := f.Uint64(); got != want || plain.Uint64() != want {
				t.Fatalf("drew %d, foresaw %d", got, want)
			}
		}
	}
}

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
	if f, ok := f.(*Biased); ok {
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
	case *Biased:
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
