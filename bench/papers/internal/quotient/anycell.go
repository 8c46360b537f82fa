package quotient

import (
	"fmt"
	"math/bits"
	"math/rand/v2"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/theory"
)

// anyCell is the stable Bloom filter with the fault that the paper's column has: an
// element is reported if any of its two cells is not zero, instead of both. With the
// share x of cells that are not zero, 1-(1-x)^2 of the new elements are reported and not
// x^2. Everything else is as in [paper.Stable], with the P of the formula rounded down.
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

// decrement decrements P cells from a random one on, going on at the start of the array.
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
