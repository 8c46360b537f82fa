package line

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
	"github.com/flowdedup/flowdedup/layout"
)

// coarseModel is the contract of TestAndSetCoarse with whole times.
type coarseModel struct {
	p     CoarseParams
	lines []coarseModelLine
	c     CoarseCounts
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

func (m *coarseModel) testAndSet(d digest.Digest, tick int64) bool {
	if tick == layout.NoTick {
		return false
	}
	index, _ := bits.Mul64(d[1], uint64(len(m.lines)))
	l := &m.lines[index]
	// The clock is followed as if time went on by less than 2^32 ticks in both directions.
	now := l.clock + int64(uint32(tick-l.clock))
	if late := int64(uint32(l.clock - tick)); late <= int64(254-m.p.Window) {
		now = l.clock - late
	} else if wayBack := now-l.clock >= 255; wayBack || l.clock < now {
		for i := range l.cells {
			l.cells[i].old = l.cells[i].old || now-l.cells[i].tick >= 255
		}
		l.clock = now
	}
	near := func(c *coarseModelCell) bool {
		return !c.old && max(now-c.tick, c.tick-now) <= int64(m.p.Window)
	}
	cell := coarseModelCell{fingerprint: max(1, d[0]>>40), tick: now}
	at := slices.IndexFunc(l.cells, func(c coarseModelCell) bool { return c.fingerprint == cell.fingerprint })
	if at < 0 {
		m.c.Inserted++
		if len(l.cells) == layout.CoarseCells {
			at = layout.CoarseCells - 1
			if near(&l.cells[at]) {
				m.c.EvictedLive++
			}
			l.cells = l.cells[:at]
		}
		l.cells = slices.Insert(l.cells, 0, cell)
		return false
	}
	isCopy := near(&l.cells[at])
	if isCopy && !m.p.Refresh {
		return true
	}
	if isCopy {
		cell.tick = max(cell.tick, l.cells[at].tick)
	}
	l.cells = slices.Insert(slices.Delete(l.cells, at, at+1), 0, cell)
	return isCopy
}

// line returns the words that a line must hold. Cells that are empty age, too, so their
// ages are taken from the line.
func (l *coarseModelLine) line(got layout.Line) (w layout.Line) {
	for j := range layout.CoarseCells {
		cell := uint64(0)
		if j < len(l.cells) {
			c := l.cells[j]
			age := uint64(255)
			if !c.old {
				age = uint64(l.clock - c.tick)
			}
			cell = c.fingerprint<<8 | age
		} else {
			cell = got[j/2] >> (j % 2 * 32) & 255
		}
		w[j/2] |= cell << (j % 2 * 32)
	}
	w[7] |= uint64(uint32(l.clock)) << 32
	return w
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
			now += []int64{254, 255, 256, -254, -255, -256, int64(p.Window) - 254, int64(p.Window) - 255}[rng.IntN(8)]
		case 5, 6, 7, 8, 9:
			now -= step
		default:
			now += step
		}
		d := digest.Digest{rng.Uint64N(80) * 0x9e3779b97f4a7c15, 0}
		if rng.IntN(8) == 0 {
			d[0] = 0 // the fingerprint of empty cells
		}
		d[1] = d[0] * 0xbf58476d1ce4e5b9
		s.add(d, now, 0)
	}
	return s
}

var coarseShapes = []CoarseParams{
	{Window: 0}, {Window: 1}, {Window: 63}, {Window: 100}, {Window: 126}, {Window: 127},
	{Window: 125, Refresh: true}, {Window: 127, Refresh: true}, {Window: 2, Refresh: true},
}

// checkCoarse runs s through kernel and model in batches of the given size and compares
// verdicts, counts and every line.
func checkCoarse(t *testing.T, p CoarseParams, lineCount, batch int, s *timedStream) {
	t.Helper()
	model := &coarseModel{p: p, lines: make([]coarseModelLine, lineCount)}
	lines := make([]layout.Line, lineCount)
	var c CoarseCounts
	for from := 0; from < len(s.digests); from += batch {
		to := min(from+batch, len(s.digests))
		seen := make([]uint64, (to-from+63)/64+1)
		for i := range seen {
			seen[i] = math.MaxUint64
		}
		TestAndSetCoarse(lines, seen, s.digests[from:to], s.ticks[from:to], p, &c)
		for i := from; i < to; i++ {
			want := model.testAndSet(s.digests[i], s.ticks[i])
			if got := seen[(i-from)/64]>>((i-from)%64)&1 == 1; got != want {
				t.Fatalf("%+v: element %d, tick %d: copy %v, want %v", p, i, s.ticks[i], got, want)
			}
		}
		if n := (to - from) % 64; n != 0 && seen[(to-from)/64]>>n != 0 {
			t.Fatalf("bits beyond %d elements are set", to-from)
		}
		if seen[len(seen)-1] != math.MaxUint64 {
			t.Fatalf("words beyond those of %d elements were written", to-from)
		}
	}
	if c != model.c {
		t.Fatalf("%+v: counts %+v, want %+v", p, c, model.c)
	}
	for i := range lines {
		if want := model.lines[i].line(lines[i]); lines[i] != want {
			t.Fatalf("%+v: line %d\n%x, want\n%x", p, i, lines[i], want)
		}
	}
}

func TestCoarseAgainstModel(t *testing.T) {
	forCoarseLevels(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(51, 52))
		for _, p := range coarseShapes {
			for _, lines := range []int{1, 3, 16} {
				for _, batch := range []int{1, 63, 64, 65, 1000} {
					checkCoarse(t, p, lines, batch, coarseStream(rng, 1000, p))
				}
			}
		}
	})
}

func FuzzCoarse(f *testing.F) {
	f.Add(uint8(0), uint8(1), []byte{})
	f.Add(uint8(7), uint8(3), kerneltest.Pattern(400))
	f.Add(uint8(26), uint8(0), []byte("copies of copies of copies of copies, and nothing but copies"))
	f.Fuzz(func(t *testing.T, shape, lines uint8, data []byte) {
		p := CoarseParams{Window: int(shape & 127), Refresh: shape&128 != 0}
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
		forCoarseLevels(t, func(t *testing.T) { checkCoarse(t, p, 1+int(lines%4), 64, s) })
	})
}

// TestCoarseEdges has the window's edges in both directions, also for late elements.
func TestCoarseEdges(t *testing.T) {
	forCoarseLevels(t, func(t *testing.T) {
		for _, c := range []struct {
			window int
			ticks  []int64 // of one element again and again, with others between where they are negative
			copies uint64
		}{
			{100, []int64{0, 100}, 2}, {100, []int64{0, 101}, 0}, {127, []int64{0, 127}, 2}, {127, []int64{0, 128}, 0},
			{127, []int64{0, -127, 0}, 4}, {127, []int64{0, -128, 0}, 0}, {127, []int64{0, -127, 1}, 4}, {100, []int64{7, -255, 200}, 0},
			{0, []int64{5, 5, 6}, 2}, {127, []int64{0, 1 << 31}, 0}, {127, []int64{1 << 32, -1<<32 - 127, 1 << 32}, 4},
		} {
			lines, seen := make([]layout.Line, 1), make([]uint64, 1)
			var digests []digest.Digest
			ticks := slices.Clone(c.ticks)
			for i, tick := range ticks {
				d := digest.Digest{1 << 50}
				if tick < 0 {
					d, ticks[i] = digest.Digest{1 << 51}, -tick
				}
				digests = append(digests, d)
			}
			TestAndSetCoarse(lines, seen, digests, ticks, CoarseParams{Window: c.window}, &CoarseCounts{})
			if seen[0] != c.copies {
				t.Errorf("window %d, ticks %v: copies %b, want %b", c.window, c.ticks, seen[0], c.copies)
			}
		}
	})
}

func TestCoarsePanics(t *testing.T) {
	for _, c := range []struct {
		want               string
		window             int
		lines, seen, ticks int
	}{
		{"no lines", 1, 0, 1, 1}, {"seen", 1, 1, 0, 1}, {"ticks", 1, 1, 1, 0}, {"window", -1, 1, 1, 1}, {"window", 128, 1, 1, 1},
	} {
		got := func() (got string) {
			defer func() { got = fmt.Sprint(recover()) }()
			TestAndSetCoarse(make([]layout.Line, c.lines), make([]uint64, c.seen), make([]digest.Digest, 1),
				make([]int64, c.ticks), CoarseParams{Window: c.window}, &CoarseCounts{})
			return ""
		}()
		if !strings.Contains(got, c.want) {
			t.Errorf("%+v: panic %q, want %q", c, got, c.want)
		}
	}
}
