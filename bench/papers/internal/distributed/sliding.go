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

// equalWindows are the windows that Figure 9 is made for; the paper names none.
func equalWindows() []int { return []int{1000, 10_000} }

// equalCurves are the curves of Figure 9 for one window and one way of slicing, by
// x or k' from 1 on.
type equalCurves struct {
	name                  string
	share, trueShare      []float64 // of the duplicates reported without the heuristic
	fpr, fnr, predicted   []float64
	perfectFPR, perfectFN []float64
}

func figure9(ctx context.Context, o result.Options) (result.Table, error) {
	return figure9Of(ctx, newSource(o), o.Workers)
}

func figure9Of(ctx context.Context, s *source, workers int) (result.Table, error) {
	t := result.Table{
		Title: "equal timers: true duplicates by equal timers, errors by k'",
		Setting: s.setting() + fmt.Sprintf(" One event a unit, k = %d, timers for an FPR of %g %% with the distinct events of a window, "+
			"V in one filter, H in %d slices. Share: of all events without a zero timer, those with x equal ones at most; "+
			"true: the true duplicates among them. FPR and FNR are with k' = x.", equalK, 100*equalFPR, equalSlices),
		Corner: "window, x",
		Columns: []string{"V share", "V true", "V FPR", "V FPR, closed form", "V FNR",
			"H share", "H true", "H FPR", "H FNR"},
	}
	var all []equalCurves
	for _, window := range equalWindows() {
		runs := equalRuns(window)
		results, err := runAll[equalRun, equalResult](ctx, s, workers, runs)
		if err != nil {
			return t, err
		}
		vertical, err := newEqualCurves(s, runs[:equalK], results[:equalK])
		if err != nil {
			return t, err
		}
		horizontal, err := newEqualCurves(s, runs[equalK:], results[equalK:])
		if err != nil {
			return t, err
		}
		t.Rows = append(t.Rows, equalRows(window, vertical, horizontal)...)
		t.Notes = append(t.Notes, equalNote(window, runs[0].timers(s), vertical))
		all = append(all, vertical, horizontal)
	}
	t.Notes = append(t.Notes, equalNotes()...)
	t.Charts = equalCharts(all)
	return t, nil
}

// newEqualCurves takes the runs of k' = 1 to equalK.
func newEqualCurves(s *source, runs []equalRun, results []equalResult) (equalCurves, error) {
	first := runs[0]
	c := equalCurves{name: fmt.Sprintf("V, w = %d", first.window)}
	if first.slices > 1 {
		c.name = fmt.Sprintf("H, w = %d", first.window)
	}
	held, err := s.held(first.window)
	if err != nil {
		return c, err
	}
	reported := 0
	groups := results[0].groups
	for x := 1; x <= equalK; x++ {
		reported += groups[x].Distinct + groups[x].Duplicates
	}
	for i, r := range results {
		x := i + 1
		inGroup := groups[x].Distinct + groups[x].Duplicates
		c.share = append(c.share, share(inGroup, reported))
		c.trueShare = append(c.trueShare, share(groups[x].Duplicates, inGroup))
		c.fpr, c.fnr = append(c.fpr, 100*r.score.FPR()), append(c.fnr, 100*r.score.FNR())
		c.perfectFPR = append(c.perfectFPR, 100*r.perfect.FPR())
		c.perfectFN = append(c.perfectFN, 100*r.perfect.FNR())
		form := theory.EqualTimers{Timers: first.timers(s), K: equalK, AtLeast: x}
		rate, err := form.FPR(held)
		if err != nil {
			return c, err
		}
		c.predicted = append(c.predicted, 100*rate)
	}
	return c, nil
}

func share(part, of int) float64 {
	if of == 0 {
		return 0
	}
	return 100 * float64(part) / float64(of)
}

func equalRows(window int, v, h equalCurves) (rows []result.Row) {
	for i := range equalK {
		row := result.Row{Name: fmt.Sprintf("%d, %d", window, i+1)}
		for _, value := range []float64{
			v.share[i], v.trueShare[i], v.fpr[i], v.predicted[i], v.fnr[i],
			h.share[i], h.trueShare[i], h.fpr[i], h.fnr[i],
		} {
			row.Cells = append(row.Cells, result.Measured(value, "%"))
		}
		rows = append(rows, row)
	}
	return rows
}

// equalNote says what the other meaning of a duplicate gives for one window.
func equalNote(window, timers int, v equalCurves) string {
	return fmt.Sprintf("w = %d, %d timers: if a duplicate is what a filter without errors would hold back, V has FPR/FNR "+
		"%.2f/%.2f, %.2f/%.2f, %.2f/%.2f %% for k' = 1, 2, 3: each error moves the filter's windows against the true ones.",
		window, timers, v.perfectFPR[0], v.perfectFN[0], v.perfectFPR[1], v.perfectFN[1], v.perfectFPR[2], v.perfectFN[2])
}

func equalNotes() []string {
	return []string{
		"The figure prints no numbers. Its text finds a good balance where V takes events with all timers unequal as distinct " +
			"(k' = 2), and H those with at most 2 equal (k' = 3): so it is here, too. At k' = 2, H reports nearly all that it did " +
			"without the heuristic, for its slices hold few events, and two of k timers often are of the same one.",
		"From k' = 3 on, the false positives left in one filter are elements that agree with one held on all 8 timers. Hash functions " +
			"made from two values by double hashing do so with probability m^-2; the closed form has independent ones.",
		"Independent simulation, duplicates by a filter without errors: V 2.10/0.41 % without the heuristic, 0.62/1.92 % with " +
			"k' = 2, H 0.73/7.3 % with k' = 3; with timers set on duplicates as well, V 2.79/0 and 0.08/0.75 %. Its window, size " +
			"and slices are not known, and the numbers here differ.",
		"The closed form has the mean number of events held in a window, and none of the errors' effects on it.",
	}
}

func equalCharts(all []equalCurves) []result.Picture {
	picture := func(file, title, x, y string, curve func(c equalCurves) []float64) result.Picture {
		p := result.Picture{File: file, Chart: chart.Chart{Title: title, X: x, Y: y}}
		for _, c := range all {
			line := chart.Line{Name: c.name, Y: curve(c)}
			for i := range line.Y {
				line.X = append(line.X, float64(i+1))
			}
			p.Chart.Lines = append(p.Chart.Lines, line)
		}
		return p
	}
	return []result.Picture{
		picture("p4-figure9-true", "True duplicates among those reported", "equal timers, of 8", "true, %",
			func(c equalCurves) []float64 { return c.trueShare }),
		picture("p4-figure9-fpr", "Equal timers: false positives", "k'", "FPR, %",
			func(c equalCurves) []float64 { return c.fpr }),
		picture("p4-figure9-fnr", "Equal timers: false negatives", "k'", "FNR, %",
			func(c equalCurves) []float64 { return c.fnr }),
	}
}

const (
	equalK      = 8
	equalFPR    = 0.02
	equalSlices = 40
)

// equalRun is one filter with the equal timers heuristic: k' = atLeast, in horizontal
// slices of which one is the same as a vertical filter.
type equalRun struct {
	window, slices, atLeast int
}

// equalResult is the outcome, summed over the seeds.
type equalResult struct {
	score   stream.Score // by the filter's own deliveries
	perfect stream.Score // by those of a filter without errors
	// groups[x] counts by its own deliveries the events without a zero timer and with
	// x equal ones at most: here true duplicates are Duplicates.
	groups [equalK + 1]stream.Score
}

// equalRuns returns the runs of one window: all k' of vertical, then of horizontal
// filters.
func equalRuns(window int) []equalRun {
	var runs []equalRun
	for _, slices := range []int{1, equalSlices} {
		for atLeast := 1; atLeast <= equalK; atLeast++ {
			runs = append(runs, equalRun{window, slices, atLeast})
		}
	}
	return runs
}

// timers returns the size of the filter.
func (r equalRun) timers(s *source) int { return size(equalK, s.distinct(r.window), equalFPR) }

// one runs the stream of a seed.
func (r equalRun) one(ctx context.Context, s *source, seed int) (out equalResult, err error) {
	f, err := paper.NewTimerSlices(paper.TimerConfig{
		Timers: r.timers(s), K: equalK, Window: r.window, Equal: r.atLeast,
	}, r.slices)
	if err != nil {
		return out, err
	}
	j := s.groundTruth(r.window)
	err = s.replay(ctx, seed, func(i int, element uint64) {
		unit, d := uint64(i), stream.Digest(element)
		group := f.Slice(d).EqualTimers(d, unit)
		v := j.verdict(element, unit, f.TestAndSetAt(d, unit))
		out.groups[group].Add(v.known, v.seen)
		out.score.Add(v.known, v.seen)
		out.perfect.Add(v.perfectKnown, v.seen)
	})
	return out, err
}

func (r *equalResult) add(part equalResult) {
	r.score.Sum(part.score)
	r.perfect.Sum(part.perfect)
	for x := range r.groups {
		r.groups[x].Sum(part.groups[x])
	}
}

// eventWindow slides over deliveries instead of time (section 4).
func eventWindow(ctx context.Context, o result.Options) (result.Table, error) {
	s := newSource(o)
	const window, k, fpr = 5000, 4, .02
	table := result.Table{
		Title: "event-based sliding windows",
		Setting: s.setting() + fmt.Sprintf(" Here an event is a duplicate if it is among the last %d delivered. k = %d, timers for an FPR of %g %% when full, in S horizontal slices. "+
			"Either all slices know how many events were delivered, or each counts its own, with a window of its share of them.", window, k, 100*fpr),
		Corner:  "S",
		Columns: []string{"count shared: FPR", "FNR", "own count: FPR", "FNR"},
		Notes: []string{
			"The text has it that such semantics \"are hard to achieve in a distributing setting\". A shared count costs a message to each other slice for each delivery. A slice's own count errs by how its share of the deliveries varies: windows are too short in some slices and too long in others, which is the difference between the columns.",
			"A single slice is exact up to its false positives, and misses nothing.",
		},
	}
	var runs []eventRun
	slices := []int{1, 10, 40, 100}
	for _, count := range slices {
		runs = append(runs, eventRun{window, count, size(k, window, fpr), false}, eventRun{window, count, size(k, window, fpr), true})
	}
	results, err := runAll[eventRun, eventResult](ctx, s, o.Workers, runs)
	if err != nil {
		return table, err
	}
	for i, count := range slices {
		shared, own := results[2*i].Score, results[2*i+1].Score
		table.Rows = append(table.Rows, result.MeasuredRow(fmt.Sprint(count), "%", 100*shared.FPR(), 100*shared.FNR(), 100*own.FPR(), 100*own.FNR()))
	}
	return table, nil
}

// eventRun is a filter of timers that count deliveries.
type eventRun struct {
	window, slices, timers int
	own                    bool // each slice counts its own
}

type eventResult struct{ stream.Score }

func (r *eventResult) add(part eventResult) { r.Sum(part.Score) }

func (r eventRun) one(ctx context.Context, s *source, seed int) (out eventResult, err error) {
	window := r.window + 1 // which the delivery w events ago is still in
	if r.own {
		window = r.window/r.slices + 1
	}
	f, err := paper.NewTimerSlices(paper.TimerConfig{Timers: r.timers, K: 4, Window: window}, r.slices)
	if err != nil {
		return out, err
	}
	delivered, own := newDeliveries(s.domain, r.window+1), make([]uint64, r.slices)
	all := uint64(0)
	err = s.replay(ctx, seed, func(_ int, element uint64) {
		d := stream.Digest(element)
		unit, count := all, &own[f.Of(d)]
		if r.own {
			unit = *count
		}
		seen := f.TestAndSetAt(d, unit)
		out.Add(delivered.recent(element, all), seen)
		if !seen {
			delivered.add(element, all)
			all++
			*count++
		}
	})
	return out, err
}
