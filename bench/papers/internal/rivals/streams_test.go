// SPDX-License-Identifier: Apache-2.0

package rivals

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/engine/window"
)

func TestTrace(t *testing.T) {
	const n, window, from = 500, 40, 100
	r := rand.New(rand.NewPCG(10, 0))
	elements, times := make([]uint32, n), make([]int64, n)
	for i := range elements {
		elements[i] = r.Uint32N(30)
		times[i] = times[max(i-1, 0)] + r.Int64N(4)
	}
	got := newTrace(elements, times, window, from)
	sum, most := 0, 0
	for i := range elements {
		since, held := int64(never), map[uint32]bool{}
		for j := range i + 1 {
			if j < i && elements[j] == elements[i] {
				since = times[i] - times[j]
			}
			if times[i]-times[j] < window {
				held[elements[j]] = true
			}
		}
		if got.since[i] != since {
			t.Fatalf("record %d came %d ago, want %d", i, got.since[i], since)
		}
		most = max(most, len(held))
		if i >= from {
			sum += len(held)
		}
	}
	if got.most != most || math.Abs(got.distinct-float64(sum)/(n-from)) > 1e-9 {
		t.Errorf("%v different elements, %d at most, want %v and %d", got.distinct, got.most, float64(sum)/(n-from), most)
	}
}

// oracle answers exactly for a window.
type oracle struct {
	window int64
	last   map[digest.Digest]int64
}

func (o *oracle) Bits() int { return 0 }

func (o *oracle) TestAndSet(d digest.Digest, now int64) bool {
	before, known := o.last[d]
	o.last[d] = now
	return known && now-before <= o.window
}

func TestVerdictsOfAnOracle(t *testing.T) {
	for _, tr := range []*trace{sliding(20_000, 500), packets(20_000, 1e6), crawl(20_000)} {
		older := 0
		for _, since := range tr.since[tr.from:] {
			if since > tr.window {
				older++
			}
		}
		for _, tr.strict = range []bool{false, true} {
			v, all := tr.run(&oracle{tr.window, map[digest.Digest]int64{}}), len(tr.elements)-tr.from
			if !tr.strict {
				all -= older
			}
			if v.FalsePositives != 0 || v.FalseNegatives != 0 || v.late.FalsePositives != 0 || v.Distinct+v.Duplicates != all {
				t.Errorf("an exact window of %d elements: %+v", all, v)
			}
		}
	}
}

// TestStreams checks that streams match their descriptions, within six standard
// deviations.
func TestStreams(t *testing.T) {
	s := sliding(200_000, 5000)
	fresh, late := 0, 0
	for i, since := range s.since {
		if since == never {
			fresh++
		}
		if i > 20_000 && since > 20_000 {
			late++
		}
	}
	plausible(t, "new elements", fresh, len(s.elements), .5, 0)
	if late != 0 {
		t.Errorf("%d lags above four windows", late)
	}
	const window = 1_000_000
	p := packets(200_000, window)
	fresh, copies, repeats := 0, 0, 0
	for i, since := range p.since {
		if i > 0 && p.times[i] < p.times[i-1] {
			t.Fatal("time runs backwards")
		}
		switch {
		case since == never:
			fresh++
		case since <= window/2:
			copies++
		case since > window && since <= 50*window:
			repeats++
		default:
			t.Fatalf("a packet comes again after %d", since)
		}
	}
	if math.Abs(float64(copies)/float64(fresh)-.6) > .015 {
		t.Errorf("%d copies of %d packets", copies, fresh)
	}
	plausible(t, "repeats", repeats, fresh, .02, .2) // some come after the end
	span := float64(p.times[len(p.times)-1]-p.times[0]) / 1e9
	if rate := float64(fresh) / span; rate < .7e6 || rate > 1.4e6 {
		t.Errorf("%.0f new packets a second", rate)
	}
	u := uniform(10_000)
	if slices.Max(u.elements) != 5999 {
		t.Errorf("%d different elements", slices.Max(u.elements)+1)
	}
}

func TestPareto(t *testing.T) {
	var all []point
	for i, p := range [][2]float64{{3, 1}, {1, 4}, {2, 2}, {2, 2}, {5, 0}, {1, 5}, {4, 1}, {2, 3}} {
		all = append(all, point{i, p[0], p[1]})
	}
	var got []int
	for _, p := range pareto(all) {
		got = append(got, p.method)
	}
	if !slices.Equal(got, []int{1, 2, 3, 0, 4}) {
		t.Errorf("front %v", got)
	}
	if pareto(nil) != nil {
		t.Error("a front of nothing")
	}
}

// TestGrid checks that the table of two methods shows the results of the runs.
func TestGrid(t *testing.T) {
	tr := sliding(30_000, 1000)
	packets := func(n int64) window.Window { return window.Window{Packets: n} }
	g := newGrid(tr, []method{stamped(16, 24, 8, lineBits), engineTimers("timers", 2, 1, true, packets)}, 16, 64)
	table := result.Table{Charts: make([]result.Picture, 1)}
	g.fill(result.Options{Workers: 2}, &table)
	if len(table.Rows) != 2 || len(table.Columns) != 4 || len(table.Rows[0].Cells) != 4 || len(table.Notes) != 2 {
		t.Fatalf("table %+v", table)
	}
	if got := table.Rows[1].Cells[2].Ours; got != 100*g.cells[1][1].FPR() || got == 0 {
		t.Errorf("timers' rate %v", got)
	}
	rows, timers := g.cells[0][1], g.cells[1][1]
	if want := g.methods[0].predict(g.memory[1], tr); rows.FalsePositives != 0 || rows.fpr != want || want == 0 {
		t.Errorf("a rate without events is %v, predicted %v", rows.fpr, want)
	}
	if want := timers.FPR(); timers.fpr != want {
		t.Errorf("a rate with events is %v, want %v", timers.fpr, want)
	}
	if front, sums := table.Charts[0].Chart.Lines, g.byMemory(); len(front) != 2 || len(sums) == 0 || len(sums[0].X) != 2 || len(sums[0].Y) != 2 {
		t.Errorf("lines %+v and %+v", front, sums)
	}
	timers.FalsePositives = 0
	if got, want := g.newCell(g.methods[1], 0, timers.verdicts).fpr, 1/float64(timers.Distinct); got != want {
		t.Errorf("a rate without events or prediction is %v, want %v", got, want)
	}
}
