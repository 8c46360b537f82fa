package paper

import (
	"fmt"
	"math/bits"
	"math/rand/v2"

	"github.com/flowdedup/flowdedup/asm/digest"
)

// SQFConfig is what a streaming quotient filter is made from.
type SQFConfig struct {
	Bits        int    // M, the memory in bits, up to 2^38, of which a power of two of rows is used
	Cells       int    // k, the cells of a row, from 1 to S = 2^r' (r-r'+1)
	Remainder   int    // r, the hash bits whose weight is taken, from 2
	Fingerprint int    // r', how many of them are stored as they are, from 1 to r-1
	Seed        uint64 // of the random evictions
}

// SQF is the streaming quotient filter (Dutta, Narang, Bera, VLDB 2013) as paper
// "Quotient Hash Tables - Efficiently Detecting Duplicates in Streaming Data" (Géraud,
// Lombard-Platet, Naccache, SAC 2019) gives it in section 2.4: 2^q rows of k cells. A
// fingerprint is the r' low bits of r hash bits and the number of ones among all r. It
// takes r' + ceil(log2(r+1)) bits, but only 2^r' (r-r'+1) of their values occur.
// Insertion and eviction are those of [QHT].
//
// Interpretation: q is the largest that fits the memory, so that up to half of it is
// unused; at 3-bit cells this is most of QHT's lead over SQF in the paper's Table 2. A
// value that cannot occur (remainder bits that are all ones, with a weight of 0) stands
// for an empty cell and is stored as 0 (footnote of section 4.4.1). This needs an r' of
// at least 1.
type SQF struct {
	table         quotientTable
	remainderMask uint64
	reducedMask   uint64
	weightBits    int
	random        *rand.Rand
}

var _ Filter = (*SQF)(nil)

// NewSQF returns an empty filter; errors wrap [ErrParameter].
func NewSQF(c SQFConfig) (*SQF, error) {
	if err := requireRange("Remainder", c.Remainder, 2, maxCellBits); err != nil {
		return nil, err
	}
	if err := requireRange("Fingerprint", c.Fingerprint, 1, c.Remainder-1); err != nil {
		return nil, err
	}
	weightBits := bits.Len(uint(c.Remainder)) // ceil(log2(r+1))
	width := c.Fingerprint + weightBits
	if err := requireRange("cell width", width, 1, maxCellBits); err != nil {
		return nil, err
	}
	distinct := (c.Remainder - c.Fingerprint + 1) << c.Fingerprint
	if err := requireRange("Cells", c.Cells, 1, distinct); err != nil {
		return nil, fmt.Errorf("a row of different fingerprints: %w", err)
	}
	if err := requireRange("Bits", c.Bits, c.Cells*width, maxBits); err != nil {
		return nil, fmt.Errorf("at least one row: %w", err)
	}
	return &SQF{
		table:         newQuotientTable(floorPowerOfTwo(c.Bits/(c.Cells*width)), c.Cells, width),
		remainderMask: 1<<c.Remainder - 1,
		reducedMask:   1<<c.Fingerprint - 1,
		weightBits:    weightBits,
		random:        newRandom(c.Seed),
	}, nil
}

// TestAndSet implements [Filter].
func (s *SQF) TestAndSet(d digest.Digest) (seen bool) {
	row, fingerprint := s.table.row(d[1]), s.fingerprint(d[0])
	if _, seen = s.table.find(row, fingerprint); !seen {
		s.table.insert(row, fingerprint, s.random)
	}
	return seen
}

// fingerprint returns the reduced remainder, inverted so that no fingerprint is
// 0, and the remainder's weight.
func (s *SQF) fingerprint(x uint64) uint64 {
	weight := uint64(bits.OnesCount64(x & s.remainderMask))
	return (^x&s.reducedMask)<<s.weightBits | weight
}

// Bits implements [Filter]: the memory of the rows in use.
func (s *SQF) Bits() int { return s.table.bits() }
