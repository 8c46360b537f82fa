package asm

import (
	"math/big"
	"slices"
)

// timedModel is the contract of TestAndSetTimed without packed words and
// without arithmetic that could overflow.
type timedModel struct {
	p     TimedParams
	lines []modelLine
	c     TimedCounts
}

type modelLine struct {
	base  *big.Int
	cells []modelCell // newest first
}

type modelCell struct {
	fp    uint64
	point uint64
	time  int64
}

func newTimedModel(p TimedParams, lines int) *timedModel {
	m := &timedModel{p: p, lines: make([]modelLine, lines)}
	for i := range m.lines {
		m.lines[i].base = new(big.Int)
	}
	return m
}

func power(n uint) *big.Int { return new(big.Int).Lsh(big.NewInt(1), n) }

// fits says whether t can be written relative to the line's base.
func (m *timedModel) fits(l *modelLine, t int64) bool {
	rel := new(big.Int).Sub(big.NewInt(t), l.base)
	return rel.Sign() > 0 && rel.Cmp(power(m.p.TickBits)) < 0
}

func (m *timedModel) within(a, b int64) bool {
	d := new(big.Int).Sub(big.NewInt(a), big.NewInt(b))
	return d.Abs(d).Cmp(big.NewInt(m.p.Window)) <= 0
}

func (m *timedModel) rebase(l *modelLine, t int64) {
	base := new(big.Int).Sub(big.NewInt(t), power(m.p.TickBits-1))
	least := new(big.Int).Neg(power(63))
	if base.Cmp(least) < 0 {
		base = least
	}
	back := base.Cmp(l.base) < 0
	l.base = base
	l.cells = slices.DeleteFunc(l.cells, func(c modelCell) bool {
		gone := !m.fits(l, c.time)
		if gone && back {
			m.c.EvictedLive++
			m.c.EvictedByJump++
		}
		return gone
	})
}

func (m *timedModel) testAndSet(d Digest, t int64, point uint32) bool {
	if t == NoTick {
		return false
	}
	index := new(big.Int).Mul(new(big.Int).SetUint64(d[1]), big.NewInt(int64(len(m.lines))))
	l := &m.lines[index.Rsh(index, 64).Uint64()]
	if len(l.cells) == 0 || !m.fits(l, t) {
		m.rebase(l, t)
	}
	cell := modelCell{fp: d[0] >> (64 - m.p.FPBits), time: t}
	if m.p.PointBits > 0 {
		cell.point = reducePoint(point, m.p.PointBits)
	}
	at := slices.IndexFunc(l.cells, func(c modelCell) bool { return c.fp == cell.fp })
	if at < 0 {
		m.c.Inserted++
		if len(l.cells) == 7 {
			if m.within(l.cells[6].time, t) {
				m.c.EvictedLive++
			}
			l.cells = l.cells[:6]
		}
		l.cells = slices.Insert(l.cells, 0, cell)
		return false
	}
	old := l.cells[at]
	isCopy := m.within(old.time, t) && (!m.p.Across || old.point != cell.point)
	if isCopy && !m.p.Refresh {
		return true
	}
	if isCopy {
		cell = old
		cell.time = max(cell.time, t)
	}
	l.cells = slices.Insert(slices.Delete(l.cells, at, at+1), 0, cell)
	return isCopy
}

// line returns the words that a line must hold.
func (m *timedModel) line(i int) (w [8]uint64) {
	l := &m.lines[i]
	w[0] = uint64(l.base.Int64())
	for j, c := range l.cells {
		rel := new(big.Int).Sub(big.NewInt(c.time), l.base).Uint64()
		w[1+j] = c.fp<<(m.p.PointBits+m.p.TickBits) | c.point<<m.p.TickBits | rel
	}
	return w
}
