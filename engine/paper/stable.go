package paper

import (
	"cmp"
	"slices"

	"github.com/flowdedup/flowdedup/asm/digest"
)

// StableConfig says which stable Bloom filter to build.
type StableConfig struct {
	Cells    int    // m, more than K; Cells * CellBits is at most 2^38
	CellBits int    // d, from 1 to 16; a cell's largest value Max is 2^d - 1
	K        int    // hash functions, from 1 to 1024
	P        int    // cells decremented for each element, from 1 to Cells
	Seed     uint64 // of the decrements
	// Independent draws P different cells for each element, as Algorithm 1 has it, and not
	// adjacent ones. It takes time in the order of P^2.
	Independent bool
	// Reach is how many cells decrements begin at, from the first on, at least P; 0 stands
	// for all.
	// With 2^31 of 2^32 the filter has the rates that Bera et al. print for 512 MB.
	Reach int
}

func (c StableConfig) validate() error {
	if err := requireRange("cell bits", c.CellBits, 1, maxCellBits); err != nil {
		return err
	}
	if err := requireRange("K", c.K, 1, maxHashes); err != nil {
		return err
	}
	if err := requireRange("cells", c.Cells, c.K+1, maxBits/c.CellBits); err != nil {
		return err
	}
	if err := requireRange("P", c.P, 1, c.Cells); err != nil {
		return err
	}
	return requireRange("reach", cmp.Or(c.Reach, c.Cells), c.P, c.Cells)
}

// Stable is the stable Bloom filter (SBF) of paper "Approximately Detecting Duplicates
// for Streaming Data using Stable Bloom Filters" (Deng, Rafiei, SIGMOD 2006), section
// 3.2, Algorithm 1. An element is a duplicate if none of its K cells is zero. Every
// element then decrements P cells and sets its K cells to Max.
//
// Interpretation:
//
//   - Decrements and settings happen for every element, reported duplicate or not. The
//     indentation of Algorithm 1 has them for distinct ones only. But the proofs of
//     section 3.3 (each iteration has all three operations) and the measured rates of the
//     tables need them for every element.
//   - The P cells are adjacent, from one uniformly random position on (section 5.2, "SBF
//     Implementation"), and wrap around at the end of the array. Algorithm 1 draws P
//     different cells; see Independent of [StableConfig].
//   - The K hash functions share the whole array.
//   - Positions reach all cells, unless Reach says otherwise.
//
// The time for an element grows with K + P.
type Stable struct {
	cells   cells
	m       uint64
	p       int
	reach   uint64
	pos     []uint64
	decayed []uint64 // cells that this element decremented; nil for adjacent ones
	random  lookahead
}

var _ Filter = (*Stable)(nil)

// NewStable returns a filter whose cells are all zero. Errors wrap [ErrParameter].
func NewStable(c StableConfig) (*Stable, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	s := &Stable{
		cells:  newCells(c.Cells, c.CellBits),
		m:      uint64(c.Cells),
		p:      c.P,
		reach:  uint64(cmp.Or(c.Reach, c.Cells)),
		pos:    make([]uint64, c.K),
		random: newLookahead(c.Seed),
	}
	if c.Independent {
		s.decayed = make([]uint64, 0, c.P)
	}
	return s, nil
}

// TestAndSet implements [Filter].
func (s *Stable) TestAndSet(d digest.Digest) (seen bool) {
	positions(s.pos, d, s.m)
	seen = true
	for _, i := range s.pos {
		seen = seen && s.cells.get(i) > 0
	}
	s.decay()
	for _, i := range s.pos {
		s.cells.put(i, s.cells.top)
	}
	return seen
}

// prefetch implements prefetcher.
func (s *Stable) prefetch(digests []digest.Digest) (sum uint64) {
	random := s.random.peek()
	for _, d := range digests {
		sum += s.cells.load(random.Uint64N(s.reach))
		positions(s.pos, d, s.m)
		for _, i := range s.pos {
			sum += s.cells.load(i)
		}
	}
	return sum
}

// decay decrements P cells.
func (s *Stable) decay() {
	if s.decayed != nil {
		s.decayApart()
		return
	}
	i := s.random.Uint64N(s.reach)
	for range s.p {
		s.cells.decrement(i)
		if i++; i == s.m {
			i = 0
		}
	}
}

// decayApart decrements P different cells.
func (s *Stable) decayApart() {
	s.decayed = s.decayed[:0]
	for len(s.decayed) < s.p {
		if i := s.random.Uint64N(s.reach); !slices.Contains(s.decayed, i) {
			s.cells.decrement(i)
			s.decayed = append(s.decayed, i)
		}
	}
}

// Zeros returns the share of cells that are zero, whose limit is the stable
// point (section 3.4). It reads the whole array.
func (s *Stable) Zeros() float64 {
	zeros := 0
	for i := range s.m {
		if s.cells.get(i) == 0 {
			zeros++
		}
	}
	return float64(zeros) / float64(s.m)
}

// Bits implements [Filter].
func (s *Stable) Bits() int { return int(s.m * s.cells.width) }
