// SPDX-License-Identifier: Apache-2.0

package paper

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sort"
)

// maxSemiSortCells bounds the cells of a semi-sorted row, and so the time to encode it.
const maxSemiSortCells = 64

// SemiSort encodes rows of k cells of s bits without their order, as GLN19, section 3.3,
// adopts from cuckoo filters: an empty cell counts as fingerprint 0, the cells are
// sorted, and the sorted row is encoded as a number. There are C(2^s+k-1, k) sorted rows.
// For k = s = 4 these are 3876, which 12 bits can distinguish instead of 16.
//
// The number is the row's rank in the combinatorial number system: with the cells in
// ascending order a(0) <= ... <= a(k-1), the sum of C(a(i)+i, i+1). The empty row is 0.
//
// The encoding loses the order of the cells. A [QHT] does not need it, since its rows are
// sets and its evictions are random. The queues of a QQHTD do need it.
//
// Interpretation: any row of fingerprints can be encoded, even one with equal
// fingerprints, as in the paper's count. A QHT has no fingerprint except 0 twice in a
// row, so its own rows would be fewer: 1941, or 11 bits, in the example.
type SemiSort struct {
	cells, cellBits int
	choose          [][]uint64 // choose[i][n] is C(n, i+1)
	codes           uint64
}

// NewSemiSort returns the encoding for rows of cells cells, from 1 to 64, of cellBits
// bits, from 1 to 16. The codes must fit 64 bits, which allows 4 cells of 16 bits and 11
// of 8 bits. It takes 8 cells (2^cellBits + cells) bytes. Errors wrap [ErrParameter].
func NewSemiSort(cells, cellBits int) (*SemiSort, error) {
	if err := cmp.Or(
		requireRange("CellBits", cellBits, 1, maxCellBits),
		requireRange("Cells", cells, 1, maxSemiSortCells),
	); err != nil {
		return nil, err
	}
	s := &SemiSort{cells: cells, cellBits: cellBits, choose: make([][]uint64, cells)}
	column := slices.Repeat([]uint64{1}, 1<<cellBits+cells) // C(n, 0)
	for i := range cells {
		column = nextBinomials(column)
		s.choose[i] = column
		if s.codes = column[1<<cellBits+i]; s.codes == math.MaxUint64 {
			return nil, fmt.Errorf("codes of 64 bits at most: %w", requireRange("Cells", cells, 1, i))
		}
	}
	return s, nil
}

// nextBinomials returns C(n, i+1) from C(n, i), for n from 0. A value above 64 bits is
// MaxUint64.
func nextBinomials(column []uint64) []uint64 {
	next := make([]uint64, len(column))
	for n := 1; n < len(next); n++ {
		sum, carry := bits.Add64(next[n-1], column[n-1], 0)
		if carry != 0 {
			sum = math.MaxUint64
		}
		next[n] = sum
	}
	return next
}

// Codes returns the number of sorted rows, C(2^s+k-1, k). Codes are below it.
func (s *SemiSort) Codes() uint64 { return s.codes }

// Bits returns the bits of a code, ceil(log2 Codes).
func (s *SemiSort) Bits() int { return bits.Len64(s.codes - 1) }

// encode sorts row, which has k fingerprints below 2^s, and returns its code.
func (s *SemiSort) encode(row []uint64) (code uint64) {
	slices.Sort(row)
	for i, fingerprint := range row {
		code += s.choose[i][fingerprint+uint64(i)]
	}
	return code
}

// decode fills row, which has k cells, with the fingerprints of a code in ascending order.
// It takes, from the last cell on, the largest binomial that the code holds.
func (s *SemiSort) decode(code uint64, row []uint64) {
	for i := s.cells - 1; i >= 0; i-- {
		column := s.choose[i][:1<<s.cellBits+i]
		n := sort.Search(len(column), func(n int) bool { return column[n] > code }) - 1
		code -= column[n]
		row[i] = uint64(n - i)
	}
}

// NewSemiSortedQHT returns a [QHT] of floor(M/b) semi-sorted rows, where b is
// [SemiSort.Bits]. The same memory has more semi-sorted rows than plain rows.
//
// With as many rows it holds the same fingerprints and reports the same, until a row is
// full. Then each evicts the fingerprint of a uniformly random cell, but here the cells
// are in sorted order. So the two have the same error rates, but even with the same seed
// their errors differ, unless a row is one cell.
//
// Interpretation: the paper gives no algorithm. A row is decoded, changed as by Algorithm
// 1 and encoded again, which takes time proportional to k s. Errors wrap [ErrParameter].
func NewSemiSortedQHT(c QHTConfig) (*QHT, error) {
	encoding, err := NewSemiSort(c.Cells, c.CellBits)
	if err != nil {
		return nil, err
	}
	return c.newQHT(false, false, encoding)
}
