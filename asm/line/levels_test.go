// SPDX-License-Identifier: Apache-2.0

package line

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/internal/cpu"
	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
	"github.com/flowdedup/flowdedup/layout"
)

// levelTest compares calls of a kernel at this level with calls of its plain twin, one after
// the other on the same lines. C is what a call counts.
type levelTest[C comparable] struct {
	lines int
	front bool // of the guard pages: before all buffers, or else behind them
	batch digestKind
	rng   *rand.Rand
	// call returns what runs a batch of n elements, at both levels. seen has bits before.
	call func(n int) func(lines []layout.Line, seen []uint64, digests []digest.Digest, c *C)
}

// run compares verdicts, counts and memory for every batch length from 0 to 300, in short
// tests for some, with guard pages around all buffers.
func (l *levelTest[C]) run(t *testing.T) {
	t.Helper()
	const most = 300
	filter, plain := kerneltest.Guarded[layout.Line](t, l.lines, l.front), make([]layout.Line, l.lines)
	memory, words := kerneltest.Guarded[digest.Digest](t, most, l.front), kerneltest.Guarded[uint64](t, bitWords(most), l.front)
	var counts, want C
	for n := 0; n <= most; n += batchStep(l.rng) {
		digests, seen := kerneltest.Part(memory, n, l.front), kerneltest.Part(words, bitWords(n), l.front)
		fillDigests(l.rng, digests, l.batch.digest)
		for i := range seen {
			seen[i] = l.rng.Uint64() & l.rng.Uint64() & l.rng.Uint64()
		}
		wanted, call := slices.Clone(seen), l.call(n)
		call(filter, seen, digests, &counts)
		kerneltest.AtLevel(cpu.Generic, func() { call(plain, wanted, digests, &want) })
		if !slices.Equal(seen, wanted) || counts != want {
			t.Fatalf("%d elements: verdicts or counts %+v and %+v differ", n, counts, want)
		}
		if !slices.Equal(filter, plain) {
			t.Fatalf("%d elements: memory differs", n)
		}
	}
}

// batchStep returns 1, so that batches have every length, or in short tests more.
func batchStep(rng *rand.Rand) int {
	if testing.Short() {
		return 1 + rng.IntN(8)
	}
	return 1
}
