package stable

import (
	"context"
	"fmt"

	"github.com/flowdedup/flowdedup/bench/chart"
	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/engine/theory"
)

const figure2Bits = 100_000

// figure2 is the miss rate with Max = 3 less that with Max = 1, by the gap.
func figure2(ctx context.Context, o result.Options) (result.Table, error) {
	bounds := []float64{0.2, 0.1, 0.01, 0.001}
	gaps := []int{100, 300, 1000, 3000, 10_000, 30_000, 100_000}
	n := 100_000
	if o.Full {
		n = 2_000_000
	}
	formula, measured := newGrid(len(bounds), len(gaps)), newGrid(len(bounds), len(gaps))
	err := result.Parallel(ctx, len(bounds)*len(gaps), o.Workers, func(task int) (err error) {
		i, j := task/len(gaps), task%len(gaps)
		formula[i][j], measured[i][j], err = compareMax(ctx, bounds[i], gaps[j], n)
		return err
	})
	if err != nil {
		return result.Table{}, err
	}
	out := result.Table{
		Title: "Misses with Max = 3 less those with Max = 1, by the gap",
		Setting: fmt.Sprintf("%d bits for both, K the best for each, P by Eq. 17 rounded up. A gap counts the elements in between. "+
			"%d elements measured, half of them duplicates, and two gaps more.", figure2Bits, n),
		Corner: "FPS, difference of FNR",
		Notes: []string{"The printed figure has no numbers. Its message: Max = 3 is better for short gaps, Max = 1 beyond some threshold; " +
			"for very long ones there is no difference."},
		Charts: []result.Picture{{File: "p0-figure2", Chart: chart.Chart{
			Title: "Misses with Max = 3 less those with Max = 1", X: "gap, elements", Y: "difference of false negative rates", LogX: true}}},
	}
	xs := make([]float64, len(gaps))
	for j, gap := range gaps {
		xs[j] = float64(gap)
		out.Columns = append(out.Columns, fmt.Sprintf("gap %d", gap))
	}
	settings := make([]setting, len(bounds))
	for i, fps := range bounds {
		settings[i] = setting{top: 3, d: 2, fps: fps}
	}
	addPairs(&out, settings, xs, formula, measured)
	return out, nil
}

// compareMax returns the difference at one gap by the closed form and measured.
func compareMax(ctx context.Context, fps float64, gap, n int) (formula, measured float64, err error) {
	for _, s := range []struct {
		setting
		sign float64
	}{{setting{3, 2, fps}, 1}, {setting{1, 1, fps}, -1}} {
		// The best K does not depend on the gap, so it is found at one at which
		// rates differ.
		model, err := theory.StableBestK(figure2Bits/s.d, s.top, fps, figure2Bits/25)
		if err != nil {
			return 0, 0, err
		}
		rate, err := model.FNR(gap)
		if err != nil {
			return 0, 0, err
		}
		counted, err := missRate(ctx, model, gap, n+2*gap)
		if err != nil {
			return 0, 0, err
		}
		formula += s.sign * rate
		measured += s.sign * counted
	}
	return formula, measured, nil
}
