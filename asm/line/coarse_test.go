// SPDX-License-Identifier: Apache-2.0

package line

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
	"github.com/flowdedup/flowdedup/layout"
)

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
