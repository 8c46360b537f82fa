// SPDX-License-Identifier: Apache-2.0

package permute

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
)

var bijectionKeys = [][16]byte{
	{},
	{0: 1},
	{15: 0x80},
	{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
	{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
}

// scatterings are sets of addresses as networks have them, and worse.
var scatterings = []struct {
	name string
	at   func(i uint32) uint32
}{
	{"10.0.0.0/8 from its start", func(i uint32) uint32 { return 10<<24 + i }},
	{"from zero", func(i uint32) uint32 { return i }},
	{"the end of the space", func(i uint32) uint32 { return ^i }},
	{"every 256th", func(i uint32) uint32 { return i << 8 }},
	{"every 4096th", func(i uint32) uint32 { return i << 12 }},
	{"x.y.x.y", func(i uint32) uint32 { return i<<16 ^ i }},
	{"bits reversed", bits.Reverse32},
	{"Gray code", func(i uint32) uint32 { return i ^ i>>1 }},
}

func TestBijectionInverts(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	words := []uint32{0, 1, 1 << 31, math.MaxUint32, 0x0a000001}
	for len(words) < 5000 {
		words = append(words, rng.Uint32())
	}
	for _, key := range bijectionKeys {
		b := NewBijection(key)
		for n := range 70 {
			image := make([]uint32, n+3)
			b.Permute(image, words[:n])
			if image[n] != 0 {
				t.Fatalf("Permute of %d words wrote more", n)
			}
			b.Invert(image[:n], image[:n])
			if !slices.Equal(image[:n], words[:n]) {
				t.Fatalf("key %x: %d words do not come back", key, n)
			}
		}
		image := slices.Clone(words)
		b.Permute(image, image)
		back := make([]uint32, len(image))
		b.Invert(back, image)
		if !slices.Equal(back, words) {
			t.Fatalf("key %x: permuting in place does not invert", key)
		}
	}
}

// A sample of 2^20 images (2^16 in short tests) without a repeat, of structured
// words.
func TestBijectionIsInjective(t *testing.T) {
	words := 1 << 20
	if testing.Short() {
		words = 1 << 16
	}
	for _, key := range bijectionKeys {
		b := NewBijection(key)
		image := make([]uint32, words)
		for i := range image {
			image[i] = uint32(i) * 4099
		}
		b.Permute(image, image)
		slices.Sort(image)
		if n := len(slices.Compact(image)); n != words {
			t.Errorf("key %x: only %d images", key, n)
		}
	}
}

// The images are fixed for all time and CPUs: snapshots depend on them. These were
// computed apart from this package, from its description.
func TestBijectionGolden(t *testing.T) {
	got := make([]uint32, 4)
	NewBijection(bijectionKeys[3]).Permute(got, []uint32{0, 1, 0x0a000001, math.MaxUint32})
	if want := []uint32{0xad778532, 0x776c5f7, 0xfdccfd, 0x954a93d6}; !slices.Equal(got, want) {
		t.Errorf("images %#x, want %#x", got, want)
	}
}

func TestBijectionKeysDiffer(t *testing.T) {
	seen := map[uint32][16]byte{}
	for _, key := range bijectionKeys {
		y := []uint32{0x0a000001}
		NewBijection(key).Permute(y, y)
		if other, found := seen[y[0]]; found {
			t.Errorf("keys %x and %x agree", key, other)
		}
		seen[y[0]] = key
	}
}

// Flipping any input bit flips every output bit half of the time: over 2^14
// words (2^12 in short tests) the share of each of the 1024 pairs lies within 6
// standard deviations, which chance misses once in 500,000 keys.
func TestBijectionAvalanche(t *testing.T) {
	words := 1 << 14
	if testing.Short() {
		words = 1 << 12
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for _, key := range bijectionKeys {
		b := NewBijection(key)
		x := make([]uint32, words)
		for i := range x {
			x[i] = rng.Uint32()
		}
		y, z := make([]uint32, words), make([]uint32, words)
		b.Permute(y, x)
		for in := range 32 {
			for i := range z {
				z[i] = x[i] ^ 1<<in
			}
			b.Permute(z, z)
			var flips [32]int
			for i := range z {
				for out := range flips {
					flips[out] += int((y[i] ^ z[i]) >> out & 1)
				}
			}
			for out, n := range flips {
				if math.Abs(float64(n)-float64(words)/2) > 6*math.Sqrt(float64(words))/2 {
					t.Errorf("key %x: bit %d flips bit %d %d times of %d", key, in, out, n, words)
				}
			}
		}
	}
}

// Line loads of structured addresses equal those of random ones: chi-square over 4096
// lines, by line number (top bits) and by remainder (low bits), within 6 standard
// deviations of its mean (Wilson and Hilferty's cube root).
func TestBijectionSpreads(t *testing.T) {
	const lines, words = 1 << 12, 1 << 16
	y := make([]uint32, words)
	for _, key := range bijectionKeys {
		b := NewBijection(key)
		for _, s := range scatterings {
			for i := range y {
				y[i] = s.at(uint32(i))
			}
			b.Permute(y, y)
			for _, part := range []struct {
				name  string
				shift uint
			}{{"line", 20}, {"remainder", 3}} {
				var load [lines]float64
				for _, v := range y {
					load[v>>part.shift%lines]++
				}
				if z := chiSquareZ(load[:], words); math.Abs(z) > 6 {
					t.Errorf("key %x, %s, %s: chi-square %.1f standard deviations off", key, s.name, part.name, z)
				}
			}
		}
	}
}

// chiSquareZ returns the distance in standard deviations of the chi-square of counts from
// the chi-square of n draws from a uniform distribution.
func chiSquareZ(counts []float64, n int) float64 {
	expected := float64(n) / float64(len(counts))
	sum := 0.0
	for _, c := range counts {
		sum += (c - expected) * (c - expected) / expected
	}
	df := float64(len(counts) - 1)
	v := 2 / (9 * df)
	return (math.Cbrt(sum/df) - (1 - v)) / math.Sqrt(v)
}

func TestBijectionPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic for a short dst")
		}
	}()
	NewBijection([16]byte{}).Permute(make([]uint32, 3), make([]uint32, 4))
}

// TestBijectionLevels compares every batch length from 0 to 300, in place and not,
// with guard pages around the buffers.
func TestBijectionLevels(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	kerneltest.ForLevels(t, func(t *testing.T) {
		for _, key := range bijectionKeys {
			b := NewBijection(key)
			for _, front := range []bool{false, true} {
				const most = 300
				src, dst := kerneltest.Guarded[uint32](t, most, front), kerneltest.Guarded[uint32](t, most, front)
				want := make([]uint32, most)
				for n := range most + 1 {
					from := most - n
					if front {
						from = 0
					}
					in, out := src[from:from+n], dst[from:from+n]
					for i := range in {
						in[i] = rng.Uint32()
					}
					permuteGeneric(want[:n], in, b)
					b.Permute(out, in)
					b.Permute(in, in)
					if !slices.Equal(out, want[:n]) || !slices.Equal(in, want[:n]) {
						t.Fatalf("%d words differ", n)
					}
				}
			}
		}
	})
}

// BenchmarkPermute has the words in the first cache.
func BenchmarkPermute(b *testing.B) {
	const batch = 1024
	p, words := NewBijection(bijectionKeys[3]), make([]uint32, batch)
	kerneltest.BenchLevels(b, func(b *testing.B) {
		kerneltest.MeasureCached(b, len(words), func() { p.Permute(words, words) })
	})
}
