// SPDX-License-Identifier: Apache-2.0

package wordset

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// random returns n words below 2^width, ascending.
func random(seed uint64, width uint, n int) []uint64 {
	rng, words := rand.New(rand.NewPCG(seed, 1)), make([]uint64, n)
	for i := range words {
		words[i] = rng.Uint64() >> (64 - width)
	}
	slices.Sort(words)
	return slices.Compact(words)
}

// TestBlock packs words of every kind, and unpacks them.
func TestBlock(t *testing.T) {
	for name, words := range map[string][]uint64{
		"zero": {0}, "largest": {math.MaxUint64}, "extremes": {0, math.MaxUint64}, "pair": {0, 1},
		"run": slices.Collect(func(yield func(uint64) bool) {
			for i := range uint64(maxBlock) {
				if !yield(7 + i) {
					return
				}
			}
		}),
		"far":     {1, 2, 3, 1 << 63, 1<<63 + 1, math.MaxUint64},
		"32 bits": random(1, 32, maxBlock), "64 bits": random(2, 64, maxBlock), "few": random(3, 64, 3),
		"dense": random(4, 13, 20_000), "last far": append(random(5, 20, maxBlock-1), math.MaxUint64),
	} {
		b := AppendBlock(nil, words)
		got, err := Block(nil, b)
		if err != nil || !slices.Equal(got, words) {
			t.Errorf("%s: %d words of %d, %v", name, len(got), len(words), err)
		}
		if len(b) > MaxBytes {
			t.Errorf("%s: %d bytes, at most %d", name, len(b), MaxBytes)
		}
		for cut := range min(len(b), 100) {
			if _, err := Block(nil, b[:cut]); !errors.Is(err, ErrInvalid) {
				t.Errorf("%s, %d of %d bytes: %v", name, cut, len(b), err)
			}
		}
	}
}

// TestSize compares the size with the number in the package's documentation.
func TestSize(t *testing.T) {
	for _, width := range []uint{32, 64} {
		words := random(9, width, 100_000)
		bytes := 0
		for _, b := range Pack(Blocks(slices.Values(words), uint64(len(words)))).blocks {
			bytes += len(b)
		}
		size := 8 * float64(bytes) / float64(len(words))
		want := float64(width) - math.Log2(float64(len(words))) + 1.5
		if math.Abs(size-want) > 0.15 {
			t.Errorf("%d bits: %.2f bits a word, want %.2f", width, size, want)
		}
	}
}

// TestPacked unpacks sets of several blocks.
func TestPacked(t *testing.T) {
	for _, n := range []int{0, 1, maxBlock, maxBlock + 1, 30_000} {
		words := random(uint64(n), 64, n)
		p := Pack(Blocks(slices.Values(words), uint64(len(words))))
		if got := slices.Collect(p.Words); !slices.Equal(got, words) {
			t.Errorf("%d words: %d came back", n, len(got))
		}
		for word := range p.Words { // and stop
			if word != words[0] {
				t.Errorf("first word %d, want %d", word, words[0])
			}
			break
		}
	}
}

// FuzzBlock decodes any bytes. A valid block is the same when it is packed again with its
// own parameter, and its words ascend.
func FuzzBlock(f *testing.F) {
	f.Add(AppendBlock(nil, []uint64{0, math.MaxUint64}))
	f.Add(AppendBlock(nil, random(1, 64, 20)))
	f.Add(AppendBlock(nil, random(2, 9, 200)))
	f.Fuzz(func(t *testing.T, b []byte) {
		words, err := Block(nil, b)
		if err != nil {
			if !errors.Is(err, ErrInvalid) {
				t.Errorf("error %v", err)
			}
			return
		}
		if len(words) == 0 || len(words) > maxBlock || !slices.IsSorted(words) || len(slices.Compact(words)) != len(words) {
			t.Errorf("%d words that do not ascend", len(words))
		}
		if again, err := Block(nil, AppendBlock(nil, words)); err != nil || !slices.Equal(again, words) {
			t.Errorf("packed again: %v", err)
		}
	})
}

func BenchmarkBlock(b *testing.B) {
	words := random(1, 57, maxBlock)
	packed := AppendBlock(nil, words)
	b.Run("pack", func(b *testing.B) {
		for b.Loop() {
			packed = AppendBlock(packed[:0], words)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(words)), "ns/word")
	})
	b.Run("unpack", func(b *testing.B) {
		for b.Loop() {
			words, _ = Block(words[:0], packed)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(words)), "ns/word")
	})
}
