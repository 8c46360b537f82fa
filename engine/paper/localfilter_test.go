package paper

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

// TestLocalFiltersAreATree: with a main filter of the same kind, local filters are a tree
// of two levels, with the same verdicts and counts.
func TestLocalFiltersAreATree(t *testing.T) {
	const m, k, producers = 20_000, 4, 9
	ids := biasedStream(12_000, 5_000, 41)
	for _, dense := range []bool{false, true} {
		main, err := NewBloom(m, k)
		if err != nil {
			t.Fatal(err)
		}
		local, err := NewLocalFilters(LocalFiltersConfig{Producers: producers, Bits: m, K: k, Dense: dense}, main)
		if err != nil {
			t.Fatal(err)
		}
		tree := newTestTree(t, TreeConfig{Bits: m, K: k, FanOut: []int{producers}, Dense: dense})
		random := rand.New(rand.NewPCG(42, 0))
		for i, id := range ids {
			d, from := digestOf(uint64(id)), random.IntN(producers)
			if got, want := local.TestAndSetFrom(from, d), tree.TestAndSetFrom(from, d); got != want {
				t.Fatalf("dense %v: element %d seen %v, in the tree %v", dense, i, got, want)
			}
		}
		levels := tree.Levels()
		want := LocalCounts{
			Tests: levels[1].Tests, Sets: levels[1].Sets, LocalHits: levels[1].Hits,
			Main: levels[0].Tests, MainHits: levels[0].Hits,
		}
		if local.Counts() != want || local.Bits() != tree.Bits() {
			t.Errorf("dense %v: counts %+v of %d bits, want %+v of %d", dense, local.Counts(), local.Bits(), want, tree.Bits())
		}
	}
}

// TestLocalFiltersDeliverOnce puts small local filters before sliced ones: no element
// is reported as distinct twice.
func TestLocalFiltersDeliverOnce(t *testing.T) {
	const distinct = 3_000
	ids := biasedStream(8_000, distinct, 43)
	for name, slice := range slicings {
		for _, dense := range []bool{false, true} {
			main, err := slice(SlicedConfig{Bits: 30_000, K: 6})
			mustSlice(t, main, err)
			local, err := NewLocalFilters(LocalFiltersConfig{Producers: 5, Bits: 3_000, K: 3, Dense: dense}, main)
			if err != nil {
				t.Fatal(err)
			}
			random := rand.New(rand.NewPCG(44, 0))
			delivered := make([]bool, distinct)
			for i, id := range ids {
				if local.TestAndSetFrom(random.IntN(5), digestOf(uint64(id))) {
					continue
				}
				if delivered[id] {
					t.Fatalf("%s, dense %v: element %d is distinct again", name, dense, i)
				}
				delivered[id] = true
			}
		}
	}
}

func TestLocalFiltersErrors(t *testing.T) {
	main, err := NewBloom(10, 1)
	if err != nil {
		t.Fatal(err)
	}
	failure := func(_ *LocalFilters, err error) error { return err }
	for name, err := range map[string]error{
		"no main filter":     failure(NewLocalFilters(LocalFiltersConfig{Producers: 1, Bits: 8, K: 1}, nil)),
		"no producers":       failure(NewLocalFilters(LocalFiltersConfig{Bits: 8, K: 1}, main)),
		"too many producers": failure(NewLocalFilters(LocalFiltersConfig{Producers: math.MaxInt, Bits: 8, K: 1}, main)),
		"no bits":            failure(NewLocalFilters(LocalFiltersConfig{Producers: 1, K: 1}, main)),
		"too many bits":      failure(NewLocalFilters(LocalFiltersConfig{Producers: 2, Bits: maxBits/2 + 1, K: 1}, main)),
		"K":                  failure(NewLocalFilters(LocalFiltersConfig{Producers: 1, Bits: 8}, main)),
	} {
		if !errors.Is(err, ErrParameter) {
			t.Errorf("%s: error %v, want %v", name, err, ErrParameter)
		}
	}
}
