package asm

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// forLevels runs a test with each instruction set that the CPU has but the plain
// one, which is what they are held against.
func forLevels(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	runLevels(t, levels()[1:], test)
}

// forEveryLevel runs a test with each instruction set, the plain one too.
func forEveryLevel(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	runLevels(t, levels(), test)
}

func runLevels(t *testing.T, levels []int, test func(t *testing.T)) {
	t.Helper()
	before := level
	defer func() { level = before }()
	for _, l := range levels {
		t.Run(fmt.Sprintf("level=%d", l), func(t *testing.T) {
			level = l
			test(t)
		})
	}
}

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
func fillDigests(rng *rand.Rand, digests []Digest, digest func(*rand.Rand, []Digest) Digest) {
	for i := range digests {
		digests[i] = digest(rng, digests[:i])
	}
}
