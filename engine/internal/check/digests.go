package check

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/internal/bitset"
	"math/bits"
	"math/rand/v2"
)

func Digests(seed uint64, n int) []digest.Digest {
	rng := rand.New(rand.NewPCG(seed, 0))
	digests := make([]digest.Digest, n)
	for i := range digests {
		digests[i] = digest.Digest{rng.Uint64(), rng.Uint64()}
	}
	return digests
}

func CountBits(seen []uint64) (n int) {
	for _, word := range seen {
		n += bits.OnesCount64(word)
	}
	return n
}

// Feed returns all verdicts, as bits.
func Feed(c engine.Counter[digest.Digest], digests []digest.Digest, batch int) []uint64 {
	verdicts := make([]uint64, len(digests)/64+1)
	seen := make([]uint64, batch/64+1)
	for at := 0; at < len(digests); at += batch {
		part := digests[at:min(at+batch, len(digests))]
		c.TestAndSet(seen, part)
		bitset.Or(verdicts, at, seen, len(part))
	}
	return verdicts
}

// Repeating returns digests of which about half are new, and the others came up to
// 3000 elements before.
func Repeating(seed uint64, n int) []digest.Digest {
	rng := rand.New(rand.NewPCG(seed, 3))
	digests := make([]digest.Digest, n)
	for i := range digests {
		digests[i] = digest.Digest{rng.Uint64(), rng.Uint64()}
		if back := 1 + rng.IntN(1+rng.IntN(3000)); back <= i && rng.IntN(2) == 0 {
			digests[i] = digests[i-back]
		}
	}
	return digests
}
