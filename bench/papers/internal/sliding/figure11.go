package sliding

import (
	"context"

	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
)

func figure11(ctx context.Context, s *source, workers int) (result.Table, error) {
	t := result.Table{
		Name:    "p4.figure11",
		Title:   "filters of dynamic size under bursts: false positive rate",
		Setting: burstSetting(s) + " Perfect: a duplicate is what a filter without errors would hold back.",
		Corner:  "m, w, growth, burst",
		Columns: []string{"before", "perfect", "closed form", "burst", "perfect", "closed form", "after"},
	}
	runs := burstRuns()
	results, err := runBursts(ctx, s, workers, runs)
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
