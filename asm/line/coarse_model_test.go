// SPDX-License-Identifier: Apache-2.0

package line

import (
	"math/bits"
	"slices"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/layout"
)

// coarseModel is the contract of TestAndSetCoarse with whole times.
type coarseModel struct {
	p            CoarseParams
	lines, spare []coarseModelLine
	older        []*coarseModel
	c            CoarseCounts
}

func newCoarseModel(p CoarseParams, lines, spare int) *coarseModel {
	return &coarseModel{p: p, lines: make([]coarseModelLine, lines), spare: make([]coarseModelLine, spare)}
}

type coarseModelLine struct {
	clock int64
	cells []coarseModelCell // newest first
}

type coarseModelCell struct {
	fingerprint uint64
	tick        int64
	old         bool // too old for good
}

// seen returns the clock of the line and the time of an element, once the line is turned for
// it. The clock is followed as if time went on by less than 2^32 ticks in both directions.
func (m *coarseModel) seen(l *coarseModelLine, tick int64) (clock, now int64) {
	_, old := m.p.limits()
	if late := int64(uint32(l.clock - tick)); late < int64(old-m.p.Window) {
		return l.clock, l.clock - late
	}
	now = l.clock + int64(uint32(tick-l.clock))
	return now, now
}

func (m *coarseModel) turn(l *coarseModelLine, tick int64) (now int64) {
	_, old := m.p.limits()
	clock, now := m.seen(l, tick)
	for i := range l.cells {
		l.cells[i].old = l.cells[i].old || clock-l.cells[i].tick >= int64(old)
	}
	l.clock = clock
	return now
}

// near returns the number of the cell of an element in a line, and whether it is within the
// window, for a line that stays as it is.
func (m *coarseModel) near(l *coarseModelLine, fingerprint uint64, tick int64) (at int, near bool) {
	_, old := m.p.limits()
	clock, now := m.seen(l, tick)
	at = slices.IndexFunc(l.cells, func(c coarseModelCell) bool { return c.fingerprint == fingerprint })
	if at < 0 {
		return at, false
	}
	c := l.cells[at]
	return at, !c.old && clock-c.tick < int64(old) && max(now-c.tick, c.tick-now) <= int64(m.p.Window)
}

// full reports whether a line is full for an element.
func (m *coarseModel) full(l *coarseModelLine, tick int64) bool {
	_, old := m.p.limits()
	clock, now := m.seen(l, tick)
	if len(l.cells) < m.p.cells() {
		return false
	}
	last, slack := l.cells[len(l.cells)-1], 0
	if len(m.spare) > 0 {
		slack = m.p.Slack
	}
	return !last.old && clock-last.tick < int64(old) && now-last.tick <= int64(m.p.Window+slack)
}

func (m *coarseModel) testAndSet(d digest.Digest, tick int64) bool {
	if tick == layout.NoTick {
		return false
	}
	index, _ := bits.Mul64(d[1], uint64(len(m.lines)))
	l := &m.lines[index]
	now := m.turn(l, tick)
	shift := 64 - layout.CoarseFingerprintBits
	if m.p.Fine {
		shift = 64 - layout.FineFingerprintBits
	}
	cell := coarseModelCell{fingerprint: max(1, d[0]>>shift), tick: now}
	if at, isCopy := m.near(l, cell.fingerprint, tick); at >= 0 {
		if isCopy && !m.p.Refresh {
			return true
		}
		if isCopy {
			cell.tick = max(cell.tick, l.cells[at].tick)
		}
		l.cells = slices.Insert(slices.Delete(l.cells, at, at+1), 0, cell)
		return isCopy
	}
	later, freed := int64(-1), -1
	if len(m.spare) > 0 && m.full(l, tick) {
		m.c.Asked++
		spare := m.spareOf(index)
		if at, near := m.near(spare, cell.fingerprint, tick); near {
			_, seen := m.seen(spare, tick)
			later, freed = max(0, spare.cells[at].tick-seen), at
		}
	}
	for i := 0; i < len(m.older) && later < 0; i++ {
		later = m.older[i].find(d[1], cell.fingerprint, tick)
	}
	if later < 0 {
		m.c.Inserted++
	} else if !m.p.Refresh {
		return true
	}
	m.pushOut(index, tick, now, freed)
	cell.tick = min(l.clock, now+max(later, 0))
	l.cells = slices.Insert(l.cells, 0, cell)
	return later >= 0
}

// find returns how much later an element's cell in these older rows is, at least 0, or
// -1.
func (m *coarseModel) find(place, fingerprint uint64, tick int64) int64 {
	index, _ := bits.Mul64(place, uint64(len(m.lines)))
	lines := []*coarseModelLine{&m.lines[index]}
	if len(m.spare) > 0 && m.full(lines[0], tick) {
		lines = append(lines, m.spareOf(index))
	}
	for _, l := range lines {
		if at, near := m.near(l, fingerprint, tick); near {
			_, now := m.seen(l, tick)
			return max(0, l.cells[at].tick-now)
		}
	}
	return -1
}

func (m *coarseModel) spareOf(index uint64) *coarseModelLine {
	return &m.spare[int(index)*len(m.spare)/len(m.lines)]
}

// pushOut makes room in front of a line that has all cells.
func (m *coarseModel) pushOut(index uint64, tick, now int64, freed int) {
	l := &m.lines[index]
	if len(l.cells) < m.p.cells() {
		return
	}
	last := l.cells[len(l.cells)-1]
	full := m.full(l, tick)
	l.cells = l.cells[:len(l.cells)-1]
	if !full {
		return
	}
	if len(m.spare) == 0 {
		m.c.EvictedLive++
		return
	}
	_, old := m.p.limits()
	spare := m.spareOf(index)
	clock := m.turn(spare, l.clock)
	moved := coarseModelCell{fingerprint: last.fingerprint, tick: clock - (l.clock - last.tick)}
	if spare.clock-moved.tick >= int64(old) {
		m.c.EvictedLive++
		return
	}
	m.c.Spilled++
	at := slices.IndexFunc(spare.cells, func(c coarseModelCell) bool { return c.fingerprint == last.fingerprint })
	if at < 0 {
		at = freed
	}
	if at < 0 && len(spare.cells) == m.p.cells() {
		at = len(spare.cells) - 1
		if c := spare.cells[at]; !c.old && clock-(l.clock-now)-c.tick <= int64(m.p.Window) {
			m.c.EvictedLive++
		}
	}
	if at >= 0 {
		spare.cells = slices.Delete(spare.cells, at, at+1)
	}
	spare.cells = slices.Insert(spare.cells, 0, moved)
}

// words returns the words that lines must hold.
func (m *coarseModel) words(lines []coarseModelLine) []layout.Line {
	_, old := m.p.limits()
	all := make([]layout.Line, len(lines))
	for i, l := range lines {
		w := &all[i]
		w[7] = uint64(uint32(l.clock)) << 32
		for j, c := range l.cells {
			youth := uint64(0)
			if age := l.clock - c.tick; !c.old && age < int64(old) {
				youth = uint64(int64(old) - age)
			}
			if !m.p.Fine {
				w[j/2] |= (c.fingerprint<<8 | youth) << (j % 2 * 32)
				continue
			}
			w[j/2] |= c.fingerprint & (1<<32 - 1) << (j % 2 * 32)
			w[6+j/8] |= (c.fingerprint>>32<<6 | youth) << (j % 8 * 8)
		}
	}
	return all
}
