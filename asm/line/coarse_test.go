// SPDX-License-Identifier: Apache-2.0

package line

import (
	"encoding/binary"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
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

// coarseStream draws digests from few values, so that lines see copies, evictions and equal
// fingerprints, and times that walk, step back and jump.
func coarseStream(rng *rand.Rand, n int, p CoarseParams) *timedStream {
	s := &timedStream{}
	now := int64(rng.Uint64() >> 1)
	for range n {
		step := rng.Int64N(int64(2 + p.Window/4))
		switch rng.IntN(60) {
		case 0:
			now = int64(rng.Uint64() >> 1)
		case 1:
			now = []int64{layout.NoTick, layout.NoTick + 1, math.MaxInt64, 0, 1, -1, 1 << 32, 1 << 31}[rng.IntN(8)]
		case 2:
			now += step << rng.IntN(40)
		case 3:
			now -= step << rng.IntN(40)
		case 4:
			_, old := p.limits()
			now += []int64{-1, 0, 1, -int64(p.Window)}[rng.IntN(4)] + int64(old*(rng.IntN(3)-1))
		case 5, 6, 7, 8, 9:
			now -= step
		default:
			now += step
		}
		d := digest.Digest{rng.Uint64N(80) * 0x9e3779b97f4a7c15, 0}
		switch rng.IntN(8) {
		case 0:
			d[0] = 0 // the fingerprint of empty cells
		case 1:
			d[0] = rng.Uint64N(16) << 60 // with few bits that differ
		}
		d[1] = d[0] * 0xbf58476d1ce4e5b9
		s.add(d, now, 0)
	}
	return s
}

var coarseShapes = []CoarseParams{
	{Window: 0}, {Window: 1}, {Window: 63}, {Window: 100, Slack: 12}, {Window: 126}, {Window: 127, Slack: 16},
	{Window: 125, Refresh: true}, {Window: 127, Slack: 127, Refresh: true}, {Window: 2, Slack: 1, Refresh: true},
	{Fine: true, Window: 0}, {Fine: true, Window: 31, Slack: 4}, {Fine: true, Window: 25, Slack: 37},
	{Fine: true, Window: 31, Slack: 4, Refresh: true}, {Fine: true, Window: 16, Refresh: true},
}

// coarseRows returns empty rows.
func coarseRows(lines, spare int) CoarseRows {
	return CoarseRows{Lines: make([]layout.Line, lines), Spare: make([]layout.Line, spare)}
}

// checkCoarse runs s through kernel and model in batches of the given size and compares
// verdicts, counts and every line.
func checkCoarse(t *testing.T, p CoarseParams, lines, spare, batch int, s *timedStream) {
	t.Helper()
	model, rows := newCoarseModel(p, lines, spare), coarseRows(lines, spare)
	var c CoarseCounts
	stream := modelTest{
		name: p, n: len(s.digests), batch: always(batch),
		kernel: func(from, to int, seen []uint64) {
			TestAndSetCoarse(rows, seen, s.digests[from:to], s.ticks[from:to], p, &c)
		},
		model: func(i int) bool { return model.testAndSet(s.digests[i], s.ticks[i]) },
	}
	stream.run(t)
	checkCoarseRows(t, model, rows, c)
}

// checkCoarseRows compares lines and counts.
func checkCoarseRows(t *testing.T, model *coarseModel, rows CoarseRows, c CoarseCounts) {
	t.Helper()
	if c != model.c {
		t.Fatalf("%+v: counts %+v, want %+v", model.p, c, model.c)
	}
	lines, spare := model.words(model.lines), model.words(model.spare)
	checkLines(t, model.p, rows.Lines, func(i int) layout.Line { return lines[i] })
	checkLines(t, model.p, rows.Spare, func(i int) layout.Line { return spare[i] })
}

func TestCoarseAgainstModel(t *testing.T) {
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(51, 52))
		for _, p := range coarseShapes {
			for _, lines := range []int{1, 3, 16} {
				for i, batch := range []int{1, 63, 64, 65, 1000} {
					checkCoarse(t, p, lines, i%(lines+1), batch, coarseStream(rng, 1000, p))
				}
			}
		}
	})
}

func FuzzCoarse(f *testing.F) {
	f.Add(uint8(0), uint8(1), uint8(0), []byte{})
	f.Add(uint8(7), uint8(3), uint8(1), kerneltest.Pattern(400))
	f.Add(uint8(26), uint8(0), uint8(9), []byte("copies of copies of copies of copies, and nothing but copies"))
	f.Fuzz(func(t *testing.T, shape, lines, slack uint8, data []byte) {
		p := CoarseParams{Window: int(shape & 127), Slack: int(slack & 127), Refresh: shape&128 != 0, Fine: slack&128 != 0}
		if p.Fine {
			p.Window, p.Slack = p.Window/4, p.Slack/4
		}
		s := &timedStream{}
		now := int64(0)
		for ; len(data) >= 4; data = data[4:] {
			// One byte picks the digest, three the way of time.
			v := binary.LittleEndian.Uint32(data)
			step := int64(v>>16&0xff) << (v >> 24 & 0x1f)
			if v>>29&1 != 0 {
				step >>= v >> 24 & 0x1f
			}
			if v>>30&1 != 0 {
				step = -step
			}
			if now += step; v>>31 != 0 {
				now = int64(uint64(v>>24) << 57)
			}
			fp := uint64(v&31) * 0x9e3779b97f4a7c15
			s.add(digest.Digest{fp, fp * 0xbf58476d1ce4e5b9}, now, 0)
		}
		kerneltest.ForEveryLevel(t, func(t *testing.T) { checkCoarse(t, p, 1+int(lines%4), int(lines/4)%(2+int(lines%4)), 64, s) })
	})
}

// TestCoarseEdges has the window's edges in both directions, also for late elements.
func TestCoarseEdges(t *testing.T) {
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		for _, c := range []struct {
			window int
			ticks  []int64 // ticks of one element, again and again; negative ones belong to other elements in between
			copies uint64
		}{
			{100, []int64{0, 100}, 2}, {100, []int64{0, 101}, 0}, {127, []int64{0, 127}, 2}, {127, []int64{0, 128}, 0},
			{127, []int64{0, -127, 0}, 4}, {127, []int64{0, -128, 0}, 0}, {127, []int64{0, -127, 1}, 4}, {100, []int64{7, -255, 200}, 0},
			{0, []int64{5, 5, 6}, 2}, {127, []int64{0, 1 << 31}, 0}, {127, []int64{1 << 32, -1<<32 - 127, 1 << 32}, 4},
		} {
			seen := make([]uint64, 1)
			var digests []digest.Digest
			ticks := slices.Clone(c.ticks)
			for i, tick := range ticks {
				d := digest.Digest{1 << 50}
				if tick < 0 {
					d, ticks[i] = digest.Digest{1 << 51}, -tick
				}
				digests = append(digests, d)
			}
			TestAndSetCoarse(coarseRows(1, 0), seen, digests, ticks, CoarseParams{Window: c.window}, &CoarseCounts{})
			if seen[0] != c.copies {
				t.Errorf("window %d, ticks %v: copies %b, want %b", c.window, c.ticks, seen[0], c.copies)
			}
		}
	})
}

func TestCoarsePanics(t *testing.T) {
	for _, c := range []struct {
		want                      string
		p                         CoarseParams
		lines, spare, seen, ticks int
	}{
		{"no lines", CoarseParams{}, 0, 0, 1, 1}, {"seen", CoarseParams{}, 1, 1, 0, 1}, {"ticks", CoarseParams{}, 1, 1, 1, 0},
		{"spare", CoarseParams{}, 1, 2, 1, 1}, {"window", CoarseParams{Window: -1}, 1, 1, 1, 1},
		{"window", CoarseParams{Window: 128}, 1, 1, 1, 1}, {"window", CoarseParams{Window: 32, Fine: true}, 1, 1, 1, 1},
		{"slack", CoarseParams{Slack: -1}, 1, 1, 1, 1}, {"slack", CoarseParams{Slack: 128, Window: 127}, 1, 1, 1, 1},
		{"slack", CoarseParams{Slack: 32, Window: 31, Fine: true}, 1, 1, 1, 1},
	} {
		kerneltest.Panics(t, c.want, func() {
			TestAndSetCoarse(coarseRows(c.lines, c.spare), make([]uint64, c.seen), make([]digest.Digest, 1),
				make([]int64, c.ticks), c.p, &CoarseCounts{})
		})
	}
}

// TestCoarseAround has older rows that were filled before.
func TestCoarseAround(t *testing.T) {
	rng := rand.New(rand.NewPCG(55, 56))
	for i, p := range coarseShapes {
		for _, spare := range []int{0, 2} {
			model, rows := newCoarseModel(p, 6, spare), coarseRows(6, spare)
			s, c := coarseStream(rng, 900, p), CoarseCounts{}
			for at, older := 0, []CoarseRows(nil); at < len(s.digests); at += 300 {
				seen := make([]uint64, 5)
				TestAndSetCoarseAround(rows, older, seen, s.digests[at:at+300], s.ticks[at:at+300], p, &c)
				for j := range 300 {
					want := model.testAndSet(s.digests[at+j], s.ticks[at+j])
					if got := seen[j/64]>>(j%64)&1 == 1; got != want {
						t.Fatalf("shape %d: element %d: copy %v, want %v", i, at+j, got, want)
					}
				}
				checkCoarseRows(t, model, rows, c)
				older = append([]CoarseRows{rows}, older...)
				next := newCoarseModel(p, len(rows.Lines)+5, spare+1)
				next.older, next.c = append([]*coarseModel{model}, model.older...), model.c
				model, rows = next, coarseRows(len(rows.Lines)+5, spare+1)
			}
		}
	}
}
