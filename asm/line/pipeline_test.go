// SPDX-License-Identifier: Apache-2.0

package line

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
	"github.com/flowdedup/flowdedup/layout"
)

// TestPipeline walks through batches of every length and compares the batches' content
// with their comments.
func TestPipeline(t *testing.T) {
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(11, 12))
		lines := make([][8]uint64, 1000)
		for n := 1; n <= 300; n++ {
			digests := kerneltest.Guarded[digest.Digest](t, n, n%2 == 0)
			fillDigests(rng, digests, digestBatches[n%len(digestBatches)].digest)
			position := rng.Uint64() >> rng.UintN(64)
			checkPipeline(t, lines[:1+rng.IntN(len(lines))], digests, position)
		}
	})
}

func checkPipeline(t *testing.T, lines [][8]uint64, digests []digest.Digest, position uint64) {
	t.Helper()
	var w pipeline
	w.elements = elements{kind: inLines, count: len(digests), digests: digests, position: position, random: true}
	w.begin(lines)
	ahead := &w.batches[0]
	for at := 0; at < len(digests); {
		current, next, n := w.next()
		if current != ahead || n != min(64, len(digests)-at) {
			t.Fatalf("%d digests: batch of %d at %d", len(digests), n, at)
		}
		for i := range n {
			d, s := digests[at+i], position+uint64(at+i)
			line, _ := bits.Mul64(d[1], uint64(len(lines)))
			if current.offset[i] != 64*line || current.low[i] != d[0] || current.random[i] != prng(d[0], s) {
				t.Fatalf("%d digests: element %d differs", len(digests), at+i)
			}
		}
		for _, offset := range current.offset[n:] {
			if offset != current.offset[0] {
				t.Fatalf("%d digests: line behind the last element", len(digests))
			}
		}
		at, ahead = at+n, next
	}
}

// TestBatchesOfManyLines has more lines than the product of vectors can take, which
// no machine has the memory for.
func TestBatchesOfManyLines(t *testing.T) {
	if bits.UintSize == 32 {
		t.Skip("no such number")
	}
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		for _, many := range []uint64{math.MaxUint32, math.MaxUint32 + 1} {
			lines := int(many)
			var b batch
			digests := make([]digest.Digest, 64)
			for i := range digests {
				digests[i] = digest.Digest{uint64(i), math.MaxUint64 - uint64(i)}
			}
			b.fill(digests, lines, false, 0, false)
			for i, d := range digests {
				if line, _ := bits.Mul64(d[1], uint64(lines)); b.offset[i] != 64*line {
					t.Fatalf("%d lines: element %d in line %d, want %d", lines, i, b.offset[i]/64, line)
				}
			}
		}
	})
}

// TestBatchStaysOwn: batches name only lines or words of their own elements, so that
// prefetching does not disturb workers on other lines.
func TestBatchStaysOwn(t *testing.T) {
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(41, 41))
		for n := 1; n <= 64; n++ {
			digests := make([]digest.Digest, n)
			fillDigests(rng, digests, digestBatches[0].digest)
			var b batch
			b.fill(digests, 1000, n%2 == 0, 0, false)
			for i, offset := range b.offset {
				if !slices.Contains(b.offset[:n], offset) || offset >= 64000 {
					t.Fatalf("%d elements: offset %d in place %d", n, offset, i)
				}
			}
		}
	})
}

// TestPRNG compares with the results of draw's formula in another language, in integers
// of any size.
func TestPRNG(t *testing.T) {
	for _, c := range []struct{ low, position, r1, r2 uint64 }{
		{0x0, 0x0, 0x0, 0x0},
		{0x0, 0x1, 0xbb4d54d44c104064, 0xd66f0f541be4e401},
		{0x1, 0x0, 0xbc3b1b1c5aae1be6, 0x71894de00d9981f},
		{0xffffffffffffffff, 0xffffffffffffffff, 0xc02f4e7f177997b5, 0xe44db9ec77857e4b},
		{0x123456789abcdef, 0x3039, 0xea9f0811bb6deb7b, 0x1cd51de9ec51f517},
		{0x8000000000000000, 0x10000000000, 0x72d760ffebd021fe, 0x837401c88fdfc142},
	} {
		if r1 := prng(c.low, c.position); r1 != c.r1 || prngNext(r1) != c.r2 {
			t.Errorf("%#x at %#x: %#x, then %#x, want %#x, then %#x", c.low, c.position, r1, prngNext(r1), c.r1, c.r2)
		}
	}
}

// TestPRNGAvalanche changes a bit of the digest or the position: each bit of both
// words changes in half of the cases. Of 1,024 cases the share has a
// standard deviation of 0.0157; six of them are allowed for the 16,384 pairs of bits.
func TestPRNGAvalanche(t *testing.T) {
	const cases = 1 << 10
	rng := rand.New(rand.NewPCG(21, 22))
	for bit := range 128 {
		var changed [128]int
		for range cases {
			low, position := rng.Uint64(), rng.Uint64()
			r1 := prng(low, position)
			other := prng(low^1<<(bit%64)*uint64(1-bit/64), position^1<<(bit%64)*uint64(bit/64))
			count(&changed, 0, r1^other)
			count(&changed, 64, prngNext(r1)^prngNext(other))
		}
		for to, n := range changed {
			if share := float64(n) / cases; share < 0.5-6*0.0157 || share > 0.5+6*0.0157 {
				t.Errorf("bit %d changes bit %d in %.3f of the cases", bit, to, share)
			}
		}
	}
}

// count adds the bits of word to counts, from the one at from on.
func count(counts *[128]int, from int, word uint64) {
	for ; word != 0; word &= word - 1 {
		counts[from+bits.TrailingZeros64(word)]++
	}
}

// digestBatches are streams of elements for kernels of lines: usual ones and hard ones.
var digestBatches = []digestKind{
	{"random", func(rng *rand.Rand, _ []digest.Digest) digest.Digest {
		return digest.Digest{rng.Uint64(), rng.Uint64()}
	}},
	{"half repeated", func(rng *rand.Rand, earlier []digest.Digest) digest.Digest {
		if len(earlier) > 0 && rng.IntN(2) == 0 {
			return earlier[rng.IntN(len(earlier))]
		}
		return digest.Digest{rng.Uint64(), rng.Uint64()}
	}},
	{"all equal", func(*rand.Rand, []digest.Digest) digest.Digest { return digest.Digest{1 << 63, 1 << 62} }},
	{"one line", func(rng *rand.Rand, _ []digest.Digest) digest.Digest { return digest.Digest{rng.Uint64(), ^uint64(0)} }},
	{"zero and last", func(rng *rand.Rand, _ []digest.Digest) digest.Digest {
		return digest.Digest{-(rng.Uint64() & 1), -(rng.Uint64() & 1)}
	}},
}

// digestKind is a kind of batch: how a digest comes after earlier ones.
type digestKind struct {
	name   string
	digest func(rng *rand.Rand, earlier []digest.Digest) digest.Digest
}

// fillDigests draws a batch into digests.
func fillDigests(rng *rand.Rand, digests []digest.Digest, next func(*rand.Rand, []digest.Digest) digest.Digest) {
	for i := range digests {
		digests[i] = next(rng, digests[:i])
	}
}

// drawing returns what draws batches of a kind.
func (k digestKind) drawing(rng *rand.Rand) func(digests []digest.Digest) {
	return func(digests []digest.Digest) { fillDigests(rng, digests, k.digest) }
}

// rowStreams are ways in which digests come.
var rowStreams = []digestKind{
	{"random", func(rng *rand.Rand, _ []digest.Digest) digest.Digest {
		return digest.Digest{rng.Uint64(), rng.Uint64()}
	}},
	{"few", func(rng *rand.Rand, _ []digest.Digest) digest.Digest {
		d := rng.Uint64N(200) * 0x9e3779b97f4a7c15
		return digest.Digest{d, d * 0xbf58476d1ce4e5b9}
	}},
	{"equal", func(*rand.Rand, []digest.Digest) digest.Digest {
		return digest.Digest{0x0123456789abcdef, 0xfedcba9876543210}
	}},
	{"one line", func(rng *rand.Rand, _ []digest.Digest) digest.Digest {
		return digest.Digest{rng.Uint64N(40) << 58, math.MaxUint64 - rng.Uint64N(2)}
	}},
	{"extremes", func(rng *rand.Rand, _ []digest.Digest) digest.Digest {
		values := []uint64{0, 1, math.MaxUint64, math.MaxUint64 - 1, 1 << 56, 1<<56 - 1, 1 << 48, 1<<48 - 1, 1 << 32, 1<<32 - 1}
		return digest.Digest{values[rng.IntN(len(values))], values[rng.IntN(len(values))]}
	}},
	{"skewed", func(rng *rand.Rand, _ []digest.Digest) digest.Digest {
		d := uint64(math.Exp(rng.Float64()*8)) * 0x9e3779b97f4a7c15
		return digest.Digest{d * 0xbf58476d1ce4e5b9, d}
	}},
}

// goldenLines returns the words of lines.
func goldenLines(lines [][8]uint64) (b kerneltest.Hex) {
	for i := range lines {
		b = append(b, kerneltest.Words(lines[i][:])...)
	}
	return b
}

// goldenElements describes goldenDigests.
const goldenElements = "with SplitMix64 from state 0, element i has the number e = floor(next * (i/2 + 16) / 2^64), " +
	"and the next two outputs of SplitMix64 from state e are its digest; "

// goldenDigests are the elements of the golden verdicts. An element's number is
// taken from a growing range, so that new ones and copies both stay frequent.
func goldenDigests(n int) []digest.Digest {
	digests := make([]digest.Digest, n)
	state := uint64(0)
	for i := range digests {
		element, _ := bits.Mul64(layout.SplitMix(&state), uint64(i/2+16))
		digests[i] = digest.Digest{layout.SplitMix(&element), layout.SplitMix(&element)}
	}
	return digests
}

// TestPrefetch checks that hashes are read to their end and no further, and that lines do
// not change.
func TestPrefetch(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	lines := make([]layout.Line, 64)
	for n := range 130 {
		hashes := kerneltest.Guarded[uint64](t, n, n%2 == 0)
		for i := range hashes {
			hashes[i] = rng.Uint64()
		}
		Prefetch(lines, hashes)
	}
	for _, l := range lines {
		if l != (layout.Line{}) {
			t.Fatal("a line changed")
		}
	}
	for _, count := range []int{0, 3} {
		kerneltest.Panics(t, "", func() { Prefetch(lines[:count], []uint64{1}) })
	}
}
