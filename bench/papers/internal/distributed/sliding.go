// SPDX-License-Identifier: Apache-2.0

package distributed

import (
	"fmt"
	"math"

	"github.com/flowdedup/flowdedup/bench/papers/chart"
	"github.com/flowdedup/flowdedup/bench/papers/internal/forms"
	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
	"github.com/flowdedup/flowdedup/engine/paper"
)

// source makes the streams of filters with timers.
type source struct {
	dataset
	chances []float64 // of the elements
	seeds   int       // streams to run everything with, from seed 1 on
	events  int       // of a stream
}

// newSource returns the streams of all runs: 3, or 20 with Full.
func newSource(o result.Options) *source {
	return &source{dataset: webLog, chances: webLog.chances(), seeds: o.Size(3, 20), events: events}
}

// stream returns the elements of one stream.
func (s *source) stream(seed int) []uint64 { return s.draw(s.events, uint64(seed)) }

// distinct returns the expected distinct elements of some events.
func (s *source) distinct(events int) float64 { return distinctOf(s.chances, events) }

// held returns the expected number of elements that a filter with a window of some events
// holds.
func (s *source) held(events int) int {
	return int(math.Round(forms.TimerContent(s.chances, events)))
}

// size returns the timers with which k hash functions have the false positive rate
// fpr when n elements are held: -k n / ln(1-fpr^(1/k)).
func size(k int, n, fpr float64) int {
	return int(math.Round(-float64(k) * n / math.Log1p(-math.Pow(fpr, 1/float64(k)))))
}

// setting describes the streams.
func (s *source) setting() string {
	return fmt.Sprintf("%d streams of %d events, the printed number, from a Zipf distribution with exponent %g on %d elements "+
		"(about %.0f of them come; seeds from 1; mean and half the span of their rates). An event is a duplicate if the filter itself has delivered it in the "+
		"latest w units (Definition 4). FPR is FP/(FP+TN), FNR is FN/(FN+TP).",
		s.seeds, s.events, s.alpha, s.domain, s.distinct(s.events))
}

// deliveries holds when each element was last delivered.
type deliveries struct {
	until  []uint64 // the unit in which it leaves the window; 0 if it was never there
	window uint64
}

func newDeliveries(domain, window int) *deliveries {
	return &deliveries{make([]uint64, domain), uint64(window)}
}

// recent reports whether the element was delivered in the window that ends with unit.
func (d *deliveries) recent(element, unit uint64) bool { return unit < d.until[element] }

func (d *deliveries) add(element, unit uint64) { d.until[element] = unit + d.window }

// groundTruth follows the deliveries of a filter and of a filter without errors.
type groundTruth struct {
	own, perfect *deliveries
}

func (s *source) groundTruth(window int) *groundTruth {
	return &groundTruth{newDeliveries(s.domain, window), newDeliveries(s.domain, window)}
}

// scores are a filter's, by its own deliveries and by those of a filter without errors.
type scores struct{ own, perfect stream.Score }

// score takes the filter's answer for the next event.
func (j *groundTruth) score(element, unit uint64, seen bool) (s scores) {
	known := j.perfect.recent(element, unit)
	s.own.Add(j.own.recent(element, unit), seen)
	s.perfect.Add(known, seen)
	if !seen {
		j.own.add(element, unit)
	}
	if !known {
		j.perfect.add(element, unit)
	}
	return s
}

func (s *scores) sum(of scores) {
	s.own.Sum(of.own)
	s.perfect.Sum(of.perfect)
}

const (
	equalK      = 8
	equalFPR    = 0.02
	equalSlices = 40
)

// equalWindows are the windows that Figure 9 is made for; the paper names none.
var equalWindows = []int{1000, 10_000}

// equalRun is one filter with the equal timers heuristic: k' = atLeast, in horizontal
// slices; one slice equals a vertical filter.
type equalRun struct {
	window, slices, atLeast int
}

// equalResult is the outcome of one seed.
type equalResult struct {
	scores
	// groups[x] counts by its own deliveries the events without a zero timer and with at
	// most x equal ones: here true duplicates are Duplicates.
	groups [equalK + 1]stream.Score
}

// equalRuns returns the runs of one window: all k' of filters with the given number of
// slices.
func equalRuns(window, slices int) (runs []equalRun) {
	for atLeast := 1; atLeast <= equalK; atLeast++ {
		runs = append(runs, equalRun{window, slices, atLeast})
	}
	return runs
}

// timers returns the size of the filter.
func (r equalRun) timers(s *source) int { return size(equalK, s.distinct(r.window), equalFPR) }

// measure runs the stream of a seed.
func (r equalRun) measure(s *source, seed int) (out equalResult) {
	config := paper.TimerConfig{Timers: r.timers(s), K: equalK, Window: r.window, Equal: r.atLeast}
	f, truth := result.Must(paper.NewTimerSlices(config, r.slices)), s.groundTruth(r.window)
	for i, element := range s.stream(seed) {
		unit, d := uint64(i), stream.Digest(element)
		group := f.Slice(d).EqualTimers(d, unit)
		one := truth.score(element, unit, f.TestAndSetAt(d, unit))
		out.groups[group].Sum(one.own)
		out.sum(one)
	}
	return out
}

// equalPoint is a point of a curve of Figure 9, by x or k' from 1 on. It has the share of the
// duplicates reported without the heuristic, the true ones among them, and errors; in
// percent.
type equalPoint struct {
	share, genuine, predicted float64
	fpr, fnr                  result.Cell
	perfectFPR, perfectFNR    float64
}

// equalCurve measures the runs of k' = 1 to equalK, for one window and one way of slicing.
func equalCurve(o result.Options, s *source, runs []equalRun) (curve []equalPoint) {
	results := result.Grid(o, len(runs), s.seeds, func(run, seed int) equalResult { return runs[run].measure(s, seed+1) })
	reported, groups := 0, [equalK + 1]stream.Score{}
	for _, of := range results[0] {
		for x, g := range of.groups {
			groups[x].Sum(g)
		}
	}
	for _, g := range groups[1:] {
		reported += g.Distinct + g.Duplicates
	}
	share := func(part, of int) float64 { return 100 * float64(part) / float64(max(of, 1)) }
	for i, r := range results {
		g := groups[i+1]
		inGroup := g.Distinct + g.Duplicates
		form := forms.EqualTimers{Timers: runs[0].timers(s), K: equalK, AtLeast: i + 1}
		curve = append(curve, equalPoint{
			share: share(inGroup, reported), genuine: share(g.Duplicates, inGroup),
			predicted:  100 * form.FPR(s.held(runs[0].window)),
			fpr:        result.SpreadOf(r, func(one equalResult) float64 { return one.own.FPR() }),
			fnr:        result.SpreadOf(r, func(one equalResult) float64 { return one.own.FNR() }),
			perfectFPR: result.SpreadOf(r, func(one equalResult) float64 { return one.perfect.FPR() }).Ours,
			perfectFNR: result.SpreadOf(r, func(one equalResult) float64 { return one.perfect.FNR() }).Ours,
		})
	}
	return curve
}

// figure9 is Figure 9: the equal timers heuristic. Its charts are of true duplicates, FPR and
// FNR.
func figure9(o result.Options, t *result.Table) {
	s := newSource(o)
	values := []any{s.setting()}
	for _, window := range equalWindows {
		v, h := equalCurve(o, s, equalRuns(window, 1)), equalCurve(o, s, equalRuns(window, equalSlices))
		var lines [2][3]chart.Line
		for i := range equalK {
			vertical, horizontal := v[i], h[i]
			cells := result.Cells("%", vertical.share, vertical.genuine)
			cells = append(cells, vertical.fpr, result.Measured(vertical.predicted, "%"), vertical.fnr)
			cells = append(cells, result.Cells("%", horizontal.share, horizontal.genuine)...)
			cells = append(cells, horizontal.fpr, horizontal.fnr)
			t.Rows = append(t.Rows, result.Row{Name: fmt.Sprintf("%d, %d", window, i+1), Cells: cells})
			for way, p := range []equalPoint{v[i], h[i]} {
				for j, y := range []float64{p.genuine, p.fpr.Ours, p.fnr.Ours} {
					l := &lines[way][j]
					l.Name = fmt.Sprintf("%c, w = %d", "VH"[way], window)
					l.X, l.Y = append(l.X, float64(i+1)), append(l.Y, y)
				}
			}
			if i < 3 { // the results of the other meaning of a duplicate
				values = append(values, v[i].perfectFPR, v[i].perfectFNR)
			}
		}
		for _, way := range lines {
			for j, l := range way {
				t.Draw(j, l)
			}
		}
	}
	t.Say(values...)
}

// eventRun is a filter of timers that count deliveries.
type eventRun struct {
	slices int
	own    bool // each slice counts its own
}

// eventWindow slides over deliveries instead of time (section 4).
func eventWindow(o result.Options, t *result.Table) {
	s := newSource(o)
	const window, k, fpr = 5000, 4, .02
	t.Say(s.setting())
	config := paper.TimerConfig{Timers: size(k, window, fpr), K: k, Window: window}
	for _, count := range []int{1, 10, 40, 100} {
		row := result.Row{Name: fmt.Sprint(count)}
		for _, own := range []bool{false, true} {
			run := eventRun{count, own}
			scores := result.Grid(o, 1, s.seeds, func(_, seed int) stream.Score { return run.measure(s, config, seed+1) })[0]
			row.Cells = append(row.Cells, result.SpreadOf(scores, stream.Score.FPR), result.SpreadOf(scores, stream.Score.FNR))
		}
		t.Rows = append(t.Rows, row)
	}
}

// measure runs the stream of a seed. A window takes in the delivery that many events ago,
// too.
func (r eventRun) measure(s *source, c paper.TimerConfig, seed int) (score stream.Score) {
	window := c.Window + 1
	c.Window = window
	if r.own {
		c.Window = (window-1)/r.slices + 1
	}
	f, delivered := result.Must(paper.NewTimerSlices(c, r.slices)), newDeliveries(s.domain, window)
	all, own := uint64(0), make([]uint64, r.slices)
	for _, element := range s.stream(seed) {
		d := stream.Digest(element)
		unit, count := all, &own[f.Of(d)]
		if r.own {
			unit = *count
		}
		seen := f.TestAndSetAt(d, unit)
		score.Add(delivered.recent(element, all), seen)
		if !seen {
			delivered.add(element, all)
			all++
			*count++
		}
	}
	return score
}
