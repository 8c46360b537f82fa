package distributed

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/flowdedup/flowdedup/bench/chart"
	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/engine/paper"
	"github.com/flowdedup/flowdedup/engine/theory"
)

// figure1 is Figure 1(a): the false positive rate by the share of failed sites, with
// bits in failed slices taken as set.
func figure1(ctx context.Context, o result.Options) (result.Table, error) {
	const slices = 40
	table := result.Table{
		Title: "fault tolerance: false positive rate by failed sites",
		Setting: fmt.Sprintf("Eq. 5 and 6, and filters of %d slices, m = %d, k = %d, that hold %d distinct events when sites fail; "+
			"elements that failed sites leave undecided are duplicates. The paper gives no parameters.",
			slices, webLog.bits[0], hashes, webLog.distinct),
		Corner:  "failed sites",
		Columns: []string{"vertical", "vertical, Eq. 6", "horizontal", "horizontal, Eq. 5"},
	}
	var failures []failure
	for failed := 0; failed <= slices/2; failed += 2 {
		for _, way := range slicings {
			config := paper.SlicedConfig{Bits: webLog.bits[0], K: hashes, Slices: slices}
			failures = append(failures, failure{way: way, config: config, failed: failed})
		}
	}
	measured, err := probe(ctx, o, failures)
	if err != nil {
		return table, err
	}
	var x []float64
	for i := 0; i < len(failures); i += len(slicings) {
		v, err := failures[i].expected()
		if err != nil {
			return table, err
		}
		h, err := failures[i+1].expected()
		if err != nil {
			return table, err
		}
		share := 100 * float64(failures[i].failed) / slices
		x = append(x, share)
		table.Rows = append(table.Rows, measuredRow(fmt.Sprintf("%g %%", share), "%", measured[i].fpr, v.fpr, measured[i+1].fpr, h.fpr))
	}
	table.Charts = pictures("p4-figure1", chart.Chart{
		Title: "False positive rate by failed sites", X: "failed sites, %", Y: "false positive rate, %",
		Lines: columnLines(table, x, odd),
	})
	return table, nil
}

// figure1b is Figure 1(b): the fault tolerance parameter S_f.
func figure1b(context.Context, result.Options) (result.Table, error) {
	table := result.Table{
		Title:   "fault tolerance: slices needed",
		Setting: fmt.Sprintf("S_f of Definition 3: slices for a rate of %g %% to stay within 10, 15 or 20 %% when sites fail, k = %d. Closed forms.", 100*targets[0], hashes),
		Corner:  "failed sites",
	}
	limits := []float64{.1, .15, .2}
	for _, way := range slicings {
		for _, limit := range limits {
			table.Columns = append(table.Columns, fmt.Sprintf("%v, %g %%", way, 100*limit))
		}
	}
	var x []float64
	for failed := 1; failed <= 10; failed++ {
		var needed []float64
		for _, way := range slicings {
			for _, limit := range limits {
				slices, err := slicesNeeded(way, failed, hashes, limit)
				if err != nil {
					return table, err
				}
				needed = append(needed, float64(slices))
			}
		}
		x = append(x, float64(failed))
		table.Rows = append(table.Rows, measuredRow(fmt.Sprint(failed), "", needed...))
	}
	table.Charts = pictures("p4-figure1b", chart.Chart{
		Title: "Slices needed by failed sites", X: "failed sites", Y: "S_f",
		Lines: columnLines(table, x, func(column int) bool { return column >= len(limits) }),
	})
	note, err := figure1bNote()
	table.Notes = append(table.Notes, note)
	return table, err
}

func slicesNeeded(way slicing, failed, k int, limit float64) (int, error) {
	if way == horizontal {
		return theory.HorizontalTolerance(failed, targets[0], limit)
	}
	return theory.VerticalTolerance(failed, k, targets[0], limit)
}

// figure1bNote checks the numbers in the paper's text.
func figure1bNote() (string, error) {
	h, err := slicesNeeded(horizontal, 4, hashes, .15)
	if err != nil {
		return "", err
	}
	v4, err := slicesNeeded(vertical, 4, hashes, .15)
	if err != nil {
		return "", err
	}
	v8, err := slicesNeeded(vertical, 4, 2*hashes, .15)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("The text has, for 15 %% and 4 failed sites, more than 30 horizontal slices and less than 20 vertical ones: "+
		"here %d and %d (%d with k = %d).", h, v4, v8, 2*hashes), nil
}

const (
	// probes is the number of new elements, and of old ones, by which the rates of a
	// full filter are measured. It is small, as the new ones fill the filter further.
	probes = 500
	// probeRuns times as many filters are measured as there are runs.
	probeRuns = 4
)

// failure is a filter that holds the web log's distinct elements when some of its
// slices fail.
type failure struct {
	way    slicing
	config paper.SlicedConfig
	failed int
}

// rates are those of a filter with failed slices.
type rates struct{ fpr, fnr float64 }

// probe measures the rates of each failure, in percent.
func probe(ctx context.Context, o result.Options, failures []failure) ([]rates, error) {
	count := probeRuns * runs(o)
	each := make([]rates, len(failures)*count)
	err := result.Parallel(ctx, len(each), o.Workers, func(i int) (err error) {
		each[i], err = failures[i/count].run(uint64(i % count))
		return err
	})
	means := make([]rates, len(failures))
	for i, one := range each {
		means[i/count].fpr += 100 * one.fpr / float64(count)
		means[i/count].fnr += 100 * one.fnr / float64(count)
	}
	return means, err
}

func (f failure) run(run uint64) (rates, error) {
	filter, err := f.way.make(f.config)
	if err != nil {
		return rates{}, err
	}
	next := uint64(webLog.distinct)
	for id := range next {
		filter.TestAndSet(digestOf(run, id))
	}
	for _, slice := range rand.New(rand.NewPCG(run, 1)).Perm(f.config.Slices)[:f.failed] {
		if err := filter.Fail(slice); err != nil {
			return rates{}, err
		}
	}
	missed, reported := 0, 0
	for i := range uint64(probes) {
		if !filter.TestAndSet(digestOf(run, i)) {
			missed++
		}
		if filter.TestAndSet(digestOf(run, next+i)) {
			reported++
		}
	}
	return rates{fpr: float64(reported) / probes, fnr: float64(missed) / probes}, nil
}

// expected returns the closed forms' rates in percent, at half of the new elements.
func (f failure) expected() (rates, error) {
	form := theory.Sliced{Bits: f.config.Bits, K: f.config.K, Slices: f.config.Slices}
	choices := f.way.choices(f.config.K)
	p, err := form.SplitFPR(choices, webLog.distinct+probes/2)
	if err != nil {
		return rates{}, err
	}
	fpr, fnr, err := form.SplitHybrid(choices, f.failed, p, f.config.AtLeast)
	return rates{fpr: 100 * fpr, fnr: 100 * fnr}, err
}
