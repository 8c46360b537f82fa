// SPDX-License-Identifier: Apache-2.0

package line

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
	"github.com/flowdedup/flowdedup/layout"
)

// checkTimers runs a stream through kernel and model and compares verdicts and, at the
// end, every line. It sweeps as late as the contract allows, and no verdict may depend
// on that; a call ends at a sweep, or else after batch elements.
func checkTimers(t *testing.T, p TimerParams, lineCount, batch int, digests []digest.Digest, ticks []uint64) {
	t.Helper()
	rule, model := timerRule(t, p), newTimerModel(p, lineCount)
	lines := make([]layout.Line, lineCount)
	var c TimerCounts
	swept, interval := ticks[0], uint64(p.SweepInterval())
	stream := modelTest{
		name: p, n: len(digests),
		batch: func(from int) int {
			for ticks[from]-swept > interval {
				swept += interval
				SweepTimers(lines, swept, rule, &c)
				if c.NonZero == 0 {
					swept = ticks[from]
				}
			}
			n := 1
			for from+n < len(digests) && n < batch && ticks[from+n]-swept <= interval {
				n++
			}
			return n
		},
		kernel: func(from, to int, seen []uint64) {
			TestAndSetTimers(lines, seen, digests[from:to], ticks[from:to], rule, &c)
		},
		model: func(i int) bool { return model.testAndSet(digests[i], ticks[i]) },
	}
	want := TimerCounts{Missed: stream.run(t)}
	last := ticks[len(ticks)-1]
	SweepTimers(lines, last, rule, &c)
	checkLines(t, p, lines, func(i int) layout.Line {
		line, live := model.line(i, last)
		want.NonZero += live
		return line
	})
	if c != want {
		t.Fatalf("%+v: counts %+v, want %+v", p, c, want)
	}
}

func TestTimersAgainstModel(t *testing.T) {
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(61, 62))
		for _, p := range timerShapes {
			for _, lines := range []int{1, 5} {
				for _, batch := range []int{1, 65, 1000} {
					digests := bloomDigests(rng, 500)
					checkTimers(t, p, lines, batch, digests, timerTicks(rng, len(digests), rng.Uint64()>>30, p.Window+p.Window/4+2))
				}
			}
		}
	})
}

// An element has to be found in every one of its Window ticks and in none after them,
// whatever its stamp, with other elements in between.
func TestTimersWindow(t *testing.T) {
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		for _, p := range []TimerParams{{Bits: 8, K: 3, Window: 250}, {Bits: 8, K: 2, Window: 7}, {Bits: 8, K: 1, Window: 254}, {Bits: 16, K: 3, Window: 65534}} {
			rule := timerRule(t, p)
			period := uint64(1)<<p.Bits - 1
			step := period/255*7 + 1
			for start := uint64(0); start < 2*period; start += step {
				for _, late := range []uint64{0, 1, uint64(p.Window) - 1, uint64(p.Window), period - 1} {
					lines, seen := make([]layout.Line, 1), make([]uint64, 1)
					element := []digest.Digest{{start * 0x9e3779b97f4a7c15, 0}}
					var c TimerCounts
					TestAndSetTimers(lines, seen, element, []uint64{start}, rule, &c)
					TestAndSetTimers(lines, seen, element, []uint64{start + late}, rule, &c)
					if got, want := seen[0] == 1, late < uint64(p.Window); got != want {
						t.Fatalf("%+v: set at %d, %d ticks later: seen %v, want %v", p, start, late, got, want)
					}
				}
			}
		}
	})
}

func FuzzTimers(f *testing.F) {
	f.Add(uint8(0), uint8(1), uint64(0), []byte{0, 0})
	f.Add(uint8(5), uint8(3), uint64(1)<<50, kerneltest.Pattern(300))
	f.Add(uint8(7), uint8(0), uint64(65534), []byte("again and again and again"))
	f.Fuzz(func(t *testing.T, shape, lines uint8, tick uint64, data []byte) {
		var digests []digest.Digest
		var ticks []uint64
		tick >>= 1
		for ; len(data) >= 2; data = data[2:] {
			v := binary.LittleEndian.Uint16(data)
			tick += uint64(v&15) << (v >> 4 & 15) >> 3
			low := uint64(v>>8) * 0x9e3779b97f4a7c15
			digests, ticks = append(digests, digest.Digest{low, low * 0xbf58476d1ce4e5b9}), append(ticks, tick)
		}
		if len(ticks) > 0 {
			checkTimers(t, timerShapes[int(shape)%len(timerShapes)], 1+int(lines%4), 64, digests, ticks)
		}
	})
}

func TestTimerParamsErrors(t *testing.T) {
	for _, c := range []struct {
		want string
		p    TimerParams
	}{
		{"12 bits", TimerParams{Bits: 12, K: 1, Window: 1}},
		{"K is 0", TimerParams{Bits: 8, Window: 1}},
		{"K is 9", TimerParams{Bits: 8, K: 9, Window: 1}},
		{"Window is 255, must be from 1 to 254", TimerParams{Bits: 8, K: 1, Window: 255}},
		{"Window is 0, must be from 1 to 65534", TimerParams{Bits: 16, K: 1}},
		{"Equal is 4, must be from 0 to 3", TimerParams{Bits: 16, K: 3, Window: 1, Equal: 4}},
		{"Equal is -1", TimerParams{Bits: 16, K: 3, Window: 1, Equal: -1}},
	} {
		_, err := NewTimerRule(c.p)
		if !errors.Is(err, errParams) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want %q", c.p, err, c.want)
		}
	}
}

func TestTimersPanics(t *testing.T) {
	rule := timerRule(t, timerShapes[0])
	for _, c := range []struct {
		want        string
		lines, seen int
		ticks       []uint64
	}{
		{"no lines", 0, 1, []uint64{1, 1}},
		{"seen", 1, 0, []uint64{1, 1}},
		{"ticks shorter", 1, 1, []uint64{1}},
		{"ticks fall", 1, 1, []uint64{math.MaxUint64, 0}},
	} {
		kerneltest.Panics(t, c.want, func() {
			TestAndSetTimers(make([]layout.Line, c.lines), make([]uint64, c.seen), make([]digest.Digest, 2), c.ticks, rule, &TimerCounts{})
		})
	}
}

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

func (m *timerModel) testAndSet(d digest.Digest, tick uint64) (seen bool) {
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

// line returns the expected words of a line after a sweep at tick, and the number of its
// live timers.
func (m *timerModel) line(i int, tick uint64) (w [8]uint64, live uint64) {
	for c, s := range m.lines[i] {
		if m.live(s, tick) {
			live++
			w[c*m.p.Bits/64] |= (1 + s.tick%(1<<m.p.Bits-1)) << (c * m.p.Bits % 64)
		}
	}
	return w, live
}

// timerTicks draws n ticks from start on: most repeat or follow the one before, some leap
// by up to longest.
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

// timerShapes are parameters of timer lines: usual ones, and the ends of all ranges.
var timerShapes = []TimerParams{
	{Bits: 8, K: 3, Window: 200},
	{Bits: 8, K: 4, Window: 254, Refresh: true},
	{Bits: 8, K: 1, Window: 1, Equal: 1},
	{Bits: 8, K: 3, Window: 100, Equal: 2},
	{Bits: 8, K: layout.MaxCellK, Window: 30, Equal: layout.MaxCellK, Refresh: true},
	{Bits: 16, K: 2, Window: 40000},
	{Bits: 16, K: 3, Window: 65000, Equal: 2, Refresh: true},
	{Bits: 16, K: 5, Window: 10, Equal: 3},
	{Bits: 16, K: layout.MaxCellK, Window: 1000, Refresh: true},
}

func timerRule(t testing.TB, p TimerParams) *TimerRule {
	t.Helper()
	r, err := NewTimerRule(p)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestTimerLevels compares verdicts, counts and memory for batches of lengths from 0
// to 300, with guard pages around all buffers.
func TestTimerLevels(t *testing.T) {
	kerneltest.ForLevels(t, func(t *testing.T) {
		for _, batch := range digestBatches {
			for i, p := range timerShapes {
				t.Run(fmt.Sprintf("%s/%+v", batch.name, p), func(t *testing.T) {
					rng, rule := rand.New(rand.NewPCG(uint64(i), 3)), timerRule(t, p)
					front, times := i%2 == 0, guardedPart[uint64](t, mostElements, i%2 == 0)
					test := levelTest{lines: 5, front: front, rng: rng, draw: batch.drawing(rng)}
					test.call = func(n int) levelCall {
						ticks, now := times(n), rng.Uint64()>>rng.IntN(64)
						copy(ticks, timerTicks(rng, n, rng.Uint64()>>rng.IntN(64)>>8, 2*p.Window))
						return func(lines, _ []layout.Line, seen []uint64, digests []digest.Digest) any {
							var c TimerCounts
							TestAndSetTimers(lines, seen, digests, ticks, rule, &c)
							if n%3 == 0 { // the kernels agree even without sweeps
								SweepTimers(lines, now, rule, &c)
							}
							return c
						}
					}
					test.run(t)
				})
			}
		}
	})
}

// TestTimerStamps compares the kernels' computation of stamps with a division, for ticks
// around the multiples of all its summands.
func TestTimerStamps(t *testing.T) {
	kerneltest.ForLevels(t, func(t *testing.T) {
		var ticks []uint64
		for shift := range 64 {
			for _, near := range []uint64{255, 256, 65535, 65536} {
				for d := range uint64(5) {
					ticks = append(ticks, near<<shift+d-2, 1<<shift+d-2, math.MaxUint64/near<<shift+d)
				}
			}
		}
		slices.Sort(ticks)
		for _, bits := range []int{8, 16} {
			rule := timerRule(t, TimerParams{Bits: bits, K: 1, Window: 1})
			for from := 0; from < len(ticks); from += 64 {
				part := ticks[from:min(from+64, len(ticks))]
				var stamps timerStamps
				stamps.fill(part, rule)
				for i, tick := range part {
					if want := rule.ones * (1 + tick%(1<<bits-1)); stamps.stamp[i] != want {
						t.Fatalf("%d bits: stamp of %d is %#x, want %#x", bits, tick, stamps.stamp[i], want)
					}
				}
			}
		}
	})
}

// TestTicksFall lets one tick of each batch fall, or none.
func TestTicksFall(t *testing.T) {
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		for n := range 100 {
			ticks := kerneltest.Guarded[uint64](t, n, n%2 == 0)
			for at := range n + 1 {
				for i := range ticks {
					ticks[i] = math.MaxInt64 - 50 + uint64(i)
				}
				if at < n {
					ticks[at] = math.MaxUint64
				}
				if got, want := decreasing(ticks), at < n-1; got != want {
					t.Fatalf("%d ticks, number %d is greatest: fall %v, want %v", n, at, got, want)
				}
			}
		}
	})
}
