package engine

import (
	"fmt"
	"math"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/flowdedup/flowdedup/asm"
	"github.com/flowdedup/flowdedup/layout"
)

// MaxWorkers is the most goroutines that share the work of a filter.
const MaxWorkers = 256

const (
	// shardRound is how many elements are shared at a time, whose verdicts the
	// workers hold until all are done.
	shardRound = 1 << 16
	// shardLeast is how many elements are worth sharing.
	shardLeast = 4096
)

// shardWorkers returns how many workers a filter of so many lines has that was asked
// to have n. Errors wrap ErrWorkers.
func shardWorkers(n, lines int) (int, error) {
	if n == 0 {
		return 1, nil
	}
	if most := min(lines, MaxWorkers); n < 1 || n > most {
		return 0, fmt.Errorf("%w: %d workers, must be from 1 to %d with %d lines of memory", ErrWorkers, n, most, lines)
	}
	return n, nil
}

// lineKernel is a filter's kernel with what it counts.
type lineKernel interface {
	// TestAndSet handles at most shardPart elements of those lines. Element i
	// has the number position + i, or position + order[i] if order is not nil. It
	// sets the words of seen that cover them.
	TestAndSet(lines []layout.Line, seen []uint64, d []asm.Digest, position uint64, order []uint32)
	// Bytes returns the size of what the kernel holds.
	Bytes() int
}

// shards share the elements of each round among workers by the lines that they live
// in: each worker owns a range of lines. That changes neither verdicts nor memory of a
// kernel whose elements touch only line floor(digest[1] * lines / 2^64), and depend on
// others of that line alone.
//
// Each worker goes through all digests of a round to pick those of its own. That
// takes some 0.8 ns each, what it then does for its own some 2 ns each beside the
// kernel. Dealing digests out once, in slices that workers take turns at, takes
// 3 ns each in place of that: for up to four workers more than it saves, and they
// would have to wait for each other twice in a round. So workers pay off where lines
// come from memory, or with a kernel that is slow. Where lines of the others stay in a
// core's own cache the caller is as fast alone, and alone it is.
type shards struct {
	lines  []layout.Line
	all    []*worker // the first one is the goroutine that calls
	least  int       // elements in a round that is worth sharing
	task   shardTask
	rounds uint64
	busy   atomic.Int64 // workers, but the first, that are not done with the round
	done   signal       // by the last of them
	exited sync.WaitGroup
}

// shardTask is what workers work on, nothing to make them end. It is written while
// they wait.
type shardTask struct {
	digests  []asm.Digest
	position uint64 // of the first
}

// start makes a worker of each kernel, and goroutines for all but the first. cached
// says that a kernel whose lines are in its core's cache is as fast alone.
func (s *shards) start(lines []layout.Line, kernels []lineKernel, cached bool) {
	s.lines, s.least = lines, shardLeast
	if cached && len(lines)*layout.LineSize <= layout.Caches().L2 {
		s.least = math.MaxInt
	}
	for i, kernel := range kernels {
		w := &worker{kernel: kernel}
		w.first, w.span = digestRange(len(lines), i, len(kernels))
		if len(kernels) > 1 {
			w.picked = new(shardPicked)
		}
		s.all = append(s.all, w)
	}
	s.done = newSignal()
	for _, w := range s.all[1:] {
		w.start = newSignal()
		s.exited.Go(func() { s.serve(w) })
	}
}

// digestRange returns which digests worker i of n has, those of lines i*lines/n on:
// those whose element 1 lies between first and first + span.
func digestRange(lines, i, n int) (first, span uint64) {
	first = firstOfLine(uint64(i)*uint64(lines)/uint64(n), uint64(lines))
	if i == n-1 {
		return first, math.MaxUint64 - first
	}
	next := firstOfLine(uint64(i+1)*uint64(lines)/uint64(n), uint64(lines))
	return first, next - 1 - first
}

// firstOfLine returns the least x for which floor(x * lines / 2^64) is line.
func firstOfLine(line, lines uint64) uint64 {
	x, rest := bits.Div64(line, 0, lines)
	if rest != 0 {
		x++
	}
	return x
}

func (s *shards) serve(w *worker) {
	for round := uint64(1); ; round++ {
		w.start.await(round)
		if s.task.digests == nil {
			return
		}
		w.work(s.lines, s.task)
		if s.busy.Add(-1) == 0 {
			s.done.raise()
		}
	}
}

// relocate gives the workers other lines, between rounds.
func (s *shards) relocate(lines []layout.Line) {
	s.lines = lines
	for i, w := range s.all {
		w.first, w.span = digestRange(len(lines), i, len(s.all))
	}
}

// stop ends the goroutines.
func (s *shards) stop() {
	for _, w := range s.all[min(1, len(s.all)):] {
		w.start.raise()
	}
	s.all, s.lines = nil, nil
	s.exited.Wait()
}

// testAndSet handles a round of at most shardRound elements. A short one is handled by
// the first worker: it is awake, and lines are nobody's between rounds.
func (s *shards) testAndSet(seen []uint64, d []asm.Digest, position uint64) {
	if len(s.all) > 1 && len(d) >= s.least {
		s.share(seen, d, position)
		return
	}
	for at := 0; at < len(d); at += shardPart {
		to := min(at+shardPart, len(d))
		s.all[0].kernel.TestAndSet(s.lines, seen[at/64:(to+63)/64], d[at:to], position+uint64(at), nil)
	}
}

// share lets the workers begin, and takes part. A goroutine that was woken is next on
// the processor of the one that woke it, and others leave it there for 50 µs and more;
// so that one makes room, and is itself taken by another processor within 5 µs.
func (s *shards) share(seen []uint64, d []asm.Digest, position uint64) {
	s.task = shardTask{d, position}
	s.busy.Store(int64(len(s.all) - 1))
	for _, w := range s.all[1:] {
		w.start.raise()
	}
	runtime.Gosched()
	s.all[0].work(s.lines, s.task)
	s.rounds++
	s.done.await(s.rounds)
	s.task = shardTask{}
	clear(seen)
	for _, w := range s.all {
		for i, word := range w.picked.rounded[:len(seen)] {
			seen[i] |= word
		}
	}
}

// bytes returns the size of all tables.
func (s *shards) bytes() (sum int) {
	for _, w := range s.all {
		sum += w.bytes()
	}
	return sum
}
