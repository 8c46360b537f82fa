package distributed

import (
	"context"
	"math/rand/v2"

	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/engine/paper"
	"github.com/flowdedup/flowdedup/engine/theory"
)

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
