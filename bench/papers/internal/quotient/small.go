package quotient

import (
	"context"
	"fmt"

	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
	"github.com/flowdedup/flowdedup/engine/paper"
	"github.com/flowdedup/flowdedup/engine/theory"
)

// The streams and filters of Tables 1 and 5 are small: they are always of the printed
// size, with more runs than the paper's ten.
const (
	smallElements = 100_000
	smallAlphabet = 1 << 20
	smallMemory   = 65_536
	smallRuns     = 20
)

const smallSetting = "65,536 bits, streams of 100,000 uniform draws from an alphabet of 2^20 (4.62 % duplicates), mean of 20 runs (the paper: 10)."

// smallVariants makes the filters of one shape.
type smallVariants func(c paper.QHTConfig) ([]paper.Filter, error)

// small returns the scores of each shape's filters over all runs.
func small(ctx context.Context, o result.Options, variants smallVariants) ([][]stream.Score, error) {
	runs := make([][][]stream.Score, smallRuns)
	err := result.Parallel(ctx, smallRuns, o.Workers, func(run int) error {
		for _, shape := range shapes() {
			seed := uint64(run) + 1
			filters, err := variants(paper.QHTConfig{Bits: smallMemory, CellBits: shape.bits, Cells: shape.cells, Seed: seed})
			if err != nil {
				return err
			}
			scores, err := uniform{smallElements, smallAlphabet, seed}.measure(ctx, filters)
			if err != nil {
				return err
			}
			runs[run] = append(runs[run], scores)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	total := runs[0]
	for _, run := range runs[1:] {
		for i := range total {
			add(total[i], run[i])
		}
	}
	return total, nil
}

// smallTheory returns the rates in percent of a variant's closed form.
func smallTheory(variant theory.QuotientVariant, s shape) (rates, error) {
	q := theory.Quotient{Rows: smallMemory / (s.cells * s.bits), K: s.cells, S: 1<<s.bits - 1}
	fpr, fnr, err := q.StreamRates(variant, theory.UniformStream{Elements: smallElements, Universe: smallAlphabet})
	return rates{100 * fpr, 100 * fnr}, err
}

// shapeNames heads the columns of some shapes.
func shapeNames(shapes []shape) []string {
	names := make([]string, 0, len(shapes))
	for _, s := range shapes {
		names = append(names, fmt.Sprintf("k=%d, s=%d", s.cells, s.bits))
	}
	return names
}

func percent(s stream.Score) rates { return rates{100 * s.FPR(), 100 * s.FNR()} }

func (r rates) sum() float64 { return r.fpr + r.fnr }
