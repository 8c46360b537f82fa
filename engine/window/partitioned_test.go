// SPDX-License-Identifier: Apache-2.0

package window

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/internal/check"
	"github.com/flowdedup/flowdedup/engine/theory"
	"github.com/flowdedup/flowdedup/layout"
)

func newPartitioned(t testing.TB, c PartitionedConfig) *Partitioned {
	t.Helper()
	f, err := NewPartitioned(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// TestPartitionedEqualsExact has times that are multiples of a generation, in order, and
// memory for no false positives.
func TestPartitionedEqualsExact(t *testing.T) {
	for _, text := range []string{"3us", "200us", "1ms", "1s", "n:1", "n:30"} {
		w := mustWindow(t, text)
		for _, name := range []string{"in order", "slow"} {
			for _, refresh := range []bool{false, true} {
				f := newPartitioned(t, PartitionedConfig{Window: w, Memory: ample, K: 20, Refresh: refresh})
				s := check.RandomPackets(7, 6000, check.Clocks(max(int64(w.Duration), 1000))[name])
				size := int64(f.tick.by) * int64(f.params.Generations())
				s.Round(int64(f.tick.by))
				exact := newExact(t, TimedConfig{Window: Window{Duration: time.Duration(size)}, Refresh: refresh})
				if w.Packets > 0 {
					exact = newExact(t, TimedConfig{Window: Window{Packets: size}, Refresh: refresh})
				}
				got, want := s.Verdicts(f, 1000), s.Verdicts(exact, 1000)
				if !slices.Equal(got, want) {
					t.Errorf("%s, %s: other verdicts", text, name)
				}
				if !slices.Contains(want, true) {
					t.Errorf("%s, %s: no copies", text, name)
				}
			}
		}
	}
}

// TestPartitionedWindow finds copies up to a window later whatever comes in between, and,
// without other elements, not beyond EdgeError.
func TestPartitionedWindow(t *testing.T) {
	for _, text := range []string{"1ns", "48ns", "49ns", "1ms", "1s", "1h", "999999937ns"} {
		for _, k := range []int{1, 12, 32} {
			w := mustWindow(t, text)
			size := int64(w.Duration)
			edge := newPartitioned(t, PartitionedConfig{Window: w, Memory: 64, K: k}).Stats().EdgeError
			most := size + int64(math.Round(edge*float64(size)))
			for _, distance := range []int64{0, 1, size / 2, size - 1, size, most + 1, 3*size + 100} {
				for phase := range int64(50) {
					f := newPartitioned(t, PartitionedConfig{Window: w, Memory: 64, K: k})
					start := 1_700_000_000_000_000_000 + phase*(size/47+1)
					seen := make([]uint64, 1)
					f.TestAndSet(seen, []digest.Digest{{5}, {5}}, []int64{start, start + distance}, nil)
					if isCopy := seen[0] == 2; distance <= size && !isCopy || distance > most && isCopy {
						t.Fatalf("%s, K %d: distance %d of at most %d: copy %v", text, k, distance, most, isCopy)
					}
				}
			}
		}
	}
}

// TestPartitionedEdge repeats elements after their window. Some are found while their slices
// leave, which EdgeError covers. After that, they are found as often as new ones.
func TestPartitionedEdge(t *testing.T) {
	const lines, load, n = 256, 10, 200_000
	w := Window{Packets: lines * load}
	f := newPartitioned(t, PartitionedConfig{Window: w, Memory: lines * layout.LineSize})
	edge := f.Stats().EdgeError
	rng := rand.New(rand.NewPCG(9, 9))
	s := &check.Packets{}
	var within, beyond, foundWithin, foundBeyond float64
	repeats := make([]float64, n) // in windows
	for i := range n {
		d := digest.Digest{rng.Uint64(), rng.Uint64()}
		if i%8 == 0 && i > 4*lines*load {
			gap := lines*load + rng.IntN(lines*load)
			if repeats[i-gap] == 0 { // it has not come again, nor is it a repeat
				repeats[i-gap] = -1
				d, repeats[i] = s.Digests[i-gap], float64(gap)/(lines*load)
			}
		}
		s.Add(d, int64(i), 0)
	}
	for i, found := range s.Verdicts(f, 1000) {
		seen := 0.0
		if found {
			seen = 1
		}
		switch {
		case repeats[i] > 1+edge:
			beyond, foundBeyond = beyond+1, foundBeyond+seen
		case repeats[i] > 1+edge/12: // a part later than the window
			within, foundWithin = within+1, foundWithin+seen
		}
	}
	fpr := f.Stats().PredictedFPR
	if edge < 0.2 || foundWithin/within < 10*fpr || foundBeyond > beyond*fpr+5*math.Sqrt(beyond*fpr)+1 {
		t.Errorf("edge error %.3f, predicted %.3g: %.0f of %.0f repeats found within it, %.0f of %.0f beyond", edge, fpr, foundWithin, within, foundBeyond, beyond)
	}
}

// TestPartitionedRate fills windows to some loads: no copy is missed, and new elements are
// found as often as the filter says.
func TestPartitionedRate(t *testing.T) {
	const lines = 512
	for _, c := range []struct {
		k    int
		load int64
	}{{8, 20}, {12, 10}} {
		w := Window{Duration: time.Second}
		f := newPartitioned(t, PartitionedConfig{Window: w, Memory: lines * layout.LineSize, K: c.k})
		const n = 150_000
		rng := rand.New(rand.NewPCG(5, 5))
		s, of := &check.Packets{}, make([]int, n) // of[i] is the element that i copies, or 0
		step := int64(w.Duration) / (c.load * lines)
		for i := range n {
			d := digest.Digest{rng.Uint64(), rng.Uint64()}
			if i%16 == 0 && i > 0 {
				if at := i - 1 - rng.IntN(int(min(int64(i), c.load*lines-1))); of[at] == 0 {
					d, of[i] = s.Digests[at], at
				}
			}
			s.Add(d, int64(i)*step, 0)
		}
		wrong, fresh := 0, 0
		found := s.Verdicts(f, 1000)
		for i, got := range found {
			switch {
			case of[i] > 0:
				if !got && !found[of[i]] { // which was kept
					t.Fatalf("K %d, load %d: copy %d is missed", c.k, c.load, i)
				}
			case i >= 2*int(c.load)*lines:
				if fresh++; got {
					wrong++
				}
			}
		}
		want, err := theory.AgePartitioned{K: c.k, L: f.params.Generations(), SliceBits: 8}.LineFPR(float64(c.load) * 15 / 16)
		if err != nil {
			t.Fatal(err)
		}
		got := float64(wrong) / float64(fresh)
		if slack := 0.15*want + 5*math.Sqrt(want/float64(fresh)); math.Abs(got-want) > slack {
			t.Errorf("K %d, load %d: FPR %.3g, predicted %.3g", c.k, c.load, got, want)
		}
		// The filter counts its elements up to an eighth too high.
		if bound := f.Stats().PredictedFPR; got > bound || bound > 4*want {
			t.Errorf("K %d, load %d: FPR %.3g, the filter says %.3g", c.k, c.load, got, bound)
		}
	}
}

func TestPartitionedBatches(t *testing.T) {
	for _, text := range []string{"1ms", "50ms", "n:700"} {
		for _, name := range []string{"in order", "out of order", "jumps"} {
			s := check.RandomPackets(12, 5000, check.Clocks(100_000)[name])
			for _, refresh := range []bool{false, true} {
				cfg := PartitionedConfig{Window: mustWindow(t, text), Memory: 30 * layout.LineSize, Refresh: refresh}
				one := newPartitioned(t, cfg)
				want := s.Verdicts(one, 1)
				for _, batch := range []int{7, 64, 5000, len(s.Digests)} {
					f := newPartitioned(t, cfg)
					if !slices.Equal(s.Verdicts(f, batch), want) || !slices.Equal(f.arena.Lines(), one.arena.Lines()) || f.Stats() != one.Stats() {
						t.Errorf("window %s, batches of %d: other verdicts or memory, or %+v, want %+v", text, batch, f.Stats(), one.Stats())
					}
				}
			}
		}
	}
}

func TestNewPartitionedErrors(t *testing.T) {
	w := Window{Duration: Default}
	for _, c := range []struct {
		cfg  PartitionedConfig
		want error
	}{
		{PartitionedConfig{Memory: 64}, engine.ErrWindow},
		{PartitionedConfig{Memory: 64, Window: Window{None: true}}, engine.ErrWindow},
		{PartitionedConfig{Memory: 63, Window: w}, engine.ErrMemory},
		{PartitionedConfig{Memory: 64, Window: w, K: -1}, ErrTimers},
		{PartitionedConfig{Memory: 64, Window: w, K: 33}, ErrTimers},
	} {
		if _, err := NewPartitioned(c.cfg); !errors.Is(err, c.want) {
			t.Errorf("%+v: error %v, want %v", c.cfg, err, c.want)
		}
	}
}

func TestPartitionedAllocations(t *testing.T) {
	s := check.RandomPackets(13, 2000, check.Clocks(100_000)["in order"])
	seen := make([]uint64, 32)
	f := newPartitioned(t, PartitionedConfig{Window: mustWindow(t, "1ms"), Memory: 1 << 16})
	if n := testing.AllocsPerRun(5, func() { f.TestAndSet(seen, s.Digests, s.Times, nil) }); n != 0 {
		t.Errorf("%v allocations a batch", n)
	}
}
