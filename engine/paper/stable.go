// SPDX-License-Identifier: Apache-2.0

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
	// adjacent cells. It takes time in the order of P^2.
	Independent bool
	// Reach is the number of cells that decrements begin at, from the first on, at least
	// P; 0 stands for all. With 2^31 of 2^32 the filter has the rates that Bera et al.
	// print for 512 MB.
	Reach int
}

// Stable is the stable Bloom filter (SBF) of DR06, section 3.2, Algorithm 1. An element
// is a duplicate if none of its K cells is zero. Every element then decrements P cells
// and sets its K cells to Max.
//
// Interpretation:
//
//   - Decrements and settings happen for every element, reported duplicate or not. The
//     indentation of Algorithm 1 has them for distinct elements only. But the proofs of
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
	hashed
	p       int
	reach   uint64
	decayed []uint64 // cells that this element decremented; nil if they are adjacent
	random  draws
}

var _ Filter = (*Stable)(nil)

// NewStable returns a filter whose cells are all zero. Errors wrap [ErrParameter].
func NewStable(c StableConfig) (*Stable, error) {
	reach := cmp.Or(c.Reach, c.Cells)
	if err := cmp.Or(
		requireRange("cell bits", c.CellBits, 1, maxCellBits),
		requireRange("K", c.K, 1, maxHashes),
		requireRange("cells", c.Cells, c.K+1, maxBits/max(1, c.CellBits)),
		requireRange("P", c.P, 1, c.Cells),
		requireRange("reach", reach, c.P, c.Cells),
	); err != nil {
		return nil, err
	}
	s := &Stable{
		hashed: newHashed(c.Cells, c.CellBits, c.K),
		p:      c.P,
		reach:  uint64(reach),
		random: newDraws(c.Seed),
	}
	if c.Independent {
		s.decayed = make([]uint64, 0, c.P)
	}
	return s, nil
}

// TestAndSet implements [Filter].
func (s *Stable) TestAndSet(d digest.Digest) (seen bool) {
	s.locate(d)
	return s.testAndSetAt(s.pos)
}

// testAndSetAt implements located.
func (s *Stable) testAndSetAt(pos []uint64) (seen bool) {
	seen = s.allSet(pos)
	s.decay()
	s.fill(pos)
	return seen
}

// foresee implements foreseer. The cells to decrement are read ahead, too: the filter has
// to know which are not zero.
func (s *Stable) foresee(indexes []uint64, digests []digest.Digest) ([]uint64, *cells) {
	indexes, memory := s.hashed.foresee(indexes, digests)
	random := s.random.ahead(len(digests))
	for range digests {
		indexes = append(indexes, random.below(s.reach))
	}
	return indexes, memory
}

// decay decrements P cells.
func (s *Stable) decay() {
	if s.decayed != nil {
		s.decayApart()
		return
	}
	i := s.random.below(s.reach)
	if s.width == 1 {
		s.clearRun(i, s.p)
		return
	}
	for range s.p {
		s.add(i, down, 0)
		if i++; i == s.count {
			i = 0
		}
	}
}

// decayApart decrements P different cells.
func (s *Stable) decayApart() {
	s.decayed = s.decayed[:0]
	for len(s.decayed) < s.p {
		if i := s.random.below(s.reach); !slices.Contains(s.decayed, i) {
			s.add(i, down, 0)
			s.decayed = append(s.decayed, i)
		}
	}
}

// Zeros returns the share of cells that are zero, whose limit is the stable
// point (section 3.4). It reads the whole array.
func (s *Stable) Zeros() float64 { return 1 - s.Load() }

// Load returns the share of cells that are not zero. It reads the whole array.
func (s *Stable) Load() float64 { return s.share(1) }
