// SPDX-License-Identifier: Apache-2.0

package line

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/internal/cpu"
	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
	"github.com/flowdedup/flowdedup/layout"
)

// mostElements is how many elements the longest batch of a levelTest has.
const mostElements = 300

// levelTest compares calls of a kernel at this level with calls of its plain twin, one after
// the other on the same lines.
type levelTest struct {
	lines, spare int
	front        bool // of the guard pages: before all buffers, or else behind them
	rng          *rand.Rand
	lengths      []int                            // of batches; nil for some from 0 to 300
	start        func(lines, spare []layout.Line) // fills lines; nil where they begin empty
	draw         func(digests []digest.Digest)    // draws a batch
	call         func(n int) levelCall            // for a batch that was drawn, at both levels
}

// levelCall runs a batch. seen has bits before. It returns all results but seen.
type levelCall func(lines, spare []layout.Line, seen []uint64, digests []digest.Digest) any

// run compares verdicts, other results and memory, with guard pages around all buffers. Many
// lines are compared after some of the calls.
func (l *levelTest) run(t *testing.T) {
	t.Helper()
	lengths := l.lengths
	if lengths == nil {
		lengths = batchLengths(l.rng)
	}
	filter, spare := kerneltest.Guarded[layout.Line](t, l.lines, l.front), kerneltest.Guarded[layout.Line](t, l.spare, l.front)
	if l.start != nil {
		l.start(filter, spare)
	}
	plain, plainSpare := slices.Clone(filter), slices.Clone(spare)
	most := slices.Max(lengths)
	memory, words := kerneltest.Guarded[digest.Digest](t, most, l.front), kerneltest.Guarded[uint64](t, bitWords(most), l.front)
	for i, n := range lengths {
		digests, seen := kerneltest.Part(memory, n, l.front), kerneltest.Part(words, bitWords(n), l.front)
		l.draw(digests)
		for i := range seen {
			seen[i] = l.rng.Uint64() & l.rng.Uint64() & l.rng.Uint64()
		}
		wanted, call := slices.Clone(seen), l.call(n)
		got := call(filter, spare, seen, digests)
		var want any
		kerneltest.AtLevel(cpu.Generic, func() { want = call(plain, plainSpare, wanted, digests) })
		if !slices.Equal(seen, wanted) || !reflect.DeepEqual(got, want) {
			t.Fatalf("%d elements: verdicts, or results %+v and %+v, differ", n, got, want)
		}
		if compared := l.lines < 1<<12 || i%16 == 0 || i == len(lengths)-1; compared && !(slices.Equal(filter, plain) && slices.Equal(spare, plainSpare)) {
			t.Fatalf("%d elements: memory differs", n)
		}
	}
}

// batchLengths returns lengths of batches. Each test has some of them, in short tests fewer, so that
// the tests of a kind together have all.
func batchLengths(rng *rand.Rand) (lengths []int) {
	step := 4
	if testing.Short() {
		step = 12
	}
	for n := 0; n <= mostElements; n += 1 + rng.IntN(step) {
		lengths = append(lengths, n)
	}
	return lengths
}

// guardedPart returns what returns n of most values, for a batch of a levelTest.
func guardedPart[T any](t *testing.T, most int, front bool) func(n int) []T {
	all := kerneltest.Guarded[T](t, most, front)
	return func(n int) []T { return kerneltest.Part(all, n, front) }
}

// modelTest runs a stream of n elements through a kernel and its model.
type modelTest struct {
	name   any // of the parameters, for errors
	n      int
	batch  func(from int) int                // how many elements the next call gets
	kernel func(from, to int, seen []uint64) // the last word of seen is behind those of the elements
	model  func(i int) (seen bool)
}

// run compares verdicts. Bits behind the last element have to be cleared, and words behind them
// have to stay. It returns how many elements were not seen before.
func (m *modelTest) run(t *testing.T) (missed uint64) {
	t.Helper()
	for from := 0; from < m.n; {
		to := min(from+m.batch(from), m.n)
		words := bitWords(to - from)
		seen, want := slices.Repeat([]uint64{math.MaxUint64}, words+1), make([]uint64, words+1)
		m.kernel(from, to, seen)
		want[words] = math.MaxUint64
		for i := range to - from {
			if m.model(from + i) {
				want[i/64] |= 1 << (i % 64)
			} else {
				missed++
			}
		}
		if !slices.Equal(seen, want) {
			t.Fatalf("%+v: elements %d to %d: seen %x, want %x", m.name, from, to, seen, want)
		}
		from = to
	}
	return missed
}

// always returns batches of one size.
func always(size int) func(int) int { return func(int) int { return size } }

// checkLines compares lines with what a model has.
func checkLines(t *testing.T, name any, got []layout.Line, want func(i int) layout.Line) {
	t.Helper()
	for i := range got {
		if want := want(i); got[i] != want {
			t.Fatalf("%+v: line %d of %d\n%x, want\n%x", name, i, len(got), got[i], want)
		}
	}
}
