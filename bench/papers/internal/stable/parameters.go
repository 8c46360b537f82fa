package stable

import (
	"context"
	"math"

	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/engine/theory"
)

// recommendation is what section 4.1 prints for a setting.
type recommendation struct {
	setting
	fewest, most int     // K
	p            float64 // NaN if none is printed
}

func recommendations() []recommendation {
	none := math.NaN()
	return []recommendation{
		{setting{1, 1, 0.2}, 1, 2, none},
		{setting{1, 1, 0.1}, 2, 2, 4},
		{setting{1, 1, 0.01}, 3, 3, 10},
		{setting{3, 2, 0.1}, 2, 3, none},
		{setting{3, 2, 0.01}, 4, 5, none},
		{setting{15, 4, 0.01}, 6, 6, 141},
	}
}

// parameters finds the best K and P for the settings of section 4.1, at short and
// at long gaps.
func parameters(context.Context, result.Options) (result.Table, error) {
	const cells = 1_000_000
	out := result.Table{
		Title:   "Best K and P",
		Setting: "Closed forms for a million cells; the best K by the miss rate at three gaps, with P by Eq. 17 rounded up.",
		Corner:  "setting",
		Columns: []string{"K, gap m/1000", "K, gap m/100", "K, gap m/20", "printed K, least", "printed K, most",
			"P by Eq. 17 at the largest printed K", "the same rounded down", "bound with that, %"},
		Notes: []string{"The paper rounds P down, by which its bound is above the one asked for (last column); rounded up it is kept.",
			"\"Optimal or near optimal\" is what the paper calls its K: neighbours differ little, see p0.figure1. At short gaps rates of larger cells " +
				"drown in rounding errors, and no K is given."},
	}
	for _, r := range recommendations() {
		row := result.Row{Name: r.String()}
		for _, gap := range []int{cells / 1000, cells / 100, cells / 20} {
			row.Cells = append(row.Cells, bestK(cells, gap, r))
		}
		exact, err := theory.StablePExact(cells, r.most, r.top, r.fps)
		if err != nil {
			return result.Table{}, err
		}
		down := math.Floor(exact)
		fps, err := theory.Stable{Cells: cells, K: r.most, P: int(down), Max: r.top}.FPS()
		if err != nil {
			return result.Table{}, err
		}
		row.Cells = append(row.Cells, result.Measured(float64(r.fewest), ""), result.Measured(float64(r.most), ""),
			result.Measured(exact, ""), result.Compared(down, r.p, ""), result.Measured(100*fps, "%"))
		out.Rows = append(out.Rows, row)
	}
	return out, nil
}

// bestK returns the best K beside the printed one, if that is a single one.
func bestK(cells, gap int, r recommendation) result.Cell {
	best, err := theory.StableBestK(cells, r.top, r.fps, gap)
	switch {
	case err != nil:
		return result.Cell{Blank: true}
	case r.fewest == r.most:
		return result.Compared(float64(best.K), float64(r.most), "")
	}
	return result.Measured(float64(best.K), "")
}
