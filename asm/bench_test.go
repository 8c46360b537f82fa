package asm

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
)

// benchBatch is how many elements a call of a kernel gets.
const benchBatch = 1024

// benchKiB are the sizes of filters: in the second-level cache, as large as it, in
// the third level, in memory. The name of a size comes first in that of a
// benchmark, so that the largest can be left out.
var benchKiB = []int{128, 1 << 10, 16 << 10, 128 << 10, 512 << 10}

// benchSizes runs a benchmark with lines of each size.
func benchSizes(b *testing.B, run func(b *testing.B, lines [][8]uint64)) {
	for _, kib := range benchKiB {
		b.Run(fmt.Sprintf("memory=%dKiB", kib), func(b *testing.B) { run(b, benchArena(b, kib)) })
	}
}

// untimed stops the clock that ends a benchmark, for work that takes longer than
// what is measured.
func untimed(b *testing.B, work func()) {
	b.StopTimer()
	work()
	b.StartTimer()
}

// benchDigests are a stream of which half repeats one of the last few thousand, so
// that no guess of the branch predictor is a good one.
var benchDigests = sync.OnceValue(func() []Digest {
	rng := rand.New(rand.NewPCG(1, 2))
	digests := make([]Digest, 1<<22)
	for i := range digests {
		digests[i] = Digest{rng.Uint64(), rng.Uint64()}
		if back := 1 + rng.IntN(8191); back < i && rng.IntN(2) == 0 {
			digests[i] = digests[i-back]
		}
	}
	return digests
})

// digestBatch is one batch after another of an endless stream: benchDigests, and
// then the same with other digests in their place. A batch is in the first cache,
// as if it had just been computed.
type digestBatch struct {
	digests []Digest
	all     []Digest
	at      int
	salt    uint64
}

func newDigestBatch() *digestBatch {
	return &digestBatch{digests: make([]Digest, benchBatch), all: benchDigests()}
}

// next replaces the batch by the one after it.
func (s *digestBatch) next() {
	for i, d := range s.all[s.at : s.at+benchBatch] {
		s.digests[i] = Digest{d[0] ^ s.salt, d[1] ^ s.salt}
	}
	if s.at = (s.at + benchBatch) % len(s.all); s.at == 0 {
		s.salt += 0x9e3779b97f4a7c15
	}
}

// measureDigests measures call with one batch after another.
func measureDigests(b *testing.B, call func(digests []Digest)) {
	s := newDigestBatch()
	kerneltest.Measure(b, benchBatch, s.next, func() { call(s.digests) })
}

// fillLines sets the first n words of each line to random ones, and the others to
// zero.
func fillLines(lines [][8]uint64, n int) {
	rng := rand.New(rand.NewPCG(3, 4))
	clear(lines)
	for i := range lines {
		for w := range n {
			lines[i][w] = rng.Uint64()
		}
	}
}
