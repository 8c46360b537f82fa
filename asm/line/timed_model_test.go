// SPDX-License-Identifier: Apache-2.0

package line

import (
	"math"
	"math/big"
	"slices"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/layout"
)

// timedModel is the contract of TestAndSetTimed without packed words.
type timedModel struct {
	p       TimedParams
	lines   [][]modelCell // newest first
	spilled []bool
	spare   [][]modelCell
	c       TimedCounts
}

type modelCell struct {
	fp    uint64
	point uint64
	tick  *big.Int // 0 to 2^TickBits - 1
}

func newTimedModel(p TimedParams, lines, spare int) *timedModel {
	return &timedModel{p: p, lines: make([][]modelCell, lines), spilled: make([]bool, lines), spare: make([][]modelCell, spare)}
}

func power(n uint) *big.Int { return new(big.Int).Lsh(big.NewInt(1), n) }

// after returns the distance of b after a, modulo 2^TickBits.
func (m *timedModel) after(a, b *big.Int) *big.Int {
	d := new(big.Int).Sub(b, a)
	return d.Mod(d, power(m.p.TickBits))
}

func (m *timedModel) near(a, b, distance *big.Int) bool {
	return m.after(a, b).Cmp(distance) <= 0 || m.after(b, a).Cmp(distance) <= 0
}

func (m *timedModel) within(a, b *big.Int) bool { return m.near(a, b, big.NewInt(m.p.Window)) }

// reach returns Window + Slack, or as far as times can be apart.
func (m *timedModel) reach() *big.Int {
	most := new(big.Int).Sub(power(m.p.TickBits-1), big.NewInt(1))
	if sum := new(big.Int).Add(big.NewInt(m.p.Window), big.NewInt(m.p.Slack)); sum.Cmp(most) < 0 {
		return sum
	}
	return most
}

// now returns Now modulo 2^TickBits, or nil if it is unknown.
func (m *timedModel) now() *big.Int {
	if m.p.Now == layout.NoTick {
		return nil
	}
	return m.after(new(big.Int), big.NewInt(m.p.Now))
}

func (m *timedModel) mayHaveCopies(c modelCell, tick *big.Int) bool {
	return m.within(c.tick, tick) || m.now() != nil && m.near(c.tick, m.now(), m.reach())
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

// word returns the part of a cell in its own word.
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

func findModel(line []modelCell, fp uint64) int {
	return slices.IndexFunc(line, func(c modelCell) bool { return c.fp == fp })
}

func (m *timedModel) testAndSet(d digest.Digest, t int64, point uint32) bool {
	if t == layout.NoTick {
		return false
	}
	index := new(big.Int).Mul(new(big.Int).SetUint64(d[1]), big.NewInt(int64(len(m.lines))))
	i := int(index.Rsh(index, 64).Uint64())
	line := &m.lines[i]
	cell := modelCell{fp: max(1, (d[0]^m.era(t)*0x9e3779b97f4a7c15)>>(64-m.p.FPBits)), tick: m.after(new(big.Int), big.NewInt(t))}
	if m.p.PointBits > 0 {
		cell.point = reducePoint(point, m.p.PointBits)
	}
	home, spare := line, m.spareOf(i)
	at := findModel(*line, cell.fp)
	if at < 0 && m.spilled[i] {
		home, at = spare, m.ask(i, spare, cell)
	}
	if at < 0 {
		m.c.Inserted++
		m.pushOut(i, spare, -1, cell.tick)
		*line = slices.Insert(*line, 0, cell)
		return false
	}
	old := (*home)[at]
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
	if home == line {
		*line = slices.Delete(*line, at, at+1)
	} else {
		tick := m.after(new(big.Int), big.NewInt(t))
		m.pushOut(i, spare, at, tick)
	}
	*line = slices.Insert(*line, 0, cell)
	return isCopy
}

// spareOf returns the spare line of a line, if there are any.
func (m *timedModel) spareOf(line int) *[]modelCell {
	if len(m.spare) == 0 {
		return nil
	}
	share := new(big.Int).Lsh(big.NewInt(int64(len(m.spare))), 64)
	share.Div(share, big.NewInt(int64(len(m.lines))))
	if most := new(big.Int).SetUint64(math.MaxUint64); share.Cmp(most) > 0 {
		share = most
	}
	at := share.Mul(share, big.NewInt(int64(line)))
	return &m.spare[at.Rsh(at, 64).Int64()]
}

// ask returns where in the spare line a fingerprint is, or -1.
func (m *timedModel) ask(line int, spare *[]modelCell, cell modelCell) int {
	m.c.Asked++
	if !slices.ContainsFunc(*spare, func(c modelCell) bool { return m.mayHaveCopies(c, cell.tick) }) {
		*spare, m.spilled[line] = nil, false
	}
	return findModel(*spare, cell.fp)
}

// pushOut makes room in a line for an element that is now in cell at of the spare line, or
// in none.
func (m *timedModel) pushOut(i int, spare *[]modelCell, at int, tick *big.Int) {
	line := &m.lines[i]
	live, last := false, modelCell{}
	if len(*line) == layout.TimedCells {
		last = (*line)[layout.TimedCells-1]
		*line = (*line)[:layout.TimedCells-1]
		live = m.within(last.tick, tick)
		if spare != nil {
			live = m.mayHaveCopies(last, tick)
		}
	}
	if spare == nil {
		if live {
			m.c.EvictedLive++
		}
		return
	}
	if at < 0 && live {
		if at = findModel(*spare, last.fp); at < 0 && len(*spare) == layout.TimedCells {
			at = m.oldest(*spare, tick)
			if c := (*spare)[at]; m.within(c.tick, tick) || m.now() != nil && m.within(c.tick, m.now()) {
				m.c.EvictedLive++
			}
		}
	}
	if at >= 0 {
		*spare = slices.Delete(*spare, at, at+1)
	}
	if live {
		*spare = slices.Insert(*spare, 0, last)
		m.spilled[i] = true
		m.c.Spilled++
	}
}

// oldest returns the last of the cells that lie farthest behind.
func (m *timedModel) oldest(line []modelCell, tick *big.Int) (at int) {
	from := tick
	if m.now() != nil {
		from = m.now()
	}
	from = new(big.Int).Add(from, m.reach())
	for i := range line {
		if m.after(line[i].tick, from).Cmp(m.after(line[at].tick, from)) >= 0 {
			at = i
		}
	}
	return at
}

// line returns the words that a line must hold.
func (m *timedModel) line(i int) (w [8]uint64) {
	w = m.words(m.lines[i])
	if m.spilled[i] {
		w[7] |= 1 << 63
	}
	return w
}

func (m *timedModel) words(cells []modelCell) (w [8]uint64) {
	for j, c := range cells {
		w[j] = m.word(c)
		w[6+j/3] |= m.high(c) << (j % 3 * 21)
	}
	return w
}
