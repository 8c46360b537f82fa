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
	for j := range k {
		start, end := j*n/k, (j+1)*n/k
		cells = append(cells, start+scaledTo(low*bitSalts[j]>>32<<32, end-start))
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
	x := d[0] ^ position*0x9e3779b97f4a7c15
	for range 2 {
		x = (x ^ x>>32) * 0x94d049bb133111eb
	}
	first, run := scaledTo(x, len(line)), m.p.MissP
	if seen {
		run = m.p.HitP
	}
	for i := range run {
		c := &line[(first+i)%len(line)]
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

// line returns the words that a line must hold.
func (m *cellModel) line(i int) (w [8]uint64) {
	for c, v := range m.lines[i] {
		at := 63 - c%64
		w[at/8] |= uint64(v) << (at%8*8 + c/64*m.p.Bits)
	}
	return w
}
