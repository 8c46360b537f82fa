package distributed

import (
	"context"
	"fmt"

	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
	"github.com/flowdedup/flowdedup/engine/paper"
	"github.com/flowdedup/flowdedup/engine/theory"
)

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
