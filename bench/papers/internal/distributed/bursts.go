// SPDX-License-Identifier: Apache-2.0

package distributed

import (
	"fmt"

	"github.com/flowdedup/flowdedup/bench/papers/chart"
	"github.com/flowdedup/flowdedup/bench/papers/internal/forms"
	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
	"github.com/flowdedup/flowdedup/engine/paper"
	"github.com/flowdedup/flowdedup/engine/theory"
)

const (
	burstK     = 4
	burstFPR   = 0.05
	maxFilters = 64 // far above the need of any run here
	points     = 90 // of a curve, as many in each third of the stream
)

// burstRun is a filter of dynamic size under a burst: the stream's second third comes
// at burst events a unit, the others at one.
type burstRun struct {
	window, burst int
	rule          paper.GrowthRule
	sizedFor      int // the window whose events without a burst, were all distinct, fill one filter
}

// The phases of a run are the thirds of the stream. Each is observed when the filters have
// settled: three windows after its start without a burst, one window within it.
const (
	before = iota
	during
	after
	phases
)

// burstResult is the outcome of one seed, or of all of them.
type burstResult struct {
	curve  [points]phase
	phases [phases]phase
	backIn uint64 // units from the burst's end until no more filters than ever before it
}

// phase is a part of a run.
type phase struct {
	scores
	filters, observed int // sum over the observed events
	most              int
}

func (p *phase) observe(one scores, filters int) {
	p.sum(one)
	p.filters += filters
	p.observed++
	p.most = max(p.most, filters)
}

// add adds the observations of another run.
func (p *phase) add(of *phase) {
	p.sum(of.scores)
	p.filters += of.filters
	p.observed += of.observed
	p.most = max(p.most, of.most)
}

// mean returns the mean number of filters.
func (p *phase) mean() float64 { return float64(p.filters) / float64(max(1, p.observed)) }

// fpr returns the false positive rate in percent.
func (p *phase) fpr() float64 { return 100 * p.own.FPR() }

// timers returns the size of a filter.
func (r burstRun) timers() int { return size(burstK, float64(r.sizedFor), burstFPR) }

// place returns when event i of n comes, the phase, and whether the filters have settled.
func (r burstRun) place(i, n int) (unit uint64, phase int, settled bool) {
	third := n / 3
	phase = min(i/third, after)
	in := i - phase*third
	switch phase {
	case before:
		return uint64(i), phase, in >= 3*r.window
	case during:
		return uint64(third + in/r.burst), phase, in >= r.burst*r.window
	}
	return r.end(n) + uint64(in), phase, in >= 3*r.window
}

// end returns the first unit after the burst.
func (r burstRun) end(n int) uint64 {
	third := n / 3
	return uint64(third + (third+r.burst-1)/r.burst)
}

// measure runs the stream of a seed.
func (r burstRun) measure(s *source, seed int) *burstResult {
	var out burstResult
	config := paper.DynamicConfig{
		Filter: paper.TimerConfig{Timers: r.timers(), K: burstK, Window: r.window},
		FPR:    burstFPR, Rule: r.rule, MaxFilters: maxFilters,
	}
	f, truth := result.Must(paper.NewDynamic(config)), s.groundTruth(r.window)
	calm, calmAgain := 0, false // calm: the most filters before the burst
	for i, element := range s.stream(seed) {
		unit, phase, settled := r.place(i, s.events)
		one := truth.score(element, unit, f.TestAndSetAt(stream.Digest(element), unit))
		filters := f.Filters()
		out.curve[i*points/s.events].observe(one, filters)
		if settled {
			out.phases[phase].observe(one, filters)
		}
		if phase == before {
			calm = max(calm, filters)
		} else if phase == after && !calmAgain {
			out.backIn, calmAgain = unit-r.end(s.events), filters <= calm
		}
	}
	return &out
}

// commonSize is the window that filters are sized for if all windows share one size.
const commonSize = 1000

// burstRuns returns all runs: first with filters sized for each window, then with one
// size for all.
func burstRuns() (runs []burstRun) {
	for _, w := range [][2]int{{100, 100}, {500, 500}, {1000, 1000}, {100, commonSize}, {500, commonSize}} {
		for _, rule := range []paper.GrowthRule{paper.ByDensity, paper.ByCardinality} {
			for _, burst := range []int{2, 5} {
				runs = append(runs, burstRun{w[0], burst, rule, w[1]})
			}
		}
	}
	return runs
}

func (r burstRun) ruleName() string {
	return map[paper.GrowthRule]string{paper.ByDensity: "density", paper.ByCardinality: "cardinality"}[r.rule]
}

func (r burstRun) name() string {
	return fmt.Sprintf("%d, %d, %s, x%d", r.timers(), r.window, r.ruleName(), r.burst)
}

// predict returns the closed forms of the filters alive and of their false positive rate
// in percent when rate events come in a unit.
func (r burstRun) predict(s *source, rate int) (filters, fpr float64) {
	held := s.held(rate * r.window)
	form := theory.Dynamic{Bits: r.timers(), K: burstK, FPR: burstFPR}
	if r.rule == paper.ByDensity && held <= result.Must(form.Capacity()) {
		return 1, 100 * forms.BloomFPR(form.Bits, form.K, held)
	}
	return forms.CardinalityFilters(form, held), 100 * forms.DynamicMeanFPR(form, held)
}

// seeds are the outcomes of a run, one for each seed.
type seeds []*burstResult

// part returns a part of the curve of all seeds.
func (all seeds) part(i int) (sum phase) {
	for _, b := range all {
		sum.add(&b.curve[i])
	}
	return sum
}

// most returns the most filters of a phase.
func (all seeds) most(part int) float64 {
	most := 0
	for _, b := range all {
		most = max(most, b.phases[part].most)
	}
	return float64(most)
}

// spread returns a number of a phase, in a unit, over the seeds.
func (all seeds) spread(unit string, part int, of func(p *phase) float64) result.Cell {
	var numbers []float64
	for _, b := range all {
		numbers = append(numbers, of(&b.phases[part]))
	}
	return result.SpreadOfNumbers(unit, numbers...)
}

// burstFigure adds a row and a line for each run. Each chart has the runs of one window and
// way to size, over the events.
func burstFigure(o result.Options, t *result.Table, s *source, y func(p *phase) float64, row func(r burstRun, all seeds) []result.Cell) {
	runs := burstRuns()
	t.Say(s.setting())
	outcomes := result.Grid(o, len(runs), s.seeds, func(run, seed int) *burstResult { return runs[run].measure(s, seed+1) })
	for i, r := range runs {
		all := seeds(outcomes[i])
		t.Rows = append(t.Rows, result.Row{Name: r.name(), Cells: row(r, all)})
		line := chart.Line{Name: fmt.Sprintf("%s, x%d", r.ruleName(), r.burst), Dashed: r.burst == 2}
		for j := range points {
			part := all.part(j)
			line.X = append(line.X, (float64(j)+.5)*float64(s.events)/points/1000)
			line.Y = append(line.Y, y(&part))
		}
		t.Draw(i/(len(runs)/len(t.Charts)), line)
	}
}

// figure10 is Figure 10: the filters alive.
func figure10(o result.Options, t *result.Table) {
	s := newSource(o)
	burstFigure(o, t, s, (*phase).mean, func(r burstRun, all seeds) []result.Cell {
		calm, _ := r.predict(s, 1)
		burst, _ := r.predict(s, r.burst)
		number := func(v float64) result.Cell { return result.Measured(v, "") }
		mean := func(part int) result.Cell { return all.spread("", part, (*phase).mean) }
		var backIn []float64
		for _, b := range all {
			backIn = append(backIn, float64(b.backIn))
		}
		return []result.Cell{
			mean(before), number(calm), number(all.most(before)), mean(during), number(burst), number(all.most(during)),
			mean(after), number(all.most(after)), result.SpreadOfNumbers("", backIn...),
		}
	})
}

// figure11 is Figure 11: their false positives.
func figure11(o result.Options, t *result.Table) {
	s := newSource(o)
	perfect := func(p *phase) float64 { return 100 * p.perfect.FPR() }
	burstFigure(o, t, s, (*phase).fpr, func(r burstRun, all seeds) []result.Cell {
		_, calm := r.predict(s, 1)
		_, burst := r.predict(s, r.burst)
		rate := func(part int) result.Cell { return all.spread("%", part, (*phase).fpr) }
		return []result.Cell{
			rate(before), all.spread("%", before, perfect), result.Measured(calm, "%"),
			rate(during), all.spread("%", during, perfect), result.Measured(burst, "%"), rate(after),
		}
	})
}
