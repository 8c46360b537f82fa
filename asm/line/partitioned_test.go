// SPDX-License-Identifier: Apache-2.0

package line

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
	"github.com/flowdedup/flowdedup/layout"
)

// partitionedModel is the contract of TestAndSetPartitioned: a list of slices for each
// line, the youngest first.
type partitionedModel struct {
	p     PartitionedParams
	lines []partitionedModelLine
}

type partitionedModelLine struct {
	clock  uint32
	slices []partitionedSlice // up to 60
}

// partitionedSlice has the number of its hash function, and the bits that are set.
type partitionedSlice struct {
	number int
	bits   [8]bool
}

func (m *partitionedModel) testAndSet(d digest.Digest, tick int64) bool {
	if tick == layout.NoTick {
		return false
	}
	at, _ := bits.Mul64(d[1], uint64(len(m.lines)))
	l := &m.lines[at]
	now := uint32(tick)
	anew := func(clock uint32) {
		*l = partitionedModelLine{clock: clock}
		for age := range 60 {
			l.slices = append(l.slices, partitionedSlice{number: (int(clock%60) - age + 60) % 60})
		}
	}
	if len(l.slices) == 0 {
		anew(0)
	}
	late, begun := uint64(l.clock-now), uint64(now-l.clock)
	switch {
	case late < 60:
	case begun >= 60 || (uint64(l.clock)%60+begun)%60 != uint64(now%60): // the clock wrapped around
		anew(now)
	default:
		for range begun {
			youngest := partitionedSlice{number: l.slices[59].number}
			l.slices = append([]partitionedSlice{youngest}, l.slices[:59]...)
		}
		l.clock = now
	}
	bit := func(s *partitionedSlice) *bool {
		high, low := bits.Mul64(d[0]^uint64(s.number/8+1)*0x9e3779b97f4a7c15, 0xd6e8feb86659fd93)
		return &s.bits[(high^low)>>(s.number%8*8)&7]
	}
	run, found := 0, false
	for age := range l.slices {
		if run++; !*bit(&l.slices[age]) {
			run = 0
		}
		found = found || run == m.p.K
	}
	if !found || m.p.Refresh {
		for age := range m.p.K {
			*bit(&l.slices[age]) = true
		}
	}
	return found
}

// line returns the words that a line must hold.
func (l *partitionedModelLine) line() (w layout.Line) {
	for _, s := range l.slices {
		for i, set := range s.bits {
			if set {
				w[s.number/8] |= 1 << (s.number%8*8 + i)
			}
		}
	}
	w[7] |= uint64(l.clock) << 32
	return w
}

// checkPartitioned runs s through kernel and model in batches of the given size and
// compares verdicts, counts and every line.
func checkPartitioned(t *testing.T, p PartitionedParams, lineCount, batch int, s *timedStream) {
	t.Helper()
	model := &partitionedModel{p: p, lines: make([]partitionedModelLine, lineCount)}
	lines := make([]layout.Line, lineCount)
	var c PartitionedCounts
	timeless := uint64(0)
	stream := modelTest{
		name: p, n: len(s.digests), batch: always(batch),
		kernel: func(from, to int, seen []uint64) {
			TestAndSetPartitioned(lines, seen, s.digests[from:to], s.ticks[from:to], p, &c)
		},
		model: func(i int) bool {
			if s.ticks[i] == layout.NoTick {
				timeless++
			}
			return model.testAndSet(s.digests[i], s.ticks[i])
		},
	}
	if missed := stream.run(t) - timeless; c.Missed != missed {
		t.Fatalf("%+v: %d missed, want %d", p, c.Missed, missed)
	}
	checkLines(t, p, lines, func(i int) layout.Line { return model.lines[i].line() })
}

func TestPartitionedAgainstModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(71, 72))
	for k := 1; k <= layout.MaxPartitionedK; k++ {
		p := PartitionedParams{K: k, Refresh: k%3 == 0}
		for _, lines := range []int{1, 3, 16} {
			for _, batch := range []int{1, 64, 65, 1000} {
				if testing.Short() && (k+lines+batch)%3 != 0 {
					continue
				}
				// Times walk by up to two generations, and jump.
				checkPartitioned(t, p, lines, batch, coarseStream(rng, 600, CoarseParams{Window: rng.IntN(8)}))
			}
		}
	}
}

// TestPartitionedWindow finds an element for 60-K generations after its own, and not once K
// more have passed.
func TestPartitionedWindow(t *testing.T) {
	for _, k := range []int{1, 2, 7, 12, 32} {
		p := PartitionedParams{K: k}
		for start := range int64(130) {
			for after := range int64(64) {
				lines, seen := make([]layout.Line, 1), make([]uint64, 1)
				d := []digest.Digest{{1 << 50}, {1 << 50}}
				TestAndSetPartitioned(lines, seen, d, []int64{start, start + after}, p, &PartitionedCounts{})
				if want := after <= int64(p.Generations()); seen[0]>>1 == 1 != want {
					t.Fatalf("K %d: found %v after %d generations", k, !want, after)
				}
			}
		}
	}
}

func FuzzPartitioned(f *testing.F) {
	f.Add(uint8(0), uint8(1), []byte{})
	f.Add(uint8(7), uint8(3), kerneltest.Pattern(400))
	f.Fuzz(func(t *testing.T, k, lines uint8, data []byte) {
		p := PartitionedParams{K: 1 + int(k)%layout.MaxPartitionedK, Refresh: k&128 != 0}
		s := &timedStream{}
		now := int64(0)
		for ; len(data) >= 3; data = data[3:] {
			v := binary.LittleEndian.Uint16(data[1:])
			step := int64(v&0xff) >> (v >> 8 & 7) << (v >> 11 & 7 * 5)
			if now += step; v>>14&1 != 0 {
				now -= 2 * step
			}
			d := uint64(data[0]) * 0x9e3779b97f4a7c15
			s.add(digest.Digest{d, d * 0xbf58476d1ce4e5b9}, now, 0)
		}
		checkPartitioned(t, p, 1+int(lines%4), 64, s)
	})
}

func TestPartitionedGolden(t *testing.T) {
	digests := goldenStream()
	ticks, _ := goldenTimes(len(digests), &TimedParams{TickBits: 40, Window: 2})
	lines, seen := make([]layout.Line, 80), make([]uint64, (len(digests)+63)/64)
	var c PartitionedCounts
	TestAndSetPartitioned(lines, seen, digests, ticks, PartitionedParams{K: 12}, &c)
	if got, want := goldenSum(t, seen, lines, c), "62179345983ef6e9"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestPartitionedPanics(t *testing.T) {
	for _, c := range []struct {
		want                  string
		k, lines, seen, ticks int
	}{
		{"no lines", 1, 0, 1, 1}, {"seen", 1, 1, 0, 1}, {"ticks", 1, 1, 1, 0}, {"K out", 0, 1, 1, 1}, {"K out", 33, 1, 1, 1},
	} {
		kerneltest.Panics(t, c.want, func() {
			TestAndSetPartitioned(make([]layout.Line, c.lines), make([]uint64, c.seen), make([]digest.Digest, 1),
				make([]int64, c.ticks), PartitionedParams{K: c.k}, &PartitionedCounts{})
		})
	}
}
