// SPDX-License-Identifier: Apache-2.0

package paper

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/flowdedup/flowdedup/asm/digest"
)

// JumpingConfig configures a Bloom filter over jumping windows.
type JumpingConfig struct {
	Counters    int // M, of each filter, from 1; the memory is at most 2^38 bits in all
	CounterBits int // of a sub-window's counters, from 1
	D           int // hash functions, from 1 to 1024
	SubWindows  int // Q, from 1; CounterBits + ceil(log2(Q)) is at most 16
	SubWindow   int // n, elements of a sub-window, from 1
}

// JumpingBloom is the Bloom filter over jumping windows of MAE05, sections 3.3 and 5.2.4:
// a window of Q n elements consists of Q sub-windows. Each has a counting Bloom filter,
// and a main filter holds their sum. When the latest sub-window is complete, its counters
// are added to the main filter and the counters of the oldest are subtracted. Then the
// oldest is cleared and takes the next elements. It misses no duplicate of one of the
// last n elements, nor of an element of the same sub-window.
//
// Interpretation:
//
//   - Elements of the sub-window that is being filled are found too. Section 3.3 says
//     that the queried part of the stream ends before them. But then the filter would
//     miss duplicates that follow each other closely, which the paper calls the fault of
//     landmark windows, and it would always be fully populated, which section 7 denies.
//     So between n and Q n elements are queried, and the experiments size the
//     filter for the largest number.
//   - A query looks at the sum of the main filter and the filter being filled, as for two
//     filters combined (section 5.2.4): a counter is zero if it is zero in both. Querying
//     the two filters one after the other would report less.
//   - Every element is inserted, whether it is reported as a duplicate or not (section
//     5.2.1), since a late duplicate has to outlive the sub-window of its first copy.
//   - The paper says nothing about a counter's width. A sub-window's counter that reaches
//     its largest value stays there. The main filter's counters have ceil(log2(Q)) bits
//     more, so that they hold the sum of Q of these. The filter subtracts exactly what it
//     added, so no counter is zero too early or below zero. So a width of 1, which makes
//     the sub-windows plain Bloom filters, gives the same verdicts as any other.
type JumpingBloom struct {
	hashed         // the main filter, the sum of the complete sub-windows
	subs    cells  // of all sub-windows, one filter after the other
	windows uint64 // Q
	size    int    // n
	current uint64 // the sub-window being filled
	came    int    // its elements
}

var _ Filter = (*JumpingBloom)(nil)

// NewJumpingBloom returns a filter of an empty window. Errors wrap [ErrParameter].
func NewJumpingBloom(c JumpingConfig) (*JumpingBloom, error) {
	mainBits := c.CounterBits + bits.Len(uint(c.SubWindows-1)) // for the sum of full counters
	if err := cmp.Or(
		requireRange("counter bits", c.CounterBits, 1, maxCellBits),
		requireRange("sub-windows", c.SubWindows, 1, 1<<max(0, maxCellBits-c.CounterBits)),
		requireRange("counters", c.Counters, 1, maxBits/max(1, c.SubWindows*c.CounterBits+mainBits)),
		requireRange("D", c.D, 1, maxHashes),
		requireRange("sub-window", c.SubWindow, 1, math.MaxInt),
	); err != nil {
		return nil, err
	}
	return &JumpingBloom{
		hashed:  newHashed(c.Counters, mainBits, c.D),
		subs:    newCells(c.SubWindows*c.Counters, c.CounterBits),
		windows: uint64(c.SubWindows),
		size:    c.SubWindow,
	}, nil
}

// TestAndSet implements [Filter]. It takes time proportional to M once a sub-window.
func (j *JumpingBloom) TestAndSet(d digest.Digest) (seen bool) {
	j.locate(d)
	start := j.current * j.count
	seen = !slices.ContainsFunc(j.pos, func(i uint64) bool { return j.get(i)+j.subs.get(start+i) == 0 })
	for _, i := range j.pos {
		j.subs.add(start+i, 1, j.subs.top)
	}
	if j.came++; j.came == j.size {
		j.jump()
	}
	return seen
}

// jump adds the complete sub-window to the main filter, subtracts the oldest, and starts
// a new sub-window in its place. With one sub-window the two are the same.
func (j *JumpingBloom) jump() {
	oldest := (j.current + 1) % j.windows
	for i := range j.count {
		sum := j.get(i) + j.subs.get(j.current*j.count+i)
		j.put(i, sum-j.subs.get(oldest*j.count+i))
		j.subs.put(oldest*j.count+i, 0)
	}
	j.current, j.came = oldest, 0
}

// Bits implements [Filter]: the main filter and the filters of Q sub-windows.
func (j *JumpingBloom) Bits() int { return j.hashed.Bits() + j.subs.Bits() }

// SlidingConfig configures a counting Bloom filter over a sliding window.
type SlidingConfig struct {
	Counters    int // M, from 1; Counters * CounterBits is at most 2^37
	CounterBits int // from 2 to 16; a counter's largest value is 2^CounterBits - 1
	D           int // hash functions, from 1 to 1024
	Window      int // N, from 1; Window * max(ElementBits, 128) is at most 2^37
	ElementBits int // element size for accounting the queue's memory, from 1 to 512
}

// digestBits is the size of a queue's entry in memory.
const digestBits = 128

// SlidingBloom is the counting Bloom filter over a sliding window of the last N elements
// of MAE05, sections 3.1 and 5.2.3. An element is a duplicate if none of its d counters
// is zero. Every element increments its counters and enters a circular queue of the last
// N elements. The element that leaves the queue decrements its counters. It misses no
// duplicate of the last N elements.
//
// Interpretation:
//
//   - Every element is inserted and enters the queue, reported as a duplicate or not: the
//     window is the last N elements of the stream (section 3), and each is tested "and
//     then" inserted (section 5.2.1). So an element that came twice is counted twice, and
//     remains when its first copy leaves.
//   - An element is compared with all N before it, since the oldest leaves after the
//     test.
//   - The functions share one hash space, as in section 5.2.3. Where two functions of an
//     element agree, it increments and later decrements their counter twice.
//   - The paper says nothing about a counter's width. A counter that reaches its largest
//     value stays there, because it no longer knows how many elements it counts. This
//     costs false positives, never a miss. If elements are distinct and d N / M = ln(2),
//     1.6e-15 of 4-bit counters are that full at any time. But nothing ever clears them,
//     and an element that comes 15 times within a window fills all of its own: skewed
//     streams need wider counters; see [SlidingBloom.SaturatedShare].
//   - The queue's entries are the elements, 64 bytes in the paper's experiments. This
//     filter stores digests, but accounts for the memory with ElementBits for each.
type SlidingBloom struct {
	hashed
	window      int
	elementBits int
	// queue grows to window digests as elements come; then oldest is the place of the
	// next digest to leave.
	queue  []digest.Digest
	oldest int
}

var _ Filter = (*SlidingBloom)(nil)

// NewSlidingBloom returns a filter of an empty window. Errors wrap [ErrParameter].
func NewSlidingBloom(c SlidingConfig) (*SlidingBloom, error) {
	if err := cmp.Or(
		requireRange("counter bits", c.CounterBits, 2, maxCellBits),
		requireRange("counters", c.Counters, 1, maxBits/2/max(1, c.CounterBits)),
		requireRange("D", c.D, 1, maxHashes),
		requireRange("element bits", c.ElementBits, 1, 512),
		requireRange("window", c.Window, 1, maxBits/2/max(c.ElementBits, digestBits)),
	); err != nil {
		return nil, err
	}
	return &SlidingBloom{
		hashed:      newHashed(c.Counters, c.CounterBits, c.D),
		window:      c.Window,
		elementBits: c.ElementBits,
	}, nil
}

// TestAndSet implements [Filter].
func (s *SlidingBloom) TestAndSet(d digest.Digest) (seen bool) {
	seen = s.test(d)
	if leaving, full := s.enqueue(d); full {
		s.locate(leaving)
		for _, i := range s.pos {
			s.add(i, down, s.top)
		}
		s.locate(d)
	}
	for _, i := range s.pos {
		s.add(i, 1, s.top)
	}
	return seen
}

// enqueue puts a digest into the queue. If the queue was full, it returns the digest that
// leaves.
func (s *SlidingBloom) enqueue(d digest.Digest) (leaving digest.Digest, full bool) {
	if len(s.queue) < s.window {
		s.queue = append(s.queue, d)
		return digest.Digest{}, false
	}
	leaving, s.queue[s.oldest] = s.queue[s.oldest], d
	if s.oldest++; s.oldest == s.window {
		s.oldest = 0
	}
	return leaving, true
}

// SaturatedShare returns the share of counters that have reached their largest value,
// where they stay. It reads the whole array.
func (s *SlidingBloom) SaturatedShare() float64 { return s.share(s.top) }

// Bits implements [Filter]: the counters and the queue.
func (s *SlidingBloom) Bits() int { return s.hashed.Bits() + s.window*s.elementBits }
