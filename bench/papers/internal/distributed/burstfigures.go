package distributed

import (
	"context"

	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
)

func figure10(ctx context.Context, o result.Options) (result.Table, error) {
	return figure10Of(ctx, newSource(o), o.Workers)
}

func figure10Of(ctx context.Context, s *source, workers int) (result.Table, error) {
	t := result.Table{
		Title:   "filters of dynamic size under bursts: filters alive",
		Setting: burstSetting(s) + " Mean and most are of the filters alive; the closed form is of the mean.",
		Corner:  "m, w, growth, burst",
		Columns: []string{"before: mean", "closed form", "most", "burst: mean", "closed form", "most", "after: mean", "most", "units until as before"},
	}
	runs := burstRuns()
	results, err := runAll[burstRun, burstResult](ctx, s, workers, runs)
	if err != nil {
		return t, err
	}
	for i, r := range runs {
		row, err := filtersRow(s, r, &results[i])
		if err != nil {
			return t, err
		}
		t.Rows = append(t.Rows, row)
	}
	t.Notes = []string{
		"The figure prints no numbers. As its text says, density keeps to one filter without a burst, cardinality fluctuates between " +
			"one and two, bursts make more for a while, and with one size for all windows larger ones make more that live longer.",
		"The sizes that the paper prints for the web log, m = 105000 for 5 %, hold 16850 events. A window of 1000 units at 5 events " +
			"holds at most 5000, so no burst would make a filter by density. The figure's own sizes are not printed.",
		"The closed form has the events that a filter without errors holds. False positives are not inserted, so fewer are held in a burst.",
		"Independent simulation: density 1 filter without a burst, cardinality 1 to 2, 1.5 in the mean, and 4 to 5 filters in a burst of x5.",
	}
	t.Charts = burstCharts(s, runs, results, "p4-figure10", "Filters alive", "filters", (*phase).mean)
	return t, nil
}

func filtersRow(s *source, r burstRun, b *burstResult) (result.Row, error) {
	calm, _, err := r.predict(s, 1)
	if err != nil {
		return result.Row{}, err
	}
	burst, _, err := r.predict(s, r.burst)
	if err != nil {
		return result.Row{}, err
	}
	row := result.Row{Name: r.name()}
	for _, value := range []float64{
		b.phases[before].mean(), calm, float64(b.phases[before].most),
		b.phases[during].mean(), burst, float64(b.phases[during].most),
		b.phases[after].mean(), float64(b.phases[after].most),
		float64(b.backIn) / float64(b.streams),
	} {
		row.Cells = append(row.Cells, result.Measured(value, ""))
	}
	return row, nil
}

func figure11(ctx context.Context, o result.Options) (result.Table, error) {
	return figure11Of(ctx, newSource(o), o.Workers)
}

func figure11Of(ctx context.Context, s *source, workers int) (result.Table, error) {
	t := result.Table{
		Title:   "filters of dynamic size under bursts: false positive rate",
		Setting: burstSetting(s) + " Perfect: a duplicate is what a filter without errors would hold back.",
		Corner:  "m, w, growth, burst",
		Columns: []string{"before", "perfect", "closed form", "burst", "perfect", "closed form", "after"},
	}
	runs := burstRuns()
	results, err := runAll[burstRun, burstResult](ctx, s, workers, runs)
	if err != nil {
		return t, err
	}
	for i, r := range runs {
		row, err := ratesRow(s, r, &results[i])
		if err != nil {
			return t, err
		}
		t.Rows = append(t.Rows, row)
	}
	t.Notes = []string{
		"The figure prints no numbers. In a burst the rate is above the one at which a filter is full, as all filters alive add to it: " +
			"independent simulation, x5, 8.5 % for 5 %.",
		"An element that is held back by mistake was not delivered, so its repetitions are false positives, too. A filter without errors " +
			"would have delivered it once, and its repetitions are duplicates then. The closed form counts no repetitions.",
	}
	t.Charts = burstCharts(s, runs, results, "p4-figure11", "False positives", "FPR, %",
		func(p *phase) float64 { return 100 * p.score.FPR() })
	return t, nil
}

func ratesRow(s *source, r burstRun, b *burstResult) (result.Row, error) {
	_, calm, err := r.predict(s, 1)
	if err != nil {
		return result.Row{}, err
	}
	_, burst, err := r.predict(s, r.burst)
	if err != nil {
		return result.Row{}, err
	}
	row := result.Row{Name: r.name()}
	for _, rate := range []float64{
		b.phases[before].score.FPR(), b.phases[before].perfect.FPR(), calm,
		b.phases[during].score.FPR(), b.phases[during].perfect.FPR(), burst,
		b.phases[after].score.FPR(),
	} {
		row.Cells = append(row.Cells, result.Measured(100*rate, "%"))
	}
	return row, nil
}
