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
		for block := range Blocks(slices.Values(words), uint64(len(words))) {
			bytes += len(AppendBlock(nil, block))
		}
		size := 8 * float64(bytes) / float64(len(words))
		want := float64(width) - math.Log2(float64(len(words))) + 1.5
		if math.Abs(size-want) > 0.15 {
			t.Errorf("%d bits: %.2f bits a word, want %.2f", width, size, want)
		}
	}
}

// TestPacked unpacks sets in groups of different sizes, some of them in memory of other sets. In groups of two a word
// takes its bytes and a byte at most.
func TestPacked(t *testing.T) {
	var p Packed
	for _, n := range []int{0, 1, 5000, 70, 30_000, 2} {
		for _, shift := range []uint{64, 63, 57, 50, 40, 8, 3, 1} {
			words := random(uint64(n), 64, n)
			if shift <= 8 {
				words = random(uint64(n), 15, n)
			}
			p.Reset(shift, uint64(len(words)))
			for left := words; len(left) > 0; {
				group, end := left[0]>>shift, 1
				for end < len(left) && left[end]>>shift == group {
					end++
				}
				p.Add(group, left[:end])
				left = left[end:]
			}
			var got []uint64
			for group, words := range p.Groups {
				for _, word := range words {
					if word>>shift != group {
						t.Fatalf("%d words, %d bits: word %#x in group %#x", n, shift, word, group)
					}
				}
				got = append(got, words...)
			}
			if !slices.Equal(got, words) {
				t.Errorf("%d words, %d bits: %d came back", n, shift, len(got))
			}
			if most := len(words) * 8; n == 30_000 && shift == 50 && len(p.bytes) > most {
				t.Errorf("%d words, %d bits: %d bytes, at most %d", n, shift, len(p.bytes), most)
			}
		}
	}
	p.Reset(50, 1<<20)
	if p.Free(); cap(p.bytes) > smallPacked {
		t.Errorf("no words have %d bytes", cap(p.bytes))
	}
}

// TestCommon compares small and large sets, in any order, with a map.
func TestCommon(t *testing.T) {
	var m Matcher
	for _, n := range [][2]int{{0, 3}, {1, 1}, {8, 8}, {3, 5000}, {5000, 3}, {5000, 60}, {200, 100}, {4000, 5000}} {
		a, b := random(1, 13, n[0]), random(2, 13, n[1])
		want, have := 0, map[uint64]bool{}
		for _, x := range a {
			have[x] = true
		}
		for _, y := range b {
			if have[y] {
				want++
			}
		}
		rand.Shuffle(len(a), func(i, j int) { a[i], a[j] = a[j], a[i] })
		if got := m.Common(a, b); got != want {
			t.Errorf("%d and %d words: %d in common, want %d", len(a), len(b), got, want)
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
