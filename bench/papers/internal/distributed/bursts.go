package distributed

import (
	"context"
	"fmt"

	"github.com/flowdedup/flowdedup/bench/chart"
	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
	"github.com/flowdedup/flowdedup/engine/paper"
	"github.com/flowdedup/flowdedup/engine/theory"
)

const (
	burstK     = 4
	burstFPR   = 0.05
	maxFilters = 64 // far above what any run here needs
	points     = 90 // of a curve, as many in each third of the stream
)

// burstRun is a filter of dynamic size under a burst: the stream's second third comes
// at burst events a unit, the others at one.
type burstRun struct {
	window, burst int
	rule          paper.GrowthRule
	sizedFor      int // the window whose events without a burst, were all distinct, fill one filter
}

// The phases of a run. Each is observed when the filters have settled: three windows
// after its start without a burst, one window within it.
const (
	before = iota
	during
	after
	phases
)

// burstResult is the outcome, summed over the seeds.
type burstResult struct {
	curve   [points]phase
	phases  [phases]phase
	backIn  uint64 // units from the burst's end until no more filters than ever before it
	streams int
}

// phase is a part of a run.
type phase struct {
	score             stream.Score // by the filter's own deliveries
	perfect           stream.Score // by those of a filter without errors
	filters, observed int          // sum over the observed events
	most              int
}

func (p *phase) observe(v verdict, filters int) {
	p.score.Add(v.known, v.seen)
	p.perfect.Add(v.perfectKnown, v.seen)
	p.filters += filters
	p.observed++
	p.most = max(p.most, filters)
}

func (p *phase) add(part phase) {
	p.score.Sum(part.score)
	p.perfect.Sum(part.perfect)
	p.filters += part.filters
	p.observed += part.observed
	p.most = max(p.most, part.most)
}

// mean returns the mean number of filters.
func (p *phase) mean() float64 { return float64(p.filters) / float64(max(1, p.observed)) }

// timers returns the size of a filter.
func (r burstRun) timers() int { return size(burstK, float64(r.sizedFor), burstFPR) }

// unit returns when event i of n comes.
func (r burstRun) unit(i, n int) uint64 {
	third := n / 3
	switch {
	case i < third:
		return uint64(i)
	case i < 2*third:
		return uint64(third + (i-third)/r.burst)
	}
	return r.end(n) + uint64(i-2*third)
}

// end returns the first unit after the burst.
func (r burstRun) end(n int) uint64 {
	third := n / 3
	return uint64(third + (third+r.burst-1)/r.burst)
}

// phaseOf returns the phase that event i of n counts for, or phases if it counts for
// none.
func (r burstRun) phaseOf(i, n int) int {
	third := n / 3
	switch {
	case i < third:
		if i >= 3*r.window {
			return before
		}
	case i < 2*third:
		if i-third >= r.burst*r.window {
			return during
		}
	case i-2*third >= 3*r.window:
		return after
	}
	return phases
}

// one runs the stream of a seed.
func (r burstRun) one(ctx context.Context, s *source, seed int) (out burstResult, err error) {
	f, err := paper.NewDynamic(paper.DynamicConfig{
		Filter: paper.TimerConfig{Timers: r.timers(), K: burstK, Window: r.window},
		FPR:    burstFPR, Rule: r.rule, MaxFilters: maxFilters,
	})
	if err != nil {
		return out, err
	}
	out.streams = 1
	j := s.groundTruth(r.window)
	calm, settled := 0, false
	err = s.replay(ctx, seed, func(i int, element uint64) {
		unit := r.unit(i, s.events)
		v := j.verdict(element, unit, f.TestAndSetAt(stream.Digest(element), unit))
		filters := f.Filters()
		out.curve[i*points/s.events].observe(v, filters)
		if p := r.phaseOf(i, s.events); p < phases {
			out.phases[p].observe(v, filters)
		}
		switch end := r.end(s.events); {
		case i < s.events/3:
			calm = max(calm, filters)
		case unit >= end && !settled:
			out.backIn = unit - end
			settled = filters <= calm
		}
	})
	return out, err
}

func (r *burstResult) add(part burstResult) {
	for i := range r.curve {
		r.curve[i].add(part.curve[i])
	}
	for i := range r.phases {
		r.phases[i].add(part.phases[i])
	}
	r.backIn += part.backIn
	r.streams += part.streams
}

// commonSize is the window that filters are sized for if all windows share one size.
const commonSize = 1000

func burstWindows() []int { return []int{100, 500, 1000} }

// burstRuns returns all runs: first with filters sized for each window, then with one
// size for all.
func burstRuns() (runs []burstRun) {
	for _, window := range burstWindows() {
		runs = append(runs, burstRunsOf(window, window)...)
	}
	for _, window := range burstWindows() {
		if window != commonSize {
			runs = append(runs, burstRunsOf(window, commonSize)...)
		}
	}
	return runs
}

func burstRunsOf(window, sizedFor int) (runs []burstRun) {
	for _, rule := range []paper.GrowthRule{paper.ByDensity, paper.ByCardinality} {
		for _, burst := range []int{2, 5} {
			runs = append(runs, burstRun{window, burst, rule, sizedFor})
		}
	}
	return runs
}

func (r burstRun) ruleName() string {
	if r.rule == paper.ByDensity {
		return "density"
	}
	return "cardinality"
}

func (r burstRun) name() string {
	return fmt.Sprintf("%d, %d, %s, x%d", r.timers(), r.window, r.ruleName(), r.burst)
}

// burstSetting describes the runs of Figures 10 and 11.
func burstSetting(s *source) string {
	return s.setting() + fmt.Sprintf(" One event a unit, 2 or 5 in the second third of the events. Filters of k = %d, full at an FPR of "+
		"%g %%, have m timers for as many events as a window without a burst has units: each window, or w = %d for all. "+
		"Rates and means leave out three windows at the begin of the first and last thirds, and one at the burst's.",
		burstK, 100*burstFPR, commonSize)
}

// predict returns the closed forms of the filters alive and of their false positive
// rate when rate events come in a unit.
func (r burstRun) predict(s *source, rate int) (filters, fpr float64, err error) {
	held, err := s.held(rate * r.window)
	if err != nil {
		return 0, 0, err
	}
	form := theory.Dynamic{Bits: r.timers(), K: burstK, FPR: burstFPR}
	capacity, err := form.Capacity()
	if err != nil {
		return 0, 0, err
	}
	if r.rule == paper.ByDensity && held <= capacity {
		fpr, err = theory.BloomFPR(form.Bits, form.K, held)
		return 1, fpr, err
	}
	if fpr, err = form.MeanFPR(held); err != nil {
		return 0, 0, err
	}
	filters, err = form.CardinalityFilters(held)
	return filters, fpr, err
}

// burstCharts draws a curve of each run over the events, a chart for each window and
// way to size.
func burstCharts(s *source, runs []burstRun, results []burstResult, file, title, unit string, y func(p *phase) float64) []result.Picture {
	var pictures []result.Picture
	byName := map[string]int{}
	for i, r := range runs {
		name := fmt.Sprintf("%s-w%d-m%d", file, r.window, r.timers())
		at, known := byName[name]
		if !known {
			at = len(pictures)
			byName[name] = at
			pictures = append(pictures, result.Picture{File: name, Chart: chart.Chart{
				Title: fmt.Sprintf("%s: window %d, m = %d", title, r.window, r.timers()),
				X:     "events, thousands", Y: unit,
			}})
		}
		line := chart.Line{Name: fmt.Sprintf("%s, x%d", r.ruleName(), r.burst), Dashed: r.burst == 2}
		for j := range results[i].curve {
			line.X = append(line.X, (float64(j)+.5)*float64(s.events)/points/1000)
			line.Y = append(line.Y, y(&results[i].curve[j]))
		}
		pictures[at].Chart.Lines = append(pictures[at].Chart.Lines, line)
	}
	return pictures
}
