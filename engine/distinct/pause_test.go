package distinct

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/internal/check"
	"math/rand/v2"
	"testing"
)

// BenchmarkPause has counters grow from nothing to 8 million random elements,
// and tells the longest single call and the one that 1 of 1000 exceed. Other work on the
// machine shows in the longest: take the least of several runs.
func BenchmarkPause(b *testing.B) {
	address := func(rng *rand.PCG) uint32 { return uint32(rng.Uint64()) }
	random := func(rng *rand.PCG) digest.Digest { return digest.Digest{rng.Uint64(), rng.Uint64()} }
	b.Run("counter=ExactV4", func(b *testing.B) {
		check.MeasurePause(b, func() engine.Counter[uint32] { return newIPv4Rows(b, 0) }, address)
	})
	b.Run("counter=DigestRows", func(b *testing.B) {
		check.MeasurePause(b, func() engine.Counter[digest.Digest] { return newDigestRows(b, 0) }, random)
	})
	b.Run("counter=Landmark", func(b *testing.B) {
		check.MeasurePause(b, func() engine.Counter[digest.Digest] { return newScalableBloom(b, ScalableBloomConfig{}) }, random)
	})
}
