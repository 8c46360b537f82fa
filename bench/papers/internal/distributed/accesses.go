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

// figure7 is Figure 7(a) and (b): false positives of the synthetic and Yahoo sets.
func figure7(ctx context.Context, o result.Options) (result.Table, error) {
	table := result.Table{
		Title: "slicing: false positives of the synthetic and Yahoo sets",
		Setting: fmt.Sprintf("%d events, Zipf 1.0, %d and %d distinct ones, k = %d, m = %v and %v; false positives over all distinct events while the filter fills; mean of %d runs",
			events, synthetic.distinct, yahoo.distinct, hashes, synthetic.bits, yahoo.bits, runs(o)),
		Corner:  "slices",
		Columns: append(fprColumns("synthetic, "), fprColumns("Yahoo, ")...),
	}
	var charts []chart.Chart
	var sweeps []sweep
	for _, data := range []dataset{synthetic, yahoo} {
		s, err := measureSweep(ctx, o, data, len(targets))
		if err != nil {
			return table, err
		}
		c, err := s.fprChart()
		if err != nil {
			return table, err
		}
		sweeps, charts = append(sweeps, s), append(charts, c)
	}
	for i, slices := range sliceCounts {
		table.Rows = append(table.Rows, result.Row{
			Name:  fmt.Sprint(slices),
			Cells: append(sweeps[0].fprCells(i), sweeps[1].fprCells(i)...),
		})
	}
	table.Charts = pictures("p4-figure7", charts...)
	table.Notes = []string{
		"The number of distinct events and the filter decide these rates, not the events' popularity: a uniform synthetic stream has the same.",
		"The smaller the slices are, the more horizontal slicing costs: at 100 slices the Yahoo set's have 108 to 174 bits.",
	}
	for _, s := range sweeps {
		closed, err := s.closedFormNote()
		if err != nil {
			return table, err
		}
		table.Notes = append(table.Notes, s.data.name+". "+closed)
	}
	return table, nil
}

// shares are the distinct events of Figure 7(c)'s data sets, of all events.
var shares = []float64{.8, .5, .2}

// figure7c is Figure 7(c): slices accessed for a lookup, with pipelining and without.
func figure7c(ctx context.Context, o result.Options) (result.Table, error) {
	table := result.Table{
		Title: "pipelining: vertical slices accessed for a lookup",
		Setting: fmt.Sprintf("%d events, uniform over as many ids as make 80, 50 and 20 %% of them distinct (Zipf 1.0 has no domain of reasonable size for 80 %%), k = %d, m for 2 %%; first-test-then-set, tests counted; mean of %d runs",
			events, hashes, runs(o)),
		Corner: "slices",
	}
	counts := sliceCounts[1:]
	var jobs []job
	for _, share := range shares {
		for _, pipelined := range []bool{true, false} {
			table.Columns = append(table.Columns, fmt.Sprintf("%g %% distinct, %s", 100*share, accessMode(pipelined)))
			for _, slices := range counts {
				jobs = append(jobs, lookupJob(share, pipelined, slices))
			}
		}
	}
	outcomes, err := measure(ctx, o, jobs)
	if err != nil {
		return table, err
	}
	var x []float64
	for i, slices := range counts {
		var accesses []float64
		for column := range table.Columns {
			accesses = append(accesses, outcomes[column*len(counts)+i].accesses)
		}
		x = append(x, float64(slices))
		table.Rows = append(table.Rows, measuredRow(fmt.Sprint(slices), "", accesses...))
	}
	table.Charts = pictures("p4-figure7c", chart.Chart{
		Title: "Slices accessed for a lookup", X: "slices", Y: "slices accessed", Lines: columnLines(table, x, odd),
	})
	table.Notes = []string{
		"A duplicate's slices are all asked, a distinct event's up to the first clear bit. Without pipelining slices S (1-(1-1/S)^k) are asked, as some of the k hash functions lead to the same one.",
		"Horizontal slicing asks one slice.",
	}
	return table, nil
}

func accessMode(pipelined bool) string {
	if pipelined {
		return "pipelined"
	}
	return "parallel"
}

// lookupJob has as many bits for each distinct event as the synthetic set for 2 %.
func lookupJob(share float64, pipelined bool, slices int) job {
	distinct := int(share * events)
	bits := int(float64(distinct) * float64(synthetic.bits[0]) / float64(synthetic.distinct))
	return job{
		data:   dataset{name: "synthetic, uniform", distinct: distinct},
		way:    vertical,
		config: paper.SlicedConfig{Bits: bits, K: hashes, Slices: slices, FirstTest: true, Pipelined: pipelined},
	}
}

// slicing is one of the paper's two ways.
type slicing int

const (
	vertical slicing = iota
	horizontal
)

var slicings = [2]slicing{vertical, horizontal}

func (s slicing) String() string { return [2]string{"vertical", "horizontal"}[s] }

// choices returns how many slices an element chooses.
func (s slicing) choices(k int) int {
	if s == horizontal {
		return 1
	}
	return k
}

func (s slicing) make(c paper.SlicedConfig) (*paper.Sliced, error) {
	if s == horizontal {
		return paper.NewHorizontal(c)
	}
	return paper.NewVertical(c)
}

// job is one filter for one data set.
type job struct {
	data   dataset
	way    slicing
	config paper.SlicedConfig
}

// outcome is the mean over the runs of a job.
type outcome struct {
	fpr      float64
	fairness float64 // Jain's index of the slices' loads
	maxLoad  float64 // the largest share of the load at one slice
	accesses float64 // tests for each element
}

// measure gives each job's stream to its filter, in each of the runs.
func measure(ctx context.Context, o result.Options, jobs []job) ([]outcome, error) {
	count := runs(o)
	drawn := map[dataset]streams{}
	for _, j := range jobs {
		if _, ok := drawn[j.data]; !ok {
			drawn[j.data] = j.data.draw(count)
		}
	}
	each := make([]outcome, len(jobs)*count)
	err := result.Parallel(ctx, len(each), o.Workers, func(i int) (err error) {
		j := jobs[i/count]
		each[i], err = j.run(drawn[j.data], i%count)
		return err
	})
	if err != nil {
		return nil, err
	}
	means := make([]outcome, len(jobs))
	for i, one := range each {
		mean, share := &means[i/count], 1/float64(count)
		mean.fpr += share * one.fpr
		mean.fairness += share * one.fairness
		mean.maxLoad += share * one.maxLoad
		mean.accesses += share * one.accesses
	}
	return means, nil
}

func (j job) run(s streams, run int) (outcome, error) {
	filter, err := j.way.make(j.config)
	if err != nil {
		return outcome{}, err
	}
	var score stream.Score
	known := stream.NewKnown(s.domain)
	for _, id := range s.ids[run] {
		score.Add(known.Add(id), filter.TestAndSet(digestOf(uint64(run), id)))
	}
	if score.FalseNegatives > 0 {
		return outcome{}, fmt.Errorf("%v slices missed %d duplicates", j.way, score.FalseNegatives)
	}
	loads, largest := filter.Loads(), 0
	for _, load := range loads {
		largest = max(largest, load)
	}
	fairness, err := theory.Fairness(loads)
	if err != nil {
		return outcome{}, err
	}
	cost := filter.Cost()
	return outcome{
		fpr:      score.FPR(),
		fairness: fairness,
		maxLoad:  float64(largest) / float64(cost.Tests),
		accesses: float64(cost.Tests) / float64(cost.Events),
	}, nil
}

// expectedFPR returns the closed form of a job's false positive rate: the mean over the
// distinct elements of the rate at which each is met, while the filter fills.
func (j job) expectedFPR() (float64, error) {
	const steps = 100 // the midpoint rule is exact to 1e-4 of the result
	form := theory.Sliced{Bits: j.config.Bits, K: j.config.K, Slices: j.config.Slices}
	sum := 0.0
	for step := range steps {
		rate, err := form.SplitFPR(j.way.choices(j.config.K), j.data.distinct*(2*step+1)/(2*steps))
		if err != nil {
			return 0, err
		}
		sum += rate
	}
	return sum / steps, nil
}
