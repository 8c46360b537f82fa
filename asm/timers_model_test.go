package asm

import "math/rand/v2"

// timerModel is the contract of TestAndSetTimers with the tick of each setting kept
// whole: nothing has to be swept for its answers.
type timerModel struct {
	p     TimerParams
	lines [][]timerSetting
}

type timerSetting struct {
	tick uint64
	set  bool
}

func newTimerModel(p TimerParams, lines int) *timerModel {
	m := &timerModel{p: p}
	for range lines {
		m.lines = append(m.lines, make([]timerSetting, 512/p.Bits))
	}
	return m
}

func (m *timerModel) live(s timerSetting, tick uint64) bool {
	return s.set && tick-s.tick < uint64(m.p.Window)
}

func (m *timerModel) testAndSet(d Digest, tick uint64) (seen bool) {
	line := m.lines[scaledTo(d[1], len(m.lines))]
	own := modelCells(d[0], len(line), m.p.K)
	groups, largest := map[uint64]int{}, 0
	seen = true
	for _, c := range own {
		seen = seen && m.live(line[c], tick)
		groups[line[c].tick]++
		largest = max(largest, groups[line[c].tick])
	}
	seen = seen && largest >= m.p.Equal
	if !seen || m.p.Refresh {
		for _, c := range own {
			line[c] = timerSetting{tick, true}
		}
	}
	return seen
}

// line returns what a line must hold once it is swept at tick, and how many of its
// timers are live.
func (m *timerModel) line(i int, tick uint64) (w [8]uint64, live uint64) {
	for c, s := range m.lines[i] {
		if m.live(s, tick) {
			live++
			w[c*m.p.Bits/64] |= (1 + s.tick%(1<<m.p.Bits-1)) << (c * m.p.Bits % 64)
		}
	}
	return w, live
}

// timerTicks draws n ticks from start on: most repeat or follow the one before, some leap by
// up to longest.
func timerTicks(rng *rand.Rand, n int, start uint64, longest int) []uint64 {
	ticks := make([]uint64, n)
	for i := range ticks {
		switch choice := rng.IntN(40); {
		case choice == 0:
			start += rng.Uint64N(uint64(longest) + 1)
		case choice < 12:
			start++
		}
		ticks[i] = start
	}
	return ticks
}
