package stable

import (
	"context"
	"fmt"

	"github.com/flowdedup/flowdedup/bench/chart"
	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/engine/paper"
	"github.com/flowdedup/flowdedup/engine/theory"
)

// figure4 is the miss rate of FPbuffering less that of the SBF, for four bounds
// on false positives.
func figure4(ctx context.Context, o result.Options) (result.Table, error) {
	set, scale := datasets()[1], 4
	if o.Full {
		scale = 1
	}
	settings := []setting{{3, 2, 0.005}, {3, 2, 0.01}, {1, 1, 0.1}, {1, 1, 0.2}}
	stream, err := set.crawl().draw(ctx, scale, streamSeed)
	if err != nil {
		return result.Table{}, err
	}
	differences := newGrid(len(settings), len(set.rows))
	err = result.Parallel(ctx, len(set.rows), o.Workers, func(j int) error {
		row := set.rows[len(set.rows)-1-j]
		column, err := missDifferences(ctx, stream, settings, int(row.bits/int64(scale)))
		for i, d := range column {
			differences[i][len(set.rows)-1-j] = d
		}
		return err
	})
	if err != nil {
		return result.Table{}, err
	}
	out := result.Table{
		Title: "Misses of FPbuffering less those of the SBF, by the bound on false positives",
		Setting: fmt.Sprintf("The crawl of 10M elements (see p0.table2), elements, distances and memory divided by %d. K = 4 with Max = 3, "+
			"K = 2 with Max = 1; P by Eq. 17 rounded down, as in the paper. Buffers hold 64 bits for an element. "+
			"FPbuffering has the false positive rate of the SBF.", scale),
		Corner: "setting, difference of FNR",
		Notes: []string{"The printed figure has no numbers and is for the paper's 695M elements. Its message: the more false positives are allowed, " +
			"the better the SBF does beside FPbuffering."},
		Charts: []result.Picture{{File: "p0-figure4", Chart: chart.Chart{
			Title: "Misses of FPbuffering less those of the SBF", X: "bits", Y: "difference of false negative rates", LogX: true}}},
	}
	xs := make([]float64, len(set.rows))
	for j, row := range set.rows {
		xs[j] = float64(row.bits)
		out.Columns = append(out.Columns, fmt.Sprint(row.bits))
	}
	for i, s := range settings {
		out.Rows = append(out.Rows, result.Row{Name: s.String(), Cells: percents(differences[i])})
		out.Charts[0].Chart.Lines = append(out.Charts[0].Chart.Lines, chart.Line{Name: s.String(), X: xs, Y: differences[i]})
	}
	return out, nil
}

// missDifferences returns the difference for each setting. That of FPbuffering
// is buffering's, less the share of misses that chance reports as seen.
func missDifferences(ctx context.Context, t trace, settings []setting, bits int) ([]float64, error) {
	buffer, err := paper.NewLRU(bits, elementBits)
	if err != nil {
		return nil, err
	}
	misses, err := t.score(ctx, buffer, 0)
	if err != nil {
		return nil, err
	}
	var differences []float64
	for _, s := range settings {
		f, err := s.asPrinted(bits)
		if err != nil {
			return nil, err
		}
		score, err := t.score(ctx, f, 0)
		if err != nil {
			return nil, err
		}
		differences = append(differences, (1-score.FPR())*misses.FNR()-score.FNR())
	}
	return differences, nil
}

// asPrinted returns the filter as the paper has it for Figure 4.
func (s setting) asPrinted(bits int) (*paper.Stable, error) {
	k := 2
	if s.top == 3 {
		k = 4
	}
	exact, err := theory.StablePExact(bits/s.d, k, s.top, s.fps)
	if err != nil {
		return nil, err
	}
	return build(theory.Stable{Cells: bits / s.d, K: k, P: max(1, int(exact)), Max: s.top})
}
