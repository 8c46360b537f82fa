package asm

import (
	"encoding/binary"
	"math/bits"
)

func testAndSetCellsGeneric(lines [][8]uint64, seen []uint64, digests []Digest, positions []uint64, r *CellRule, c *CellCounts) {
	var index [64]uint64
	for w := 0; len(digests) > 0; w++ {
		n := min(64, len(digests))
		touchLines(lines, digests[:n], &index)
		var word uint64
		for i, d := range digests[:n] {
			if r.testAndSet(&lines[index[i&63]], d[0], positions[i], c) {
				word |= 1 << (i & 63)
			}
		}
		seen[w] = word
		digests, positions = digests[n:], positions[n:]
	}
}

// testAndSet takes one element.
func (r *CellRule) testAndSet(line *[8]uint64, low, position uint64, c *CellCounts) (seen bool) {
	var at [MaxCellK]uint64
	seen = true
	for j := range int(r.parts.k) {
		at[j&7] = r.parts.cell(low, j)
		word, mask := r.place(at[j&7])
		seen = seen && line[word]&mask != 0
	}
	first := cellRandom(low, position) >> (r.randomShift & 63)
	if !seen {
		c.NonZero -= r.decrement(line, &r.miss, first)
	} else if r.hitP > 0 {
		c.NonZero -= r.decrement(line, &r.hit, first)
	}
	for _, cell := range at[:r.parts.k] {
		word, mask := r.place(cell)
		if line[word]&mask == 0 {
			c.NonZero++
		}
		line[word] = line[word]&^mask | r.max&mask
	}
	return seen
}

// place returns the word of a line that a cell lies in, and the cell's bits of it.
func (r *CellRule) place(cell uint64) (word, mask uint64) {
	at := 63 - cell&63
	shift := at&7*8 + cell>>6*r.bits
	return at >> 3, (1<<r.bits - 1) << (shift & 63)
}

// decrement takes one off the cells of a run, and returns how many are zero by that.
func (r *CellRule) decrement(line *[8]uint64, runs *[cellWindows]byte, first uint64) (emptied uint64) {
	run := runs[first&255:][:64]
	for w := range line {
		before := line[w]
		filled := r.nonZero(before)
		after := before - filled&binary.LittleEndian.Uint64(run[8*w:])
		line[w] = after
		emptied += uint64(bits.OnesCount64(filled &^ r.nonZero(after)))
	}
	return emptied
}

// nonZero returns the lowest bits of the cells in a word that are not zero.
func (r *CellRule) nonZero(word uint64) uint64 {
	word |= word >> 1
	if r.bits == 4 {
		word |= word >> 2
	}
	return word & r.low
}
