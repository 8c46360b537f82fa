package asm

import (
	"math/big"
	"slices"
)

// timedModel is the contract of TestAndSetTimed without packed words.
type timedModel struct {
	p     TimedParams
	lines [][]modelCell // newest first
	c     TimedCounts
}

type modelCell struct {
	fp    uint64
	point uint64
	tick  *big.Int // 0 to 2^TickBits - 1
}

func newTimedModel(p TimedParams, lines int) *timedModel {
	return &timedModel{p: p, lines: make([][]modelCell, lines)}
}

func power(n uint) *big.Int { return new(big.Int).Lsh(big.NewInt(1), n) }

// after returns how far b lies after a, modulo 2^TickBits.
func (m *timedModel) after(a, b *big.Int) *big.Int {
	d := new(big.Int).Sub(b, a)
	return d.Mod(d, power(m.p.TickBits))
}

func (m *timedModel) within(a, b *big.Int) bool {
	w := big.NewInt(m.p.Window)
	return m.after(a, b).Cmp(w) <= 0 || m.after(b, a).Cmp(w) <= 0
}

// era returns the number of the era that t lies in.
func (m *timedModel) era(t int64) uint64 {
	d := new(big.Int).Sub(big.NewInt(t), big.NewInt(m.p.Origin))
	d.Mod(d, power(64))
	return d.Rsh(d, m.p.TickBits-1).Uint64()
}

// pack returns a cell as one number.
func (m *timedModel) pack(c modelCell) *big.Int {
	v := new(big.Int).SetUint64(c.fp)
	v.Lsh(v, m.p.PointBits).Or(v, new(big.Int).SetUint64(c.point))
	return v.Lsh(v, m.p.TickBits).Or(v, c.tick)
}

// word returns what a cell leaves in a word of its own.
func (m *timedModel) word(c modelCell) uint64 {
	v := m.pack(c)
	low := new(big.Int).Mod(v, power(64-m.p.FPBits)).Uint64()
	return c.fp<<(64-m.p.FPBits) | low
}

// high returns the rest of a cell.
func (m *timedModel) high(c modelCell) uint64 {
	v := new(big.Int).Mod(m.pack(c), power(85-m.p.FPBits))
	return v.Rsh(v, 64-m.p.FPBits).Uint64()
}

func (m *timedModel) testAndSet(d Digest, t int64, point uint32) bool {
	if t == NoTick {
		return false
	}
	index := new(big.Int).Mul(new(big.Int).SetUint64(d[1]), big.NewInt(int64(len(m.lines))))
	line := &m.lines[index.Rsh(index, 64).Uint64()]
	cell := modelCell{fp: max(1, (d[0]^m.era(t)*0x9e3779b97f4a7c15)>>(64-m.p.FPBits)), tick: m.after(new(big.Int), big.NewInt(t))}
	if m.p.PointBits > 0 {
		cell.point = reducePoint(point, m.p.PointBits)
	}
	at := slices.IndexFunc(*line, func(c modelCell) bool { return c.fp == cell.fp })
	if at < 0 {
		m.c.Inserted++
		if len(*line) == TimedCells {
			if m.within((*line)[TimedCells-1].tick, cell.tick) {
				m.c.EvictedLive++
			}
			*line = (*line)[:TimedCells-1]
		}
		*line = slices.Insert(*line, 0, cell)
		return false
	}
	old := (*line)[at]
	isCopy := m.within(old.tick, cell.tick) && (!m.p.Across || old.point != cell.point)
	if isCopy && !m.p.Refresh {
		return true
	}
	if isCopy {
		if half := power(m.p.TickBits - 1); m.after(old.tick, cell.tick).Cmp(half) >= 0 {
			cell.tick = old.tick
		}
		cell.point = old.point
	}
	*line = slices.Insert(slices.Delete(*line, at, at+1), 0, cell)
	return isCopy
}

// line returns the words that a line must hold.
func (m *timedModel) line(i int) (w [8]uint64) {
	for j, c := range m.lines[i] {
		w[j] = m.word(c)
		w[6+j/3] |= m.high(c) << (j % 3 * 21)
	}
	return w
}
