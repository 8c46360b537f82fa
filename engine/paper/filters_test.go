// SPDX-License-Identifier: Apache-2.0

package paper

import (
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
)

// kinds are filters of each kind, of a few thousand bits, and the bits that they account
// for: whole rows, slices and hash spaces, and powers of two of rows where the method has
// those.
func kinds() map[string]kind {
	biased := BiasedConfig{Bits: 3002, K: 3, Seed: 5}
	qht := QHTConfig{Bits: 3005, CellBits: 3, Cells: 2, Seed: 5}
	deep := StableConfig{Cells: 1000, CellBits: 3, K: 2, P: 20, Seed: 5, Independent: true}
	sliced := SlicedConfig{Bits: 20_019, K: 4, Slices: 5}
	return map[string]kind{
		"Bloom":          {20_000, func() (Filter, error) { return NewBloom(20_000, 3) }},
		"landmarks":      {3000, of(NewLandmarkBloom, LandmarkConfig{3002, 3, 700, true})},
		"substrings":     {17 << 12, func() (Filter, error) { return NewSubstrings(28, 12) }},
		"jumping":        {3000 * (4*3 + 5), of(NewJumpingBloom, JumpingConfig{3000, 3, 3, 4, 200})},
		"sliding":        {9000 + 700*64, of(NewSlidingBloom, SlidingConfig{3000, 3, 3, 700, 64})},
		"Stable":         {3000, of(NewStable, StableConfig{Cells: 3000, CellBits: 1, K: 3, P: 10, Seed: 5})},
		"Stable 3 bits":  {3000, of(NewStable, deep)},
		"RSBF":           {3000, func() (Filter, error) { return NewRSBF(biased, 0) }},
		"RSBF threshold": {3000, func() (Filter, error) { return NewRSBF(biased, 0.2) }},
		"BSBF":           {3000, of(NewBSBF, biased)},
		"BSBFSD":         {3000, of(NewBSBFSD, biased)},
		"RLBSBF":         {3000, of(NewRLBSBF, biased)},
		"QHT":            {3000, of(NewQHT, qht)},
		"QHTD":           {3000, of(NewQHTD, qht)},
		"QQHTD":          {3000, of(NewQQHTD, qht)},
		"semi-sorted":    {3003, of(NewSemiSortedQHT, QHTConfig{3005, 3, 3, 0, 5})},
		"SQF":            {256 * 8, of(NewSQF, SQFConfig{3000, 2, 3, 2, 5})},
		"Cuckoo":         {256 * 8, of(NewCuckoo, CuckooConfig{3000, 4, 2, 20, 5})},
		"A2":             {3000, func() (Filter, error) { return NewA2(3001, 3, 200) }},
		"b_DBF":          {3000, of(NewBDBF, BDBFConfig{3001, 3, 2, 500})},
		"LRU":            {3000, func() (Filter, error) { return NewLRU(3019, 20) }},
		"Clock":          {3000, func() (Filter, error) { return NewClock(3019, 20) }},
		"FPbuffering":    {3000, func() (Filter, error) { return NewFPBuffering(3019, 20, 0.1, 5) }},
		"sliced":         {20_015, of(NewHorizontal, sliced)},
		"diced":          {20_000, func() (Filter, error) { return NewHVDiced(sliced, 5) }},
	}
}

type kind struct {
	bits  int
	build func() (Filter, error)
}

// of returns a constructor of filters of a configuration.
func of[C any, F Filter](create func(C) (F, error), c C) func() (Filter, error) {
	return func() (Filter, error) { return create(c) }
}

// TestTestAndSetAll compares with the plain loop over another filter of the same seed, in
// batches of many sizes around prefetchBatch, with words that are read ahead and without.
func TestTestAndSetAll(t *testing.T) {
	digests := make([]digest.Digest, 0, 10_000)
	for _, id := range shuffled(cap(digests), 4_000, 9) {
		digests = append(digests, digestOf(id))
	}
	got, ahead := make([]bool, len(digests)), make([]bool, len(digests))
	for name, kind := range kinds() {
		plain, batched := must[Filter](t)(kind.build()), must[Filter](t)(kind.build())
		reads := must[Filter](t)(kind.build())
		for from, size := 0, 0; from < len(digests); size++ {
			to := min(from+size%(3*prefetchBatch), len(digests))
			TestAndSetAll(batched, digests[from:to], got[from:to])
			testAndSetAll(reads, digests[from:to], ahead[from:to], 0)
			from = to
		}
		positive := 0
		for i, d := range digests {
			if seen := plain.TestAndSet(d); seen != got[i] || seen != ahead[i] {
				t.Fatalf("%s: element %d: %v and %v in a batch, %v by itself", name, i, got[i], ahead[i], seen)
			} else if seen {
				positive++
			}
		}
		if positive < 100 || positive > len(digests)-100 || plain.Bits() != kind.bits {
			t.Errorf("%s: %d of %d elements seen by %d bits", name, positive, len(digests), plain.Bits())
		}
	}
}

// bounds are the least and the greatest value of a field.
type bounds map[string][2]int

// requireBounds makes filters of a configuration that is possible except for one field.
// Where that is just outside of its bounds, or as far as can be, the constructor must
// refuse. At the bounds filters must work, unless they are too large to try.
func requireBounds[C, F any](t *testing.T, create func(C) (F, error), good C, all bounds) {
	t.Helper()
	for field, bound := range all {
		least, most := bound[0], bound[1]
		for _, value := range []int{least - 1, least, most, most + 1, math.MinInt, math.MaxInt} {
			if value == most && most > 1<<16 {
				continue
			}
			c := good
			reflect.ValueOf(&c).Elem().FieldByName(field).SetInt(int64(value))
			f, err := create(c)
			inside := value >= least && value <= most
			if inside != (err == nil) || !inside && !errors.Is(err, ErrParameter) {
				t.Errorf("%T with %s %d, from %d to %d: error %v", good, field, value, least, most, err)
			}
			if f, ok := any(f).(Filter); ok && err == nil {
				countErrors(f, fresh(0, 100), 0)
			}
		}
	}
}

// numbers are the arguments of constructors without a configuration.
type numbers struct{ A, B, C int }

// TestConstructorErrors leaves each bound of each parameter.
func TestConstructorErrors(t *testing.T) {
	hashes, width, window := [2]int{1, maxHashes}, [2]int{1, maxCellBits}, [2]int{1, math.MaxInt}
	requireBounds(t, NewLandmarkBloom, LandmarkConfig{Bits: 100, D: 3, Window: 50},
		bounds{"Bits": {1, maxBits}, "D": hashes, "Window": window})
	requireBounds(t, NewLandmarkBloom, LandmarkConfig{Bits: 100, D: 3, Window: 50, Partitioned: true},
		bounds{"Bits": {3, maxBits}, "D": {1, 100}})
	requireBounds(t, NewStable, StableConfig{Cells: 100, CellBits: 2, K: 3, P: 5, Reach: 50},
		bounds{"Cells": {50, maxBits / 2}, "CellBits": width, "K": {1, 99}, "P": {1, 50}, "Reach": {5, 100}})
	requireBounds(t, NewStable, StableConfig{Cells: 100, CellBits: 2, K: 3, P: 5},
		bounds{"Cells": {5, maxBits / 2}, "P": {1, 100}})
	requireBounds(t, NewStable, StableConfig{Cells: 2000, CellBits: 2, K: 3, P: 2},
		bounds{"Cells": {4, maxBits / 2}, "K": hashes})
	requireBounds(t, NewBSBF, BiasedConfig{Bits: 5000, K: 2},
		bounds{"Bits": {2, maxBits}, "K": hashes, "Reach": {0, 2500}})
	requireBounds(t, NewJumpingBloom,
		JumpingConfig{Counters: 100, CounterBits: 4, D: 3, SubWindows: 4, SubWindow: 50},
		bounds{"Counters": {1, maxBits / 22}, "CounterBits": {1, maxCellBits - 2}, "D": hashes,
			"SubWindows": {1, 1 << 12}, "SubWindow": window})
	requireBounds(t, NewSlidingBloom,
		SlidingConfig{Counters: 100, CounterBits: 4, D: 3, Window: 50, ElementBits: 64},
		bounds{"Counters": {1, maxBits / 8}, "CounterBits": {2, maxCellBits}, "D": hashes,
			"Window": {1, maxBits / 256}, "ElementBits": {1, 512}})
	table := QHTConfig{Bits: 100, CellBits: 4, Cells: 3}
	requireBounds(t, NewQHT, table,
		bounds{"Bits": {12, maxBits}, "CellBits": {2, maxCellBits}, "Cells": {1, 15}})
	requireBounds(t, NewSemiSortedQHT, table,
		bounds{"Bits": {10, maxBits}, "CellBits": {2, maxCellBits}, "Cells": {1, 15}})
	requireBounds(t, NewSQF, SQFConfig{Bits: 100, Cells: 1, Remainder: 3, Fingerprint: 1},
		bounds{"Bits": {3, maxBits}, "Cells": {1, 6}, "Remainder": {2, maxCellBits}, "Fingerprint": {1, 2}})
	requireBounds(t, NewCuckoo, CuckooConfig{Bits: 100, CellBits: 3, Cells: 2, Kicks: 1},
		bounds{"Bits": {12, maxBits}, "CellBits": {2, maxCellBits}, "Cells": {1, 7}, "Kicks": {1, maxKicks}})
	requireBounds(t, NewBDBF, BDBFConfig{Bits: 100, CellBits: 3, K: 1, Window: 1},
		bounds{"Bits": {3, maxBits}, "CellBits": {2, maxCellBits}, "K": hashes, "Window": window})
	bloom := func(c numbers) (*Bloom, error) { return NewBloom(c.A, c.B) }
	requireBounds(t, bloom, numbers{A: 100, B: 3}, bounds{"A": {1, maxBits}, "B": hashes})
	substrings := func(c numbers) (*Bloom, error) { return NewSubstrings(c.A, c.B) }
	requireBounds(t, substrings, numbers{A: 8, B: 4}, bounds{"A": {4, 128}, "B": {1, 8}})
	lru := func(c numbers) (*LRU, error) { return NewLRU(c.A, c.B) }
	requireBounds(t, lru, numbers{A: 1000, B: 64}, bounds{"A": {64, maxBits}, "B": {1, 128}})
	clock := func(c numbers) (*Clock, error) { return NewClock(c.A, c.B) }
	requireBounds(t, clock, numbers{A: 1000, B: 64}, bounds{"A": {64, maxBits}, "B": {1, 128}})
	a2 := func(c numbers) (*A2, error) { return NewA2(c.A, c.B, c.C) }
	requireBounds(t, a2, numbers{100, 3, 7}, bounds{"A": {2, maxBits}, "B": hashes, "C": window})
	semiSort := func(c numbers) (*SemiSort, error) { return NewSemiSort(c.A, c.B) }
	requireBounds(t, semiSort, numbers{A: 1, B: 1}, bounds{"A": {1, 64}, "B": width})
	requireBounds(t, semiSort, numbers{A: 4, B: 16}, bounds{"A": {1, 4}})
	requireBounds(t, semiSort, numbers{A: 11, B: 8}, bounds{"A": {1, 11}})
	requireParameterErrors(t, map[string]error{
		"substrings' memory":    failure(NewSubstrings(128, 32)),
		"substring of 128 bits": failure(NewSubstrings(128, 128)),
		"RSBF threshold":        failure(NewRSBF(BiasedConfig{Bits: 100, K: 2}, 1)),
		"FPbuffering of 1":      failure(NewFPBuffering(128, 64, 1, 0)),
		"FPbuffering in 1 bit":  failure(NewFPBuffering(1, 64, 0.1, 0)),
		"QHT unknown option":    failure(NewQHT(QHTConfig{Bits: 100, CellBits: 4, Cells: 3, Empty: 3})),
		"SQF wide cells":        failure(NewSQF(SQFConfig{Bits: 100, Cells: 1, Remainder: 16, Fingerprint: 15})),
		"A2 target 0":           failure(NewA2ForRate(100, 0)),
		"A2 target 1":           failure(NewA2ForRate(100, 1)),
		"A2 target NaN":         failure(NewA2ForRate(100, math.NaN())),
		"A2 negative memory":    failure(NewA2ForRate(-100, 0.1)),
	})
}

func TestCells(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for width := 1; width <= maxCellBits; width++ {
		const count = 131
		c, want := newCells(count, width), make([]uint64, count)
		for range 5000 {
			i := random.Uint64N(count)
			if random.IntN(2) == 0 {
				want[i] = random.Uint64N(c.top + 1)
				c.put(i, want[i])
			} else {
				want[i] -= min(want[i], 1)
				c.add(i, down, 0)
			}
		}
		for i := range want {
			if got := c.get(uint64(i)); got != want[i] {
				t.Fatalf("width %d, cell %d: %d, want %d", width, i, got, want[i])
			}
		}
	}
}

// TestPositions compares with the closed form x + i y + (i^3-i)/6 mod m.
func TestPositions(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	pos := make([]uint64, 40)
	for _, m := range []uint64{1, 2, 7, 64, 1001, 1 << 20, maxBits} {
		for range 50 {
			d := digest.Digest{random.Uint64(), random.Uint64()}
			positions(pos, d, m)
			x, y := scale(d[1], m), scale(d[0], m)
			for i := range pos {
				n := uint64(i)
				if want := (x + n*y + (n*n*n-n)/6) % m; pos[i] != want {
					t.Fatalf("m = %d, position %d: %d, want %d", m, i, pos[i], want)
				}
			}
		}
	}
}

// BenchmarkTestAndSet measures filters of the biased
// sampling paper's tables at its smallest memory. All elements are new.
func BenchmarkTestAndSet(b *testing.B) {
	digests, seen := make([]digest.Digest, 1<<13), make([]bool, 1<<13)
	for name, create := range map[string]func(bits int) (Filter, error){
		"SBF": func(bits int) (Filter, error) {
			return NewStable(StableConfig{Cells: bits, CellBits: 1, K: 2, P: 4})
		},
		"RLBSBF": func(bits int) (Filter, error) { return NewRLBSBF(BiasedConfig{Bits: bits, K: 2}) },
	} {
		b.Run(name, func(b *testing.B) {
			f, id := must[Filter](b)(create(64<<23)), uint64(0)
			for b.Loop() {
				for i := range digests {
					digests[i] = digestOf(id)
					id++
				}
				TestAndSetAll(f, digests, seen)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(id), "ns/element")
		})
	}
}
