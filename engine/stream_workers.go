package engine

import (
	"math"
	"math/bits"
	"sync"
	"unsafe"

	"github.com/flowdedup/flowdedup/asm"
	"github.com/flowdedup/flowdedup/layout"
)

const (
	// streamRound is how many elements are given to the workers at a time, whose
	// verdicts they hold until all are done.
	streamRound = 1 << 16
	// streamPart is how many elements a kernel gets at a time: what a worker picks
	// of them stays in the first-level cache, or nearly.
	streamPart = 1024
	// streamScan is how many digests a worker goes through at a time.
	streamScan = streamPart / 2
	// streamAlone is the size of a round that is not worth waking anybody for.
	streamAlone = 1024
)

// streamKernel is a method's kernel with what it counts.
type streamKernel interface {
	// testAndSet handles at most streamPart elements of those lines. Element i
	// has the number position + i in the stream, or position + order[i] if
	// order is not nil. It sets the words of seen that cover them.
	testAndSet(lines []layout.Line, seen []uint64, d []asm.Digest, position uint64, order []uint32)
	// counts returns the changes so far, modulo 2^64: what one worker empties
	// another one may have filled.
	counts() streamCounts
	// add changes what counts returns.
	add(streamCounts)
	// bytes returns the size of what the kernel holds.
	bytes() int
}

// streamCounts are the counts of all kernels.
type streamCounts struct {
	occupied uint64 // cells that are not empty
	evicted  uint64 // fingerprints that made room for another one
}

// streamWorkers share the elements of each round by the lines that they live in. Each
// worker owns a range of lines, and goes through all digests of a round to pick those
// of its own: that takes about a nanosecond each, and nobody has to deal them out
// first. So workers pay off where lines come from memory, and hardly where they stay in
// a core's own cache. Worker 0 is the goroutine that calls.
type streamWorkers struct {
	lines  []layout.Line
	all    []*streamWorker
	wake   []chan struct{} // of all but the first
	task   streamTask
	done   sync.WaitGroup // the round
	exited sync.WaitGroup
}

// streamTask is what workers work on. It is written while they wait.
type streamTask struct {
	digests  []asm.Digest
	position uint64 // of the first
}

// streamWorker is one of them, with what it picked.
type streamWorker struct {
	kernel  streamKernel
	first   uint64 // its digests have an element 1 from first
	span    uint64 // to first + span
	picked  *streamPicked
	rounded []uint64 // verdicts of the round, at the places of its digests
}

// streamPicked holds the digests that a worker found to be its own, where they were
// in the round, and the verdicts on them.
type streamPicked struct {
	digests [streamPart]asm.Digest
	order   [streamPart]uint32
	seen    [streamPart / 64]uint64
}

// start makes n workers, and goroutines for all but the first.
func (s *streamWorkers) start(lines []layout.Line, n int, newKernel func() streamKernel) {
	s.lines = lines
	for i := range n {
		w := &streamWorker{kernel: newKernel()}
		w.first, w.span = digestRange(len(lines), i, n)
		if n > 1 {
			w.picked = new(streamPicked)
			w.rounded = make([]uint64, streamRound/64)
		}
		s.all = append(s.all, w)
	}
	for _, w := range s.all[1:] {
		wake := make(chan struct{})
		s.wake = append(s.wake, wake)
		s.exited.Add(1)
		go s.serve(w, wake)
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

func (s *streamWorkers) serve(w *streamWorker, wake <-chan struct{}) {
	defer s.exited.Done()
	for range wake {
		w.work(s.lines, s.task)
		s.done.Done()
	}
}

// stop ends the goroutines.
func (s *streamWorkers) stop() {
	for _, wake := range s.wake {
		close(wake)
	}
	s.wake, s.lines = nil, nil
	s.exited.Wait()
}

// testAndSet handles a round. Verdicts on digests that only one worker handles go
// to seen directly. A round that is short is handled by the first one: it is awake,
// and lines are nobody's between rounds.
func (s *streamWorkers) testAndSet(seen []uint64, d []asm.Digest, position uint64) {
	if len(s.all) == 1 || len(d) < streamAlone {
		for at := 0; at < len(d); at += streamPart {
			to := min(at+streamPart, len(d))
			s.all[0].kernel.testAndSet(s.lines, seen[at/64:(to+63)/64], d[at:to], position+uint64(at), nil)
		}
		return
	}
	s.task = streamTask{d, position}
	s.done.Add(len(s.wake))
	for _, wake := range s.wake {
		wake <- struct{}{}
	}
	s.all[0].work(s.lines, s.task)
	s.done.Wait()
	s.task = streamTask{}
	for _, w := range s.all {
		for i := range seen {
			seen[i] |= w.rounded[i]
		}
	}
}

// work handles a worker's part of a round. The kernel gets at least half of what it
// may at a time, but for the last, so that it can fetch lines ahead.
func (w *streamWorker) work(lines []layout.Line, r streamTask) {
	clear(w.rounded[:(len(r.digests)+63)/64])
	n := 0
	for at := 0; at < len(r.digests); at += streamScan {
		n = w.pick(r.digests, at, n)
		if n > streamPart-streamScan {
			w.flush(lines, r, n)
			n = 0
		}
	}
	if n > 0 {
		w.flush(lines, r, n)
	}
}

// pick appends the places of the worker's own digests, among streamScan from place at
// on, to the n that it has, and returns how many there are then. It writes down each
// place, and goes on only if the digest there is its own: a branch would be guessed
// wrong too often. It must stay a call: inlined, not all of its variables have
// registers.
//
//go:noinline
func (w *streamWorker) pick(digests []asm.Digest, at, n int) int {
	order := &w.picked.order
	first, span, next := w.first, w.span, uint64(n)
	digests = digests[at:min(at+streamScan, len(digests))]
	for i := range digests {
		order[next%streamPart] = uint32(at + i)
		_, other := bits.Sub64(span, digests[i][1]-first, 0)
		next += 1 - other
	}
	return int(next)
}

// flush handles the n digests that were picked.
func (w *streamWorker) flush(lines []layout.Line, r streamTask, n int) {
	p := w.picked
	order, digests, seen := p.order[:n], p.digests[:n], p.seen[:(n+63)/64]
	for i, at := range order {
		digests[i] = r.digests[at]
	}
	w.kernel.testAndSet(lines, seen, digests, r.position, order)
	for i, at := range order {
		w.rounded[at/64] |= seen[i/64] >> (i % 64) & 1 << (at % 64)
	}
}

// counts returns the sum of all workers' counts.
func (s *streamWorkers) counts() (sum streamCounts) {
	for _, w := range s.all {
		c := w.kernel.counts()
		sum.occupied += c.occupied
		sum.evicted += c.evicted
	}
	return sum
}

// bytes returns the size of all tables.
func (s *streamWorkers) bytes() (sum int) {
	for _, w := range s.all {
		sum += w.kernel.bytes()
		if w.picked != nil {
			sum += int(unsafe.Sizeof(*w.picked)) + 8*len(w.rounded)
		}
	}
	return sum
}
