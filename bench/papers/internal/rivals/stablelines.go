package rivals

import (
	"fmt"
	"math/rand/v2"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/paper"
)

// StableLinesConfig is what a stable Bloom filter in lines is made from.
type StableLinesConfig struct {
	Lines    int    // at least 1
	CellBits int    // from 1 to 8; a cell's largest value is 2^CellBits - 1
	K        int    // parts of a line with one cell of an element each, from 1 to 64
	P        int    // cells decremented for each element, from 1 to those of a line
	Seed     uint64 // of the decrements
}

func (c StableLinesConfig) cells() int { return lineBits / c.CellBits }

func (c StableLinesConfig) validate() error {
	if err := requireRange("CellBits", c.CellBits, 1, 8); err != nil {
		return err
	}
	if err := requireRange("K", c.K, 1, 64); err != nil {
		return err
	}
	if err := requireRange("P", c.P, 1, c.cells()); err != nil {
		return err
	}
	return requireRange("Lines", c.Lines, 1, maxBits/lineBits)
}

// StableLines is a stable Bloom filter (Deng, Rafiei, SIGMOD 2006) whose elements have
// their K cells and the P neighboring ones that they decrement in one line of 512 bits:
// [paper.Stable] for each line, with its cells in K parts. Each line runs on a clock of
// its own, so it comes to the same stable point however the elements are spread over
// lines.
type StableLines struct {
	config StableLinesConfig
	cells  []uint8
	random *rand.Rand
	at     []int // of the element's cells in its line
}

// NewStableLines returns a filter whose cells are all zero. Errors wrap
// [paper.ErrParameter].
func NewStableLines(c StableLinesConfig) (*StableLines, error) {
	if err := c.validate(); err != nil {
		return nil, fmt.Errorf("stable Bloom filter in lines: %w", err)
	}
	return &StableLines{
		config: c,
		cells:  make([]uint8, c.Lines*c.cells()),
		random: rand.New(rand.NewPCG(c.Seed, 0)),
		at:     make([]int, c.K),
	}, nil
}

var _ paper.Filter = (*StableLines)(nil)

// TestAndSet implements [paper.Filter], in time proportional to K + P.
func (s *StableLines) TestAndSet(d digest.Digest) (seen bool) {
	p, n := hashesOf(d, s.config.Lines), s.config.cells()
	line, part := s.cells[int(p.line)*n:(int(p.line)+1)*n], n/s.config.K
	seen = true
	for i := range s.at {
		s.at[i] = i*part + int(p.at(i, uint64(part)))
		seen = seen && line[s.at[i]] > 0
	}
	first := s.random.IntN(n)
	for i := range s.config.P {
		cell := &line[(first+i)%n]
		*cell -= min(*cell, 1)
	}
	for _, i := range s.at {
		line[i] = 1<<s.config.CellBits - 1
	}
	return seen
}

// Bits implements [paper.Filter].
func (s *StableLines) Bits() int { return s.config.Lines * lineBits }
