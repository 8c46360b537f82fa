package paper

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/flowdedup/flowdedup/asm/digest"
)

// JumpingConfig is what a Bloom filter over jumping windows is made from.
type JumpingConfig struct {
	Counters    int // M, of each filter, from 1; the memory is at most 2^38 bits in all
	CounterBits int // of a sub-window's counters, from 1
	D           int // hash functions, from 1 to 1024
	SubWindows  int // Q, from 1; CounterBits + ceil(log2(Q)) is at most 16
	SubWindow   int // n, elements of a sub-window, from 1
}

func (c JumpingConfig) validate() error {
	if err := requireRange("counter bits", c.CounterBits, 1, maxCellBits); err != nil {
		return err
	}
	most := 1 << (maxCellBits - c.CounterBits)
	if err := requireRange("sub-windows", c.SubWindows, 1, most); err != nil {
		return fmt.Errorf("counters of %d bits: %w", c.CounterBits, err)
	}
	if err := requireRange("counters", c.Counters, 1, maxBits/c.bitsPerPosition()); err != nil {
		return err
	}
	if err := requireRange("D", c.D, 1, maxHashes); err != nil {
		return err
	}
	return requireRange("sub-window", c.SubWindow, 1, math.MaxInt)
}

// mainBits returns the width of a counter that holds the sum of SubWindows full ones.
func (c JumpingConfig) mainBits() int {
	return c.CounterBits + bits.Len(uint(c.SubWindows-1))
}

// bitsPerPosition returns the bits of one counter of each filter.
func (c JumpingConfig) bitsPerPosition() int {
	return c.SubWindows*c.CounterBits + c.mainBits()
}

// JumpingBloom is the Bloom filter over jumping windows of paper "Duplicate Detection in
// Click Streams" (Metwally, Agrawal, El Abbadi, WWW 2005), sections 3.3 and 5.2.4: a
// window of Q n elements consists of Q sub-windows. Each has a counting Bloom filter, and
// a main filter holds their sum. When the latest sub-window is complete, its counters are
// added to the main filter and those of the oldest are subtracted. Then the oldest is
// cleared and takes the next elements. It misses no duplicate of one of the last n
// elements, nor of an element of the same sub-window.
//
// Interpretation:
//
//   - Elements of the sub-window that is being filled are found too. Section 3.3 says
//     that the queried part of the stream ends before them. But then the filter would
//     miss duplicates that follow each other closely, which the paper calls the fault of
//     landmark windows, and it would always be fully populated, which section 7 denies.
//     So between n and Q n elements are queried, and the experiments size the
//     filter for the largest number.
//   - A query looks at the sum of the main filter and the one being filled, as for two
//     filters combined (section 5.2.4): a counter is zero if it is zero in both. Querying
//     the two filters one after the other would report less.
//   - Every element is inserted, whether it is reported as a duplicate or not (section
//     5.2.1), since a late duplicate has to outlive the sub-window of its first copy.
//   - The paper says nothing about a counter's width. A sub-window's counter that reaches
//     its largest value stays there. The main filter's counters have ceil(log2(Q)) bits
//     more, so that they hold the sum of Q of these. What is subtracted is what was
//     added, so no counter is zero too early or below zero. So a width of 1, which makes
//     the sub-windows plain Bloom filters, gives the same verdicts as any other.
type JumpingBloom struct {
	subs    counters // of all sub-windows, one filter after the other
	main    cells    // the sum of the complete sub-windows
	m       uint64
	windows uint64 // Q
	size    int    // n
	current uint64 // the sub-window being filled
	count   int    // its elements
	pos     []uint64
	bits    int
}

var _ Filter = (*JumpingBloom)(nil)

// NewJumpingBloom returns a filter of an empty window. Errors wrap [ErrParameter].
func NewJumpingBloom(c JumpingConfig) (*JumpingBloom, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	return &JumpingBloom{
		subs:    counters{newCells(c.SubWindows*c.Counters, c.CounterBits)},
		main:    newCells(c.Counters, c.mainBits()),
		m:       uint64(c.Counters),
		windows: uint64(c.SubWindows),
		size:    c.SubWindow,
		pos:     make([]uint64, c.D),
		bits:    c.Counters * c.bitsPerPosition(),
	}, nil
}

// TestAndSet implements [Filter]. It takes time proportional to M once a sub-window.
func (j *JumpingBloom) TestAndSet(d digest.Digest) (seen bool) {
	positions(j.pos, d, j.m)
	start := j.current * j.m
	seen = true
	for _, i := range j.pos {
		if j.main.get(i) == 0 && j.subs.get(start+i) == 0 {
			seen = false
			break
		}
	}
	for _, i := range j.pos {
		j.subs.increment(start + i)
	}
	if j.count++; j.count == j.size {
		j.jump()
	}
	return seen
}

// jump adds the complete sub-window to the main filter, subtracts the oldest, and starts
// a new one in its place. With one sub-window the two are the same.
func (j *JumpingBloom) jump() {
	oldest := (j.current + 1) % j.windows
	for i := range j.m {
		sum := j.main.get(i) + j.subs.get(j.current*j.m+i)
		j.main.put(i, sum-j.subs.get(oldest*j.m+i))
		j.subs.put(oldest*j.m+i, 0)
	}
	j.current, j.count = oldest, 0
}

// Bits implements [Filter]: the main filter and those of Q sub-windows.
func (j *JumpingBloom) Bits() int { return j.bits }

// SlidingConfig is what a counting Bloom filter over a sliding window is made from.
type SlidingConfig struct {
	Counters    int // M, from 1; Counters * CounterBits is at most 2^37
	CounterBits int // from 2 to 16; a counter's largest value is 2^CounterBits - 1
	D           int // hash functions, from 1 to 1024
	Window      int // N, from 1; Window * max(ElementBits, 128) is at most 2^37
	ElementBits int // that the queue's memory is accounted with, from 1 to 512
}

// digestBits is the size of a queue's entry in memory.
const digestBits = 128

func (c SlidingConfig) validate() error {
	if err := requireRange("counter bits", c.CounterBits, 2, maxCellBits); err != nil {
		return err
	}
	if err := requireRange("counters", c.Counters, 1, maxBits/2/c.CounterBits); err != nil {
		return err
	}
	if err := requireRange("D", c.D, 1, maxHashes); err != nil {
		return err
	}
	if err := requireRange("element bits", c.ElementBits, 1, 512); err != nil {
		return err
	}
	return requireRange("window", c.Window, 1, maxBits/2/max(c.ElementBits, digestBits))
}

// SlidingBloom is the counting Bloom filter over a sliding window of the last N elements
// of paper "Duplicate Detection in Click Streams" (Metwally, Agrawal, El Abbadi, WWW
// 2005), sections 3.1 and 5.2.3. An element is a duplicate if none of its d counters is
// zero. Every element increments its counters and enters a circular queue of the last N
// elements. The element that leaves the queue decrements its counters. It misses no
// duplicate of one of the last N elements.
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
//     value stays there, because it no longer tells how many elements it counts. This
//     costs false positives, never a miss. If elements are distinct and d N / M = ln(2),
//     1.6e-15 of 4-bit counters are that full at any time. But nothing ever clears them,
//     and an element that comes 15 times within a window fills all of its own: skewed
//     streams need wider counters; see [SlidingBloom.SaturatedShare].
//   - The queue's entries are the elements, 64 bytes in the paper's experiments. This
//     filter stores digests, but accounts for the memory with ElementBits for each.
type SlidingBloom struct {
	counters    counters
	m           uint64
	window      int
	elementBits int
	// queue grows to window digests as elements come; then oldest is the place of the one
	// that leaves next.
	queue  []digest.Digest
	oldest int
	pos    []uint64
}

var _ Filter = (*SlidingBloom)(nil)

// NewSlidingBloom returns a filter of an empty window. Errors wrap [ErrParameter].
func NewSlidingBloom(c SlidingConfig) (*SlidingBloom, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	return &SlidingBloom{
		counters:    counters{newCells(c.Counters, c.CounterBits)},
		m:           uint64(c.Counters),
		window:      c.Window,
		elementBits: c.ElementBits,
		pos:         make([]uint64, c.D),
	}, nil
}

// TestAndSet implements [Filter].
func (s *SlidingBloom) TestAndSet(d digest.Digest) (seen bool) {
	positions(s.pos, d, s.m)
	seen = allSet(&s.counters.cells, s.pos)
	leaving, full := s.enqueue(d)
	if full {
		positions(s.pos, leaving, s.m)
		for _, i := range s.pos {
			s.counters.release(i)
		}
		positions(s.pos, d, s.m)
	}
	for _, i := range s.pos {
		s.counters.increment(i)
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
func (s *SlidingBloom) SaturatedShare() float64 {
	full := 0
	for i := range s.m {
		if s.counters.get(i) == s.counters.top {
			full++
		}
	}
	return float64(full) / float64(s.m)
}

// Bits implements [Filter]: the counters and the queue.
func (s *SlidingBloom) Bits() int {
	return int(s.m*s.counters.width) + s.window*s.elementBits
}

// counters are the cells of a counting Bloom filter. A counter that reaches its largest
// value has lost count and stays there until it is cleared. Any other counter holds the
// exact number of increments minus releases. So no counter goes below zero, and none is
// zero too early.
type counters struct{ cells }

// increment adds one to counter i unless it has lost count.
func (c *counters) increment(i uint64) {
	if value := c.get(i); value < c.top {
		c.put(i, value+1)
	}
}

// release takes back one increment of counter i unless it has lost count.
func (c *counters) release(i uint64) {
	if value := c.get(i); value < c.top {
		c.put(i, value-1)
	}
}
