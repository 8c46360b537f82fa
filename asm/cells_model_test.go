package asm

import "math/big"

// cellModel is the contract of TestAndSetCells with a number for each cell.
type cellModel struct {
	p       CellParams
	lines   [][]int
	nonZero int
}

func newCellModel(p CellParams, lines int) *cellModel {
	m := &cellModel{p: p}
	for range lines {
		m.lines = append(m.lines, make([]int, p.Cells()))
	}
	return m
}

// scaledTo returns floor(x * n / 2^64).
func scaledTo(x uint64, n int) int {
	product := new(big.Int).Mul(new(big.Int).SetUint64(x), big.NewInt(int64(n)))
	return int(product.Rsh(product, 64).Int64())
}

// modelCells returns an element's cells in a line of n.
func modelCells(low uint64, n, k int) (cells []int) {
	h := func(e int) int { return int(low >> (8 * e) & 255) }
	for _, o := range []int{0, 3, 1, 4, 7, 2, 5, 6}[:k] {
		if h(5)%2 == 1 {
			o = -o
		}
		e := (h(0) + o + 8) % 8
		cells = append(cells, e*n/8+h(e)*(n/8)/256)
	}
	return cells
}

func (m *cellModel) testAndSet(d Digest, position uint64) (seen bool) {
	line := m.lines[scaledTo(d[1], len(m.lines))]
	own := modelCells(d[0], len(line), m.p.K)
	seen = true
	for _, c := range own {
		seen = seen && line[c] > 0
	}
	first, run := scaledTo(prng(d[0], position), len(line)), m.p.MissP
	if seen {
		run = m.p.HitP
	}
	for i := range run {
		c := &line[m.bit((first+i)%len(line))]
		if *c == 1 {
			m.nonZero--
		}
		*c = max(0, *c-1)
	}
	for _, c := range own {
		if line[c] == 0 {
			m.nonZero++
		}
		line[c] = m.p.Max
	}
	return seen
}

// bit returns the bit of a plane, and so the cell, with number c of the order of runs.
func (m *cellModel) bit(c int) int {
	bytes := m.p.Cells() / 8
	return 8*(bytes-1-c%bytes) + c/bytes
}

// line returns the words that a line must hold.
func (m *cellModel) line(i int) (w [8]uint64) {
	for c, v := range m.lines[i] {
		for plane := range m.p.Bits {
			at := plane*m.p.Cells() + c
			w[at/64] |= uint64(v) >> plane & 1 << (at % 64)
		}
	}
	return w
}
