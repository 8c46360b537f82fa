// SPDX-License-Identifier: Apache-2.0

package line

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
	"github.com/flowdedup/flowdedup/layout"
)

// timedStream is input for a kernel and its model.
type timedStream struct {
	digests []digest.Digest
	ticks   []int64
	points  []uint32
}

func (s *timedStream) add(d digest.Digest, t int64, point uint32) {
	s.digests = append(s.digests, d)
	s.ticks = append(s.ticks, t)
	s.points = append(s.points, point)
}

// checkTimed runs s through kernel and model in batches of the given size and
// compares verdicts, counts and every line. After the first batch, Now is the
// time of a batch's first element.
func checkTimed(t *testing.T, p TimedParams, lineCount, spareCount, batch int, s *timedStream) {
	t.Helper()
	model := newTimedModel(p, lineCount, spareCount)
	rows := TimedRows{make([]layout.Line, lineCount), make([]layout.Line, spareCount)}
	var c TimedCounts
	stream := modelTest{
		name: p, n: len(s.digests), batch: always(batch),
		kernel: func(from, to int, seen []uint64) {
			if from > 0 {
				p.Now = s.ticks[from]
			}
			model.p = p
			TestAndSetTimed(rows, seen, s.digests[from:to], s.ticks[from:to], s.points[from:to], &p, &c)
		},
		model: func(i int) bool { return model.testAndSet(s.digests[i], s.ticks[i], s.points[i]) },
	}
	stream.run(t)
	if c != model.c {
		t.Fatalf("%+v: counts %+v, want %+v", p, c, model.c)
	}
	checkLines(t, p, rows.Lines, model.line)
	checkLines(t, p, rows.Spare, func(i int) layout.Line { return model.words(model.spare[i]) })
}

// randomTimedStream draws digests from few values, so that lines see copies,
// evictions and equal fingerprints, and times that walk, step back and jump.
func randomTimedStream(rng *rand.Rand, n int, p *TimedParams) *timedStream {
	s := &timedStream{}
	now := int64(rng.Uint64())
	for range n {
		step := rng.Int64N(2 + p.Window/4)
		switch rng.IntN(40) {
		case 0:
			now = int64(rng.Uint64())
		case 1:
			now = []int64{math.MinInt64, math.MinInt64 + 1, math.MaxInt64, 0, 1, -1}[rng.IntN(6)]
		case 2:
			now += step << rng.IntN(30)
		case 3:
			now -= step << rng.IntN(30)
		case 4, 5, 6, 7, 8:
			now -= step // wraps at the ends of time, as hostile input may
		default:
			now += step
		}
		d := digest.Digest{rng.Uint64N(40) * 0x9e3779b97f4a7c15, rng.Uint64()}
		if rng.IntN(8) == 0 {
			d[0] = 0 // the fingerprint of empty cells
		}
		d[1] = d[0] * 0xbf58476d1ce4e5b9
		s.add(d, now, rng.Uint32()>>(8*rng.UintN(4)))
	}
	return s
}

var timedShapes = []TimedParams{
	{FPBits: 40, TickBits: 45, Window: 1<<44 - 1},
	{FPBits: 40, TickBits: 45, Window: 1000, Origin: 1 << 60},
	{FPBits: 36, PointBits: 7, TickBits: 42, Window: 1 << 18, Origin: math.MinInt64},
	{FPBits: 51, PointBits: 32, TickBits: 2, Window: 1, Origin: math.MaxInt64},
	{FPBits: 63, TickBits: 22, Window: 0},
	{FPBits: 22, TickBits: 63, Window: 1 << 61},
	{FPBits: 21, PointBits: 32, TickBits: 32, Window: 1 << 30},
}

func TestTimedAgainstModel(t *testing.T) {
	kerneltest.ForEveryLevel(t, timedAgainstModel)
}

func timedAgainstModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for _, p := range timedShapes {
		for _, mode := range []int{0, 1, 2, 3} {
			p.Refresh, p.Across = mode&1 != 0, mode&2 != 0
			for _, lines := range []int{1, 3, 16} {
				for i, batch := range []int{1, 63, 64, 65, 1000} {
					p.Now, p.Slack = []int64{layout.NoTick, 0}[i%2], p.Window>>i
					checkTimed(t, p, lines, 0, batch, randomTimedStream(rng, 200, &p))
					checkTimed(t, p, lines, 1+i%(lines+1), batch, randomTimedStream(rng, 200, &p))
				}
			}
		}
	}
}

func FuzzTimed(f *testing.F) {
	f.Add(uint8(0), uint8(1), []byte{})
	f.Add(uint8(7), uint8(3), kerneltest.Pattern(400))
	f.Add(uint8(1), uint8(0x6c), kerneltest.Pattern(4000))
	f.Add(uint8(97), uint8(0xa7), kerneltest.Pattern(1000))
	f.Add(uint8(26), uint8(0), []byte("copies of copies of copies of copies, and nothing but copies"))
	f.Fuzz(func(t *testing.T, shape, lines uint8, data []byte) {
		p := timedShapes[int(shape&31)%len(timedShapes)]
		p.Refresh, p.Across = shape&32 != 0, shape&64 != 0
		s := &timedStream{}
		now := int64(0)
		for ; len(data) >= 4; data = data[4:] {
			// One byte picks the digest and the point, three the way of time.
			v := binary.LittleEndian.Uint32(data)
			step := int64(v>>16&0xff) << (v >> 24 & 0x3f)
			if v>>30&1 != 0 {
				step = -step
			}
			now += step
			if v>>31 != 0 {
				now = int64(uint64(v>>24) << 57)
			}
			fp := uint64(v>>3&15) * 0x9e3779b97f4a7c15
			s.add(digest.Digest{fp, fp * 0xbf58476d1ce4e5b9}, now, v&7<<(v>>8&31))
		}
		p.Slack = p.Window >> (lines >> 5)
		checkTimed(t, p, 1+int(lines%4), int(lines/4%4), 64, s)
	})
}

func TestReducePoint(t *testing.T) {
	for _, width := range []uint{1, 2, 8, 16, 32} {
		for _, point := range []uint32{0, 1, 2, 254, 255, 256, 65534, 1 << 31, math.MaxUint32} {
			got := reducePoint(point, width)
			if got >= 1<<width || uint64(point) < 1<<width-1 && got != uint64(point) {
				t.Errorf("reducePoint(%d, %d) = %d", point, width, got)
			}
		}
	}
}

func TestTimedPanics(t *testing.T) {
	ok := TimedParams{FPBits: 36, PointBits: 7, TickBits: 42, Window: 1}
	with := func(change func(*TimedParams)) TimedParams {
		p := ok
		change(&p)
		return p
	}
	for _, c := range []struct {
		want                       string
		p                          TimedParams
		lines, seen, ticks, points int
	}{
		{"no lines", ok, 0, 1, 1, 1},
		{"seen", ok, 1, 0, 1, 1},
		{"ticks", ok, 1, 1, 0, 1},
		{"points", ok, 1, 1, 1, 0},
		{"fields", with(func(p *TimedParams) { p.FPBits-- }), 1, 1, 1, 1},
		{"fields", TimedParams{FPBits: 64, TickBits: 21}, 1, 1, 1, 1},
		{"fields", TimedParams{FPBits: ^uint(30), PointBits: 32, TickBits: 63}, 1, 1, 1, 1},
		{"window", with(func(p *TimedParams) { p.Window = -1 }), 1, 1, 1, 1},
		{"window", with(func(p *TimedParams) { p.Window = 1 << 41 }), 1, 1, 1, 1},
		{"slack", with(func(p *TimedParams) { p.Slack = -1 }), 1, 1, 1, 1},
	} {
		kerneltest.Panics(t, c.want, func() {
			TestAndSetTimed(TimedRows{Lines: make([]layout.Line, c.lines)}, make([]uint64, c.seen), make([]digest.Digest, 1),
				make([]int64, c.ticks), make([]uint32, c.points), &c.p, &TimedCounts{})
		})
	}
}
