// SPDX-License-Identifier: Apache-2.0

package sizing

import (
	"fmt"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/stream"
	"github.com/flowdedup/flowdedup/engine/window"
)

// lineFilter makes a candidate's filter in lines.
func lineFilter(t *testing.T, c *Candidate) *stream.Filter {
	t.Helper()
	config := stream.Config{
		Method: c.Method.Name, Memory: c.MemoryBits / 8,
		K: c.value("K"), P: c.value("P"), Max: c.value("Max"),
	}
	if c.value("cell bits") != 0 {
		config.Shape = fmt.Sprintf("%dx%d", c.value("cells"), c.value("cell bits"))
	}
	s, err := stream.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// TestLines compares predictions with runs of the engine's filters. Rates of bits and
// cells are bounds, and streams with many repeats stay below them. off is the allowed
// relative error of misses.
func TestLines(t *testing.T) {
	const elements, from, longest = 110_000, 40_000, 1 << 12
	for _, fresh := range []float64{0.4, 0.9} {
		s := newTestStream(elements, fresh, longest, 5)
		distinct, gaps := s.load(from)
		for _, c := range []struct {
			method string
			fixed  Parameters
			off    float64
		}{
			{"sbf", Parameters{CellBits: 1}, 0.05}, {"sbf", Parameters{CellBits: 2, K: 3}, 0.05}, {"sbf", Parameters{CellBits: 4}, 0.05},
			{"sbf", Parameters{CellBits: 2, K: 4, P: 40}, 0.05},
			{"bsbf", Parameters{K: 4}, 0.05}, {"rlbsbf", Parameters{K: 3}, 0.05},
			{"qht", Parameters{Cells: 8}, 0.1}, {"qht", Parameters{Cells: 4, CellBits: 16}, 0.1}, {"qht", Parameters{Cells: 32}, 0.1},
			{"qqhtd", Parameters{Cells: 8, CellBits: 8}, 0.05}, {"qqhtd", Parameters{Cells: 16}, 0.05},
			{"qhtd", Parameters{Cells: 8}, 0.2}, {"qqht", Parameters{Cells: 8}, 0.1}, {"qqht", Parameters{Cells: 32}, 0.1},
		} {
			plan := planned(t, Question{
				Method: c.method, Fixed: c.fixed, Key: Other, MemoryBits: 16 * lineBits, FPR: 0.1, Distinct: distinct, Gaps: gaps,
			}, c.method)
			filter := lineFilter(t, &plan)
			if bound := filter.Stats().FPRBound; bound != plan.FPR {
				t.Errorf("%s %+v: FPR %g, the filter says %g", c.method, c.fixed, plan.FPR, bound)
			}
			fpr, fnr := s.rates(oneByOne{filter}, from)
			n := float64(elements - from)
			near(t, fmt.Sprintf("%s %+v FPR", c.method, c.fixed), plan.FPR, fpr, 0.05, n*distinct, true)
			near(t, fmt.Sprintf("%s %+v FNR", c.method, c.fixed), plan.FNR, fnr, c.off, n*(1-distinct), false)
		}
	}
}

// TestMeasuredLives compares misses of some 10, 1 and 0.1 % where elements that come often go
// on to come often: of queues by measured lives, within 15 %, and within 30 % below 1 %; of
// random evictions by gaps, where such elements have more copies.
func TestMeasuredLives(t *testing.T) {
	const elements = 400_000
	s := newTestStream(elements, 0.3, 1<<13, 3)
	track := NewTracker(window.Window{None: true}, false, MaxTracked)
	for _, d := range s.elements {
		track.Add(d, 0)
	}
	distinct, gaps := s.load(0)
	for _, c := range []struct {
		method string
		lines  int
		off    float64
	}{{"qqht", 32, 0.15}, {"qqht", 96, 0.15}, {"qqht", 192, 0.3}, {"qhtd", 32, 0.3}, {"qhtd", 192, 0.35}} {
		p := planned(t, Question{
			Method: c.method, Fixed: Parameters{Cells: 8, CellBits: 8}, Key: Other, MemoryBits: c.lines * lineBits, FPR: 0.1,
			Distinct: distinct, Gaps: gaps, Lives: track.Lives(),
		}, c.method)
		_, fnr := s.rates(oneByOne{lineFilter(t, &p)}, 0)
		near(t, fmt.Sprintf("%s of %d lines", c.method, c.lines), p.FNR, fnr, c.off, elements*(1-distinct), false)
	}
}

// TestQueuesOfNewElements expects memory for repeats even where hardly any come.
func TestQueuesOfNewElements(t *testing.T) {
	of := func(method string) int {
		return planned(t, Question{FPR: 0.1, Elements: 1e5, FNR: 0.01, Method: method}, method).NeededBits
	}
	if queue, latest := of("qqht"), of("qqhtd"); queue < latest*8/10 || queue > latest*12/10 {
		t.Errorf("%d bits of a queue, %d of one of all sightings", queue, latest)
	}
}

// TestTimersInLines compares the prediction with window.Timers: no miss within the
// window, and the FPR.
func TestTimersInLines(t *testing.T) {
	const elements, size = 60_000, 4000
	s := newTestStream(elements, 0.7, size, 13)
	distinct, gaps := s.load(size)
	for _, fixed := range []Parameters{{}, {CellBits: 16}, {K: 2}, {K: 3}} {
		c := planned(t, Question{
			Kind: Count, Elements: size, Distinct: distinct, Gaps: gaps, MemoryBits: 1000 * lineBits, FPR: 0.05, Fixed: fixed, Refresh: true,
		}, "timers")
		if c.FNR != 0 {
			t.Fatalf("%+v: %+v", fixed, c)
		}
		filter, err := window.NewTimers(window.TimersConfig{
			Window: window.Window{Packets: size}, Memory: c.MemoryBits / 8, K: c.value("K"), TimerBits: c.value("counter bits"), Refresh: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		defer filter.Close()
		fpr, fnr := s.rates(packetsOneByOne{filter}, size)
		if fnr != 0 {
			t.Errorf("%+v: FNR %g", fixed, fnr)
		}
		near(t, fmt.Sprintf("%+v FPR", fixed), c.FPR, fpr, 0.1, distinct*(elements-size), true)
		if fpr < c.FPR/2 {
			t.Errorf("%+v: FPR %g, far below the %g planned", fixed, fpr, c.FPR)
		}
	}
}

// packetsOneByOne makes a packet filter a paper.Filter.
type packetsOneByOne struct{ filter engine.PacketFilter }

// TestAndSet implements paper.Filter.
func (f packetsOneByOne) TestAndSet(d digest.Digest) bool {
	var seen [1]uint64
	f.filter.TestAndSet(seen[:], []digest.Digest{d}, make([]int64, 1), nil)
	return seen[0] != 0
}

// Bits implements paper.Filter.
func (f packetsOneByOne) Bits() int { return 0 }
