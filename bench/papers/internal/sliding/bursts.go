package sliding

import (
	"fmt"

	"github.com/flowdedup/flowdedup/bench/chart"
	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/engine/paper"
	"github.com/flowdedup/flowdedup/engine/theory"
)

// commonSize is the window that filters are sized for where all windows have the same.
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
