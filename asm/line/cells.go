// SPDX-License-Identifier: Apache-2.0

package line

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/layout"
)

var errParams = errors.New("parameter out of range")

// CellParams configures the lines of a stable Bloom filter.
type CellParams struct {
	// Bits is the width of a cell: 2 (256 cells in a line) or 4 (128).
	Bits int
	// Max is the value that an element sets its cells to, from 1 to 2^Bits - 1.
	Max int
	// K is the number of cells of an element, from 1 to MaxCellK.
	K int
	// MissP is the number of adjacent cells that are decremented when an element is not
	// found, from 1 to the number of cells in a line.
	MissP int
	// HitP is the same for elements that are found, from 0 to MissP.
	HitP int
}

// Cells returns how many cells a line has.
func (p CellParams) Cells() int { return 512 / p.Bits }

func (p CellParams) check() error {
	if p.Bits != 2 && p.Bits != 4 {
		return fmt.Errorf("line: cells have %d bits, must be 2 or 4: %w", p.Bits, errParams)
	}
	for _, v := range []struct {
		name             string
		value, low, high int
	}{
		{"Max", p.Max, 1, 1<<p.Bits - 1},
		{"K", p.K, 1, layout.MaxCellK},
		{"MissP", p.MissP, 1, p.Cells()},
		{"HitP", p.HitP, 0, p.MissP},
	} {
		if v.value < v.low || v.value > v.high {
			return fmt.Errorf("line: cell lines: %s is %d, must be from %d to %d: %w", v.name, v.value, v.low, v.high, errParams)
		}
	}
	return nil
}

// CellCounts are the counts that TestAndSetCells adds to.
type CellCounts struct {
	// NonZero grows by the cells that were zero before the call and are not after it,
	// less the cells for which the opposite holds. Counted from a filter without elements
	// it is the number of cells that are not zero.
	NonZero uint64
	// Missed counts the elements that were not found.
	Missed uint64
}

// TestAndSetCells looks up digests, in order, in a stable Bloom filter (Deng and Rafiei,
// "Approximately Detecting Duplicates for Streaming Data using Stable Bloom Filters",
// section 3.2) that does all work for an element in one line. It sets bit i of seen if
// none of the K cells of element i is zero, and clears the bits of the others in the
// words that cover len(digests) elements. It then decrements adjacent cells of the line
// that are not zero, HitP of them for an element that is found and MissP for others, and
// sets the element's K cells to Max.
//
// Element i lives in the line floor(digests[i][1] * len(lines) / 2^64) of N = 512 /
// Bits cells. With h(e) for byte e of digests[i][0], counted from the lowest byte, it
// has cells in the eighths e = (h(0) + o(j)) mod 8 of the line, or e = (h(0) - o(j)) mod
// 8 if h(5) is odd, for j < K and o = 0, 3, 1, 4, 7, 2, 5, 6, and in each of these the
// cell
//
//	floor(h(e) * (N/8) / 256)
//
// So an element owns each cell with equal probability, and at most one cell in each
// eighth. They depend on different bits of the digest.
//
// The decremented cells form a run through the bytes of a plane (layout/bits.go has the
// planes): with m = N/8, cell c of a run's order is bit floor(c/m) of byte m-1-c%m. So
// one unaligned load fetches the mask of a run. A run begins at cell floor(r1 * N /
// 2^64), where r1 is the random word of the element (see the package comment), and goes
// on with cell 0 after the last cell.
//
// The stable point. Let z be the share of cells that are zero, and f = (1-z)^K the rate
// at which new elements are found. An element decrements a cell with probability p =
// (MissP (1-f) + HitP f) / N and sets it with probability K / N. Whether an element that
// does not own the cell is found does not depend on the cell's value. So Theorem 2 of the
// paper holds with this p, and a stream of new elements approaches
//
//	z = (g / (g+1))^Max, g = (MissP (1-f) + HitP f) (1/K - 1/N), f = (1-z)^K
//
// An empty filter approaches the largest solution. With HitP = MissP it is the paper's
// stable point, and f the paper's bound on the false positive rate of all streams. With
// HitP = 0 frequent elements do not wear out their line. If Max is 1, a hit changes
// nothing, and f remains a bound. If Max is above 1, duplicates refresh their cells at no
// cost to others, and there is no bound: a stream with Zipf's distribution had up to 1.6
// times f with Max = 7 and K = 3. Then z = 0 is a solution, too, and attracts nearby
// states, since a line without zeros has no more misses. It is the only solution if MissP
// is small (below about 25 with Max = 7 and K = 3). Any HitP above 0 restores a bound:
// the paper's with P = HitP.
//
// It panics if lines is empty, or seen is too short. It takes constant time for
// each element and does not allocate.
func TestAndSetCells(lines []layout.Line, seen []uint64, digests []digest.Digest, position uint64, r *CellRule, c *CellCounts) {
	n := len(digests)
	checkArguments("TestAndSetCells", lines, seen, n)
	if n == 0 {
		return
	}
	c.Missed += uint64(n)
	var w pipeline
	w.elements = elements{kind: inLines, count: n, digests: digests, position: position, random: true}
	w.begin(lines)
	for at := range seen[:bitWords(n)] {
		current, ahead, size := w.next()
		r.pick.cells(current, size)
		found, filled := testAndSetCellBatch(lines, current, ahead, size, r)
		seen[at] = inOrder(found, size)
		c.NonZero += filled
		c.Missed -= uint64(bits.OnesCount64(found))
	}
}

// cellWindows is the size of a table of masks. The mask of a plane, of up to 32 bytes,
// begins at one of the first 256 bytes.
const cellWindows = 256 + 32

// CellRule is CellParams prepared for TestAndSetCells: 0.7 KiB of tables. It is immutable
// and may be shared.
type CellRule struct {
	pick       cellPick
	bits       uint64    // of a cell, the number of planes
	firstShift uint64    // shifts a random word right to the number of a cell
	max        [4]uint64 // the bits of Max, in all cells of a word of each plane
	// The bytes from run[f][c] on are the mask of a plane for a run that begins at
	// cell c: f is 1 for elements that are found, 0 for others.
	run [2][cellWindows]byte
}

// NewCellRule prepares p, or says which parameter is out of range.
func NewCellRule(p CellParams) (*CellRule, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	r := &CellRule{
		pick:       newCellPick(p.Cells(), p.K),
		bits:       uint64(p.Bits),
		firstShift: uint64(64 - bits.TrailingZeros(uint(p.Cells()))),
	}
	for plane := range r.max {
		r.max[plane] = -(uint64(p.Max) >> plane & 1)
	}
	fillCellWindows(&r.run[0], p.Cells(), p.MissP)
	fillCellWindows(&r.run[1], p.Cells(), p.HitP)
	return r, nil
}

// fillCellWindows fills the table: its bytes from c on have the cells c, c+1 and so on of
// a run. In a plane of m bytes, byte b has the cells m-1-b, 2m-1-b and so on. Their
// distance from c depends only on b+c, so masks can overlap.
func fillCellWindows(table *[cellWindows]byte, cells, run int) {
	m := cells / 8
	for at := range cells + m - 1 {
		for bit := range 8 {
			if distance := m*bit + m - 1 - at; (distance+cells)%cells < run {
				table[at] |= 1 << bit
			}
		}
	}
}

// cellPick chooses the cells of a line that an element owns, for the kernels of cells and
// timers: at most one in each eighth of the line, so that vectors compute eight cell
// numbers side by side. The kernels in assembly know its layout.
type cellPick struct {
	shift uint64 // shifts a byte right to the number of a cell in its eighth
	mask  uint64 // the bits of such a number, in each byte
	// none has cellNone in the bytes of the eighths without a cell, before their
	// rotation: in order and in reverse.
	none [2]uint64
}

// cellNone is the bit that is set where an eighth has no cell.
const cellNone = 0x80

// cellEighths is the order in which eighths get a cell. The distances between the first
// three are 1, 2 and 3, so no pair of eighths is frequent. In reverse the distances
// differ, so no three are.
var cellEighths = [layout.MaxCellK]int{0, 3, 1, 4, 7, 2, 5, 6}

func newCellPick(cells, k int) cellPick {
	wide := bits.TrailingZeros(uint(cells / 8))
	p := cellPick{
		shift: uint64(8 - wide),
		mask:  (1<<wide - 1) * 0x0101010101010101,
	}
	for _, eighth := range cellEighths[k:] {
		p.none[0] |= cellNone << (8 * eighth)
		p.none[1] |= cellNone << (8 * (-eighth & 7))
	}
	return p
}

// of returns the cells of the element whose digest has the low half low: byte e is the
// number of its cell in eighth e of the line, or has cellNone set.
func (p *cellPick) of(low uint64) uint64 {
	return low>>(p.shift&63)&p.mask | bits.RotateLeft64(p.none[low>>40&1], int(low<<3&63))
}

// cellsGeneric replaces the low halves of the first n elements of a batch by their cells.
func (p *cellPick) cellsGeneric(b *batch, n int) {
	for i, low := range b.low[:n] {
		b.low[i] = p.of(low)
	}
}

// testAndSetCellBatchGeneric looks up the n elements of current. It returns the elements
// found, shifted in from below, so that the last is bit 0, and the change of the
// number of cells that are not zero, modulo 2^64.
func testAndSetCellBatchGeneric(lines [][8]uint64, current, ahead *batch, n int, r *CellRule) (found, filled uint64) {
	touchLines(lines, ahead.offset[:])
	for i := range n {
		line, first := &lines[current.offset[i]/64], current.random[i]>>(r.firstShift&63)
		var seen, more uint64
		if r.bits == 2 {
			seen, more = r.testAndSet2(line, current.low[i], first&255)
		} else {
			seen, more = r.testAndSet4(line, current.low[i], first&127)
		}
		found = found<<1 | seen
		filled += more
	}
	return found, filled
}

// testAndSet2 handles an element of a line of two planes; seen is 1 or 0.
func (r *CellRule) testAndSet2(line *[8]uint64, pick, first uint64) (seen, filled uint64) {
	var own, before [4]uint64
	var lack uint64
	for w := range own {
		own[w] = 1<<(pick&0xff) | 1<<(pick>>8&0xff)<<32
		before[w] = line[w] | line[w+4]
		lack |= own[w] &^ before[w]
		pick >>= 16
	}
	seen = isZero(lack)
	run := r.run[seen&1][first:][:32]
	for w, mine := range own {
		lose := before[w] & binary.LittleEndian.Uint64(run[8*w:])
		a := line[w] ^ lose
		b := line[w+4] ^ lose&a
		filled += uint64(bits.OnesCount64(a|b|mine)) - uint64(bits.OnesCount64(before[w]))
		line[w] = a&^mine | r.max[0]&mine
		line[w+4] = b&^mine | r.max[1]&mine
	}
	return seen, filled
}

// testAndSet4 handles an element of a line of four planes.
func (r *CellRule) testAndSet4(line *[8]uint64, pick, first uint64) (seen, filled uint64) {
	var own, before [2]uint64
	var lack uint64
	for w := range own {
		own[w] = 1<<(pick&0xff) | 1<<(pick>>8&0xff)<<16 | 1<<(pick>>16&0xff)<<32 | 1<<(pick>>24&0xff)<<48
		before[w] = line[w] | line[w+2] | line[w+4] | line[w+6]
		lack |= own[w] &^ before[w]
		pick >>= 32
	}
	seen = isZero(lack)
	run := r.run[seen&1][first:][:16]
	for w, mine := range own {
		lose := before[w] & binary.LittleEndian.Uint64(run[8*w:])
		after := mine
		for plane := range r.max {
			word := &line[w+2*plane]
			bit := *word ^ lose
			lose &= bit
			after |= bit
			*word = bit&^mine | r.max[plane]&mine
		}
		filled += uint64(bits.OnesCount64(after)) - uint64(bits.OnesCount64(before[w]))
	}
	return seen, filled
}
