package quotient

import (
	"fmt"
	"github.com/flowdedup/flowdedup/asm/digest"
	"math"
	"math/bits"
)

// delayed is the block decaying Bloom filter with delayed decrements: instead of
// decrementing all counters after each block, it counts blocks modulo half the range of
// a counter, and a counter is live if it is larger than that running one; all are lowered
// when the running one comes round to zero.
//
// The paper's column has a fault: a counter is live there if it is as large as the running
// one. So while that is zero, counters that are zero are live, and every element is
// reported.
type delayed struct {
	counters []uint32
	width    int    // bits of a counter, and the number of hash functions
	half     uint32 // 2^(width-1), the running counter's period
	block    int    // elements of a block
	reach    uint32 // for how many further blocks a counter is live
	margin   uint32 // by which a live counter is larger than the running one: 1, or 0 with the fault
	running  uint32
	left     int // elements until the running counter moves
	pos      []uint64
}

// newDelayed returns a filter with counters of ceil(sqrt(M ln(2) / W)) bits and as many
// hash functions, which is the best number for the M/bits counters that there are then.
func newDelayed(memory, window int, faulty bool) (*delayed, error) {
	width := int(math.Ceil(math.Sqrt(float64(memory) * math.Ln2 / float64(window))))
	if width < 2 || width > 31 {
		return nil, fmt.Errorf("b_DBF: counters of %d bits, must be from 2 to 31, by the memory of %d bits for a window of %d", width, memory, window)
	}
	half := 1 << (width - 1)
	block := (window-1)/(half-1) + 1
	f := &delayed{
		counters: make([]uint32, memory/width), width: width, half: uint32(half),
		block: block, reach: uint32((window-1)/block + 1), margin: 1, pos: make([]uint64, width),
	}
	if faulty {
		f.reach, f.margin = uint32(window/block+1), 0
	}
	return f, nil
}

func (f *delayed) TestAndSet(d digest.Digest) (seen bool) {
	f.locate(d)
	seen = true
	for _, i := range f.pos {
		seen = seen && f.counters[i] >= f.running+f.margin
	}
	if f.left == 0 {
		f.left = f.block
		f.advance()
	}
	f.left--
	for _, i := range f.pos {
		f.counters[i] = f.running + f.reach + f.margin
	}
	return seen
}

// advance begins a block.
func (f *delayed) advance() {
	if f.running++; f.running < f.half {
		return
	}
	f.running = 0
	for i, c := range f.counters {
		f.counters[i] = max(c, f.half) - f.half
	}
}

// locate sets pos by enhanced double hashing, as the filters of engine/paper do: with a
// constant step many elements would have a few counters only, m having many divisors.
func (f *delayed) locate(d digest.Digest) {
	m := uint64(len(f.counters))
	at, _ := bits.Mul64(d[1], m)
	step, _ := bits.Mul64(d[0], m)
	for i := range f.pos {
		f.pos[i] = at
		if at += step; at >= m {
			at -= m
		}
		step = (step + uint64(i) + 1) % m
	}
}

func (f *delayed) Bits() int { return len(f.counters) * f.width }
