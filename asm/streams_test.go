package asm

import (
	"math"
	"math/bits"
	"math/rand/v2"

	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
	"github.com/flowdedup/flowdedup/asm/internal/splitmix"
)

// digestBatches are streams of elements for kernels of lines: as they come, and
// as they hurt.
var digestBatches = []struct {
	name   string
	digest func(rng *rand.Rand, earlier []Digest) Digest
}{
	{"random", func(rng *rand.Rand, _ []Digest) Digest { return Digest{rng.Uint64(), rng.Uint64()} }},
	{"half repeated", func(rng *rand.Rand, earlier []Digest) Digest {
		if len(earlier) > 0 && rng.IntN(2) == 0 {
			return earlier[rng.IntN(len(earlier))]
		}
		return Digest{rng.Uint64(), rng.Uint64()}
	}},
	{"all equal", func(*rand.Rand, []Digest) Digest { return Digest{1 << 63, 1 << 62} }},
	{"one line", func(rng *rand.Rand, _ []Digest) Digest { return Digest{rng.Uint64(), ^uint64(0)} }},
	{"zero and last", func(rng *rand.Rand, _ []Digest) Digest {
		return Digest{-(rng.Uint64() & 1), -(rng.Uint64() & 1)}
	}},
}

// fillDigests draws a batch into digests.
func fillDigests(rng *rand.Rand, digests []Digest, next func(*rand.Rand, []Digest) Digest) {
	for i := range digests {
		digests[i] = next(rng, digests[:i])
	}
}

// rowStreams are ways in which digests come.
var rowStreams = []struct {
	name   string
	digest func(rng *rand.Rand) Digest
}{
	{"random", func(rng *rand.Rand) Digest { return Digest{rng.Uint64(), rng.Uint64()} }},
	{"few", func(rng *rand.Rand) Digest {
		d := rng.Uint64N(200) * 0x9e3779b97f4a7c15
		return Digest{d, d * 0xbf58476d1ce4e5b9}
	}},
	{"equal", func(*rand.Rand) Digest { return Digest{0x0123456789abcdef, 0xfedcba9876543210} }},
	{"one line", func(rng *rand.Rand) Digest {
		return Digest{rng.Uint64N(40) << 58, math.MaxUint64 - rng.Uint64N(2)}
	}},
	{"extremes", func(rng *rand.Rand) Digest {
		values := []uint64{0, 1, math.MaxUint64, math.MaxUint64 - 1, 1 << 56, 1<<56 - 1, 1 << 48, 1<<48 - 1, 1 << 32, 1<<32 - 1}
		return Digest{values[rng.IntN(len(values))], values[rng.IntN(len(values))]}
	}},
	{"skewed", func(rng *rand.Rand) Digest {
		d := uint64(math.Exp(rng.Float64()*8)) * 0x9e3779b97f4a7c15
		return Digest{d * 0xbf58476d1ce4e5b9, d}
	}},
}

func makeDigests(n int, rng *rand.Rand, next func(*rand.Rand) Digest) []Digest {
	digests := make([]Digest, n)
	for i := range digests {
		digests[i] = next(rng)
	}
	return digests
}

// goldenLines returns the words of lines.
func goldenLines(lines [][8]uint64) (b kerneltest.Hex) {
	for i := range lines {
		b = append(b, kerneltest.Words(lines[i][:])...)
	}
	return b
}

// goldenElements says what goldenDigests are.
const goldenElements = "with SplitMix64 from state 0, element i has the number e = floor(next * (i/2 + 16) / 2^64), " +
	"and the next two outputs of SplitMix64 from state e are its digest; "

// goldenDigests are the elements of the golden verdicts. An element's number is
// taken from a growing range, so that new ones and copies both stay frequent.
func goldenDigests(n int) []Digest {
	digests := make([]Digest, n)
	state := uint64(0)
	for i := range digests {
		element, _ := bits.Mul64(splitmix.Next(&state), uint64(i/2+16))
		digests[i] = Digest{splitmix.Next(&element), splitmix.Next(&element)}
	}
	return digests
}
