package quotient

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/theory"
)

// anyCell is the stable Bloom filter with the fault of the paper's column: it reports an
// element if any of its two cells is above zero, instead of both. If a share x of the
// cells is above zero, it reports 1-(1-x)^2 of the new elements, not x^2. Everything else
// is as in [paper.Stable], with the P of the formula rounded down.
type anyCell struct {
	cells  []uint8
	decay  int // P
	random *rand.Rand
}

const (
	stableBits   = 2 // of a cell
	stableMax    = 1<<stableBits - 1
	stableHashes = 2
	stableTarget = 0.02 // the false positive rate asked for
)

func newAnyCell(memory int, seed uint64) (*anyCell, error) {
	cells := memory / stableBits
	decay, err := theory.StablePExact(cells, stableHashes, stableMax, stableTarget)
	if err != nil {
		return nil, fmt.Errorf("stable Bloom filter: %w", err)
	}
	return &anyCell{cells: make([]uint8, cells), decay: min(int(decay), cells), random: rand.New(rand.NewPCG(seed, 5))}, nil
}

func (a *anyCell) TestAndSet(d digest.Digest) (seen bool) {
	first, second := a.position(d[0]), a.position(d[1])
	seen = a.cells[first] > 0 || a.cells[second] > 0
	a.decrement()
	a.cells[first], a.cells[second] = stableMax, stableMax
	return seen
}

// decrement decrements P cells from a random one on, and wraps around at the end of the
// array.
func (a *anyCell) decrement() {
	from := a.random.IntN(len(a.cells))
	end := min(from+a.decay, len(a.cells))
	for _, part := range [][]uint8{a.cells[from:end], a.cells[:a.decay-(end-from)]} {
		for i, c := range part {
			part[i] = c - min(c, 1)
		}
	}
}

func (a *anyCell) position(x uint64) uint64 {
	position, _ := bits.Mul64(x, uint64(len(a.cells)))
	return position
}

func (a *anyCell) Bits() int { return len(a.cells) * stableBits }

// delayed is the block decaying Bloom filter with delayed decrements: instead of
// decrementing all counters after each block, it counts blocks modulo half the range of a
// counter, and a counter is live if it is larger than that running one; all are lowered
// when the running one returns to zero.
//
// The paper's column has a fault: a counter is live there if it is as large as the
// running one. So while that is zero, counters of zero are live, and every element is
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
// hash functions, which is the best number for M/bits counters.
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
// constant step many elements would have only a few counters, since m has many divisors.
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
