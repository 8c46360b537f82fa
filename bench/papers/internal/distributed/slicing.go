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
	messages float64 // requests and answers for each element
	bits     float64 // of positions, for each element
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
		mean.messages += share * one.messages
		mean.bits += share * one.bits
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
		messages: float64(cost.Messages()) / float64(cost.Events),
		bits:     float64(cost.PositionBits) / float64(cost.Events),
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
