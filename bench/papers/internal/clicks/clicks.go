// SPDX-License-Identifier: Apache-2.0

// Package clicks makes the figures of paper "Duplicate Detection in Click Streams"
// (Metwally, Agrawal, El Abbadi, WWW 2005).
//
// Figures 6 and 7 are on synthetic clicks that are all distinct, and are made at their
// printed sizes. Figures 8 and 9 are on clicks of a company, which are not public: synthetic
// ones stand for them.
// The paper prints no table; of its figures only ratios and sizes are in the text.
package clicks

import (
	_ "embed"
	"math"
	"slices"

	"github.com/flowdedup/flowdedup/bench/papers/chart"
	"github.com/flowdedup/flowdedup/bench/papers/internal/forms"
	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
	"github.com/flowdedup/flowdedup/engine/paper"
)

//go:embed text.md
var text string

// Experiment returns the figures on synthetic clicks, the methods that sections 4 and 5
// describe without measurements, and the numbers of the text.
func Experiment() result.Experiment {
	return result.New("p2", text, map[string]result.Maker{
		"figure6":    landmarkSetup{window: 1_000_000, errors: 400, mostRuns: 20}.figure6,
		"figure7":    jumpingSetup{subWindow: 50_000, subWindows: 4, windows: 8, errors: 400, mostRuns: 6}.figure7,
		"figure9":    jumpingSetup{subWindow: 500_000, subWindows: 4, windows: 8, errors: 400, mostRuns: 1}.figure7,
		"substrings": substrings, "functions": functions, "latency": latency, "sliding": sliding, "text": numbers,
	})
}

// mostFunctions is the largest number of hash functions of the figures.
const mostFunctions = 16

// perFunction returns M/d = n/ln(2), the cells for each hash function with which half
// of them are set after n elements.
func perFunction(n int) float64 { return float64(n) / math.Ln2 }

// runsFor returns how many runs give the wanted number of errors if one run gives
// expected, or 0 if that is more than most.
func runsFor(wanted, expected float64, most int) int {
	if runs := math.Ceil(wanted / expected); runs <= float64(most) {
		return int(runs)
	}
	return 0
}

// firstElement returns the first element of a run. Runs share no elements if there are
// fewer than 2^16 of less than 2^40 elements.
func firstElement(d, run int) uint64 { return uint64(d)<<56 | uint64(run)<<40 }

// distinct gives a filter n elements, from first on.
func distinct(f paper.Filter, first uint64, n int) stream.Score {
	return stream.Distinct(first).Scores(n, f)[0]
}

// rateOf returns the share of new elements that were reported, NaN if none was measured.
func rateOf(score stream.Score) float64 {
	return float64(score.FalsePositives) / float64(score.Distinct)
}

// rates are error rates for d = 1 to mostFunctions, NaN where they were not measured.
type rates []float64

func ratesOf(rate func(d int) float64) (all rates) {
	for d := 1; d <= mostFunctions; d++ {
		all = append(all, rate(d))
	}
	return all
}

// measurePairs measures two rates of each number of hash functions.
func measurePairs(o result.Options, measure func(d int) (a, b stream.Score)) (first, second rates) {
	for _, pair := range result.Grid(o, mostFunctions, 1, func(i, _ int) (pair [2]stream.Score) {
		pair[0], pair[1] = measure(i + 1)
		return pair
	}) {
		first, second = append(first, rateOf(pair[0][0])), append(second, rateOf(pair[0][1]))
	}
	return first, second
}

// bounds are 2^-d, the error rates of filters with half of the cells set.
var bounds = ratesOf(func(d int) float64 { return math.Exp2(-float64(d)) })

// over returns the rates divided by others.
func (r rates) over(others rates) rates {
	return ratesOf(func(d int) float64 { return r[d-1] / others[d-1] })
}

// cells returns cells of the rates times a factor, blank where there are none.
func (r rates) cells(factor float64, unit string) []result.Cell {
	cells := result.Cells(unit, r...)
	for i := range cells {
		cells[i].Ours *= factor
		cells[i].Blank = math.IsNaN(r[i]) || math.IsInf(r[i], 0)
	}
	return cells
}

// line returns a line of a chart, dashed for closed forms.
func (r rates) line(name string, dashed bool) chart.Line {
	l := chart.Line{Name: name, Dashed: dashed}
	for i, rate := range r {
		if !math.IsNaN(rate) {
			l.X, l.Y = append(l.X, float64(i+1)), append(l.Y, rate)
		}
	}
	return l
}

// addFunctions adds a row for each number of hash functions, and columns of rates.
func addFunctions(t *result.Table, all ...rates) {
	result.AddRows(t, ratesOf(func(d int) float64 { return float64(d) })...)
	for _, r := range all {
		t.AddColumn("", r.cells(100, "%")...)
	}
}

// addRatios adds columns of ratios. The least and greatest of the last for d = 4 to 9, for
// which the text is right on landmark windows, are compared with its "4 to 8 times".
func addRatios(t *result.Table, all ...rates) {
	for i, r := range all {
		cells := r.cells(1, "")
		if claimed := r[3:9]; i == len(all)-1 {
			cells = append(cells, result.Compared(slices.Min(claimed), 4, ""), result.Compared(slices.Max(claimed), 8, ""))
		}
		t.AddColumn("", cells...)
	}
}

// landmarkSetup says how large figure 6 is.
type landmarkSetup struct {
	window   int     // distinct clicks
	errors   float64 // expected, of each measured rate
	mostRuns int     // a rate that needs more windows than these is not measured
}

// measure returns the errors of as many windows as are needed.
func (s landmarkSetup) measure(d int, partitioned bool) stream.Score {
	return s.measureBits(int(math.Round(float64(d)*perFunction(s.window))), d, partitioned)
}

// measureBits is measure for any memory.
func (s landmarkSetup) measureBits(bits, d int, partitioned bool) stream.Score {
	rate := forms.LandmarkRate(bits, d, s.window)
	f := result.Must(paper.NewLandmarkBloom(paper.LandmarkConfig{Bits: bits, D: d, Window: s.window, Partitioned: partitioned}))
	runs := runsFor(s.errors, rate*float64(s.window), s.mostRuns)
	return distinct(f, firstElement(d, 0), runs*s.window)
}

// landmarkRatios are the bound over the closed form.
func landmarkRatios() rates {
	return ratesOf(forms.LandmarkBoundRatio)
}

func (s landmarkSetup) figure6(o result.Options, t *result.Table) {
	if o.Full {
		s.mostRuns = 400
	}
	t.Say(s.window, perFunction(s.window), s.errors, s.mostRuns)
	shared, partitioned := measurePairs(o, func(d int) (shared, partitioned stream.Score) {
		return s.measure(d, false), s.measure(d, true)
	})
	closed := bounds.over(landmarkRatios())
	addFunctions(t, bounds, shared, partitioned, closed)
	addRatios(t, bounds.over(shared), landmarkRatios())
	t.Draw(0, bounds.line("bound", true), closed.line("closed form", true),
		shared.line("measured, one hash space", false), partitioned.line("measured, a space for each function", false))
}

// jumpingSetup says how large figure 7 is.
type jumpingSetup struct {
	subWindow  int     // distinct clicks
	subWindows int     // of a window
	windows    int     // overlapping ones, in a run
	errors     float64 // expected, of each measured rate
	mostRuns   int     // a rate that needs more runs than these is not measured
}

// window returns the clicks of a window, the largest number that a query covers.
func (s jumpingSetup) window() int { return s.subWindows * s.subWindow }

// counters returns the number of a filter's counters.
func (s jumpingSetup) counters(d int) int {
	return int(math.Round(float64(d) * perFunction(s.window())))
}

// closed returns the closed forms of one number of hash functions.
func (s jumpingSetup) closed(d int) forms.Jumping {
	return forms.Jumping{Cells: s.counters(d), D: d, SubWindows: s.subWindows, SubWindow: s.subWindow}
}

// measure returns the errors of as many runs as the steady rate needs: of the windows from
// an empty filter on, and of those after the first.
func (s jumpingSetup) measure(d int) (fromEmpty, steady stream.Score) {
	clicks := (s.windows - 1) * s.subWindow
	expected := s.closed(d).SteadyRate() * float64(clicks)
	for run := range runsFor(s.errors, expected, s.mostRuns) {
		f := result.Must(paper.NewJumpingBloom(paper.JumpingConfig{
			Counters: s.counters(d), CounterBits: 4, D: d, SubWindows: s.subWindows, SubWindow: s.subWindow,
		}))
		first := firstElement(d, run)
		fromEmpty.Sum(distinct(f, first, s.window()))
		steady.Sum(distinct(f, first+uint64(s.window()), clicks))
	}
	fromEmpty.Sum(steady)
	return fromEmpty, steady
}

func (s jumpingSetup) figure7(o result.Options, t *result.Table) {
	if o.Full {
		s.mostRuns = 250
	}
	t.Say(s.subWindows, s.subWindow, s.windows, perFunction(s.window()), s.errors, s.mostRuns)
	empty, steady := measurePairs(o, s.measure)
	closedEmpty := ratesOf(func(d int) float64 { return s.closed(d).RateFromEmpty(s.windows) })
	closedSteady := ratesOf(func(d int) float64 { return s.closed(d).SteadyRate() })
	apart := ratesOf(func(d int) float64 { return s.closed(d).ApartRate() })
	addFunctions(t, bounds, empty, closedEmpty, steady, closedSteady)
	addRatios(t, bounds.over(empty), bounds.over(steady), bounds.over(apart), bounds.over(closedEmpty))
	t.Draw(0, bounds.line("bound", true), closedEmpty.line("closed form, from empty", true), closedSteady.line("closed form, steady", true),
		empty.line("measured, from empty", false), steady.line("measured, steady", false))
}

// numbers are the numbers of the text.
func numbers(o result.Options, t *result.Table) {
	const runs = 3
	window, measured := o.Size(100_000, 1_000_000), o.Size(2_000_000, 20_000_000)
	t.Say(measured, window, runs)
	perElement := []float64{9.6, 16}
	rates := result.Grid(o, len(perElement), runs, func(i, run int) float64 {
		return fullRate(perElement[i], window, measured, firstElement(0, run))
	})
	vectors := result.Must(paper.NewSubstrings(32, 16))
	for i, ours := range []result.Cell{
		result.Measured(100*float64(vectors.Bits())/(1<<32), "%"),
		result.Measured(math.Exp2(512-3), ""),
		result.Spread(rates[0]...),
		result.Spread(rates[1]...),
		result.Measured(math.Exp2(-math.Ln2), ""),
		result.Measured(perFunction(1_000_000), ""),
		result.Measured(perFunction(200_000), ""),
		result.Measured(perFunction(4_093_573), ""),
	} {
		ours.Printed = t.Rows[i].Cells[0].Printed
		t.Rows[i].Cells[0] = ours
	}
}

// fullRate returns the error rate of a Bloom filter with the best number of hash
// functions that holds a window of clicks, of the clicks that are measured. A sliding
// window of distinct clicks always holds this number.
func fullRate(bitsPerClick float64, window, measured int, first uint64) float64 {
	m := int(math.Round(bitsPerClick * float64(window)))
	f := result.Must(paper.NewSlidingBloom(paper.SlidingConfig{
		Counters: m, CounterBits: 8, D: forms.BloomOptimalK(m, window), Window: window, ElementBits: 64,
	}))
	distinct(f, first, window)
	return rateOf(distinct(f, first+uint64(window), measured))
}
