package quotient

import (
	"context"
	"math/rand/v2"

	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
	"github.com/flowdedup/flowdedup/engine/paper"
)

// Experiment returns the tables of the paper.
func Experiment() result.Experiment {
	var grid gridCache // Tables 2 and 4 show the same runs
	return result.New("p3",
		"Quotient Hash Tables - Efficiently Detecting Duplicates in Streaming Data (Géraud, Lombard-Platet, Naccache, SAC 2019)",
		result.Maker{Name: "p3.table1", Make: table1},
		result.Maker{Name: "p3.table2", Make: grid.table2},
		result.Maker{Name: "p3.table3", Make: table3},
		result.Maker{Name: "p3.table4", Make: grid.table4},
		result.Maker{Name: "p3.table5", Make: table5},
		result.Maker{Name: "p3.empty", Make: emptyCells},
		result.Maker{Name: "p3.semisort", Make: semiSort},
		result.Maker{Name: "p3.memory", Make: memoryRatio},
		result.Maker{Name: "p3.saturation", Make: saturation},
		result.Maker{Name: "p3.misses", Make: misses},
		result.Maker{Name: "p3.forgetting", Make: forgetting},
		result.Maker{Name: "p3.attack", Make: attack},
	)
}

// rates holds a false positive and a false negative rate in percent.
type rates struct{ fpr, fnr float64 }

func percent(s stream.Score) rates { return rates{100 * s.FPR(), 100 * s.FNR()} }

func (r rates) sum() float64 { return r.fpr + r.fnr }

// uniform is an artificial stream of the paper: independent draws, all elements of
// the alphabet being equally likely.
type uniform struct {
	elements, alphabet int
	seed               uint64
}

// measure feeds the stream to the filters and returns their scores.
func (u uniform) measure(ctx context.Context, filters []paper.Filter) ([]stream.Score, error) {
	random := rand.New(rand.NewPCG(u.seed, 3))
	came := stream.NewKnown(u.alphabet)
	scores := make([]stream.Score, len(filters))
	for i := range u.elements {
		if i&0xffff == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		element := random.Uint64N(uint64(u.alphabet))
		known := came.Add(element)
		d := stream.Digest(u.seed<<40 | element)
		for j, f := range filters {
			scores[j].Add(known, f.TestAndSet(d))
		}
	}
	return scores, nil
}
