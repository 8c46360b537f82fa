// SPDX-License-Identifier: Apache-2.0

package sizing

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/sizing/sizingtest"
	"github.com/flowdedup/flowdedup/engine/window"
	"github.com/flowdedup/flowdedup/layout"
)

// TestReplay compares the misses that samples predict with filters on whole streams, whose members
// come equally often, or some far more often than others, or again soon after they came. The
// samples are whole, and parts.
func TestReplay(t *testing.T) {
	const n, size = 200_000, 10_000
	streams := map[string][]digest.Digest{
		"fixed population": sizingtest.Population(n, 5000, 5),
		"busy members":     sizingtest.Busy(n, 20_000, 5),
		"lags":             sizingtest.NewStream(n, 0.5, size, 5).Elements,
	}
	for name, elements := range streams {
		for _, c := range []struct {
			method string
			window window.Window
			lines  int
		}{
			{"timed", window.Window{Packets: size}, 400}, {"timed", window.Window{Packets: size}, 800}, {"timed", window.Window{Duration: size}, 700},
			{"fine", window.Window{Packets: size}, 200}, {"coarse", window.Window{Duration: size}, 150},
			{"timed", window.Window{None: true}, 800}, {"lru", window.Window{None: true}, 800}, {"sbf", window.Window{None: true}, 800},
		} {
			what := fmt.Sprintf("%s, %s in %d lines, window %v", name, c.method, c.lines, c.window)
			testReplay(t, what, elements, c.method, c.window, c.lines)
		}
	}
}

// testReplay expects the rate of missed copies within a fifth, below 1 % a third, and three standard
// errors.
func testReplay(t *testing.T, what string, elements []digest.Digest, method string, w window.Window, lines int) {
	m := &methods[slices.IndexFunc(methods, func(m Method) bool { return m.Name == method })]
	rate, deviation := 0.0, 0.0
	for _, limit := range []int{math.MaxInt, len(elements), len(elements) / 2} {
		track := NewTracker(w, false, limit)
		for i, d := range elements {
			track.Add(d, int64(i))
		}
		q := Question{Distinct: track.DistinctShare(), Gaps: track.Gaps(), Sample: track.Sample(), Length: float64(len(elements)), FPR: 0.1}
		q.Elements = track.WindowElements(q.Gaps)
		q.Kind = map[bool]Kind{w.Packets > 0: Count, w.Duration > 0: Sliding, w.None: Unbounded}[true]
		r, err := NewRequest(q)
		if err != nil {
			t.Fatal(err)
		}
		d, err := m.predictor(true)(r, lines*lineBits)
		if err != nil {
			t.Fatal(err)
		}
		if rate == 0 {
			rate, deviation = missesOfFilters(t, func() (engine.PacketFilter, error) { return m.filter(w, w.None, d, lines*lineBits/8) }, elements, w)
		}
		off := 0.2
		if rate < 0.01 {
			off = 1.0 / 3
		}
		const few = 1e-6
		if math.Abs(d.FNR-rate) > off*rate+3*deviation+few {
			t.Errorf("%s, a share of %v: %.3g ± %.1g of the copies are missed, predicted are %.3g", what, q.Sample.share, rate, deviation, d.FNR)
		}
		if testing.Short() {
			break
		}
	}
}

// missesOfFilters returns the share of the copies that filters miss and, since the lines that are
// crowded differ by filter, the standard error of their mean.
func missesOfFilters(t *testing.T, open func() (engine.PacketFilter, error), elements []digest.Digest, w window.Window) (rate, deviation float64) {
	t.Helper()
	const filters = 6
	squares := 0.0
	for key := range uint64(filters) {
		f, err := open()
		if err != nil {
			t.Fatal(err)
		}
		keyed := slices.Clone(elements)
		for i := range keyed {
			keyed[i] = digest.Digest{layout.Mix(keyed[i][0] ^ key), layout.Mix(keyed[i][1] ^ key)}
		}
		size := math.MaxInt
		if !w.None {
			size = int(w.Packets) + int(w.Duration)
		}
		_, fnr, _, _ := sizingtest.PacketRates(f, keyed, size, 0, 0, w.None)
		f.Close()
		rate, squares = rate+fnr/filters, squares+fnr*fnr/filters
	}
	return rate, math.Sqrt(max(0, squares-rate*rate) / (filters - 1))
}

// TestSampler expects few sightings of any stream, moved together.
func TestSampler(t *testing.T) {
	const limit, length = 1000, 16
	for _, w := range []window.Window{{None: true}, {Packets: length}, {Duration: length}, {Duration: math.MaxInt64}} {
		for name, element := range map[string]func(i int) digest.Digest{
			"all differ": func(i int) digest.Digest { return digest.Digest{uint64(i) * 0x9e3779b97f4a7c15, 1} },
			"all equal":  func(int) digest.Digest { return digest.Digest{0, 1} },
		} {
			s := newSampler(w, limit)
			for i := range 100 * limit {
				s.add(sighting{element(i), int64(i) - 1000})
				if len(s.sightings) > limit {
					t.Fatalf("%v, %s: %d sightings", w, name, len(s.sightings))
				}
			}
			r := s.result(0)
			if r == nil {
				if name == "all differ" {
					t.Errorf("%v: no sample", w)
				}
				continue
			}
			if parts := s.all / float64(len(r.elements)) * r.share; math.Abs(parts-1) > 0.5 && name == "all differ" {
				t.Errorf("%v: a share of %v has %d of %v sightings", w, r.share, len(r.elements), s.all)
			}
			for i := 1; i < len(r.times) && w.Duration == length; i++ {
				if r.times[i] != r.times[i-1]+1 {
					t.Fatalf("%s: times %d and %d follow each other", name, r.times[i-1], r.times[i])
				}
			}
		}
	}
	if NewTracker(window.Window{None: true}, false, 100).Sample() != nil {
		t.Error("a sample of nothing")
	}
}

// TestWindowElements expects the true number of elements in a window if some come again at its end.
func TestWindowElements(t *testing.T) {
	const inWindow = 5000
	track := NewTracker(window.Window{Duration: inWindow * time.Microsecond}, false, MaxTracked)
	for i := range 20 * inWindow {
		track.Add(digest.Digest{uint64(i % inWindow), 1}, int64(i)*1000)
	}
	if got := track.WindowElements(track.Gaps()); got < inWindow || got > inWindow+1 {
		t.Errorf("%v elements in a window, want %d", got, inWindow)
	}
}

// TestManualMisses makes the manual's table of misses by memory in accuracy.md again, up to 10 %: all
// of a window's elements differ, and repeats are spread evenly.
func TestManualMisses(t *testing.T) {
	r, err := NewRequest(Question{Kind: Sliding, Elements: 1e6, FPR: 1e-5})
	if err != nil {
		t.Fatal(err)
	}
	for bits, want := range map[int]map[string]float64{
		256: {"timed": 2e-6}, 128: {"timed": 0.0076, "fine": 7e-11, "coarse": 2e-16},
		88: {"timed": 0.11, "fine": 2e-6, "coarse": 7e-11}, 64: {"timed": 0.28, "fine": 0.002, "coarse": 3e-6},
	} {
		for _, m := range methods[:3] {
			want, some := want[m.Name]
			if !some { // too few for a float64
				continue
			}
			d, err := m.model(r, bits*1e6)
			if err != nil || math.Abs(d.FNR/want-1) > 0.1 && fmt.Sprintf("%.0e", d.FNR) != fmt.Sprintf("%.0e", want) {
				t.Errorf("%d bits, %s: %.3g are missed, the manual has %v; %v", bits, m.Name, d.FNR, want, err)
			}
		}
	}
}
