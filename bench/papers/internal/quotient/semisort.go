package quotient

import (
	"context"
	"fmt"

	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/engine/paper"
)

// semiSort compares rows with and without semi-sorting, section 3.3 of the paper.
func semiSort(ctx context.Context, o result.Options) (result.Table, error) {
	scores, err := small(ctx, o, func(c paper.QHTConfig) ([]paper.Filter, error) {
		qht, err := paper.NewQHT(c)
		if err != nil {
			return nil, err
		}
		sorted, err := paper.NewSemiSortedQHT(c)
		return []paper.Filter{qht, sorted}, err
	})
	if err != nil {
		return result.Table{}, err
	}
	table := result.Table{
		Title:   "Semi-sorted rows",
		Setting: "Section 3.3. The rates: " + smallSetting,
		Corner:  "row",
		Columns: []string{"sorted rows", "bits of a code", "bits of a row", "QHT: FPR", "QHT: FNR", "semi-sorted: FPR", "semi-sorted: FNR"},
		Notes: []string{
			"A code for k = s = 4 takes 12 of 16 bits, as the paper says. The table has a third more rows in the same memory then.",
			"Rows of one or two cells gain nothing at these widths. An order of evictions, as QQHTD's queue has, cannot be kept.",
		},
	}
	for i, s := range shapes() {
		encoding, err := paper.NewSemiSort(s.cells, s.bits)
		if err != nil {
			return result.Table{}, err
		}
		codes, code := result.Measured(float64(encoding.Codes()), ""), result.Measured(float64(encoding.Bits()), "")
		if s == (shape{4, 4}) {
			codes, code = result.Compared(codes.Ours, 3876, ""), result.Compared(code.Ours, 12, "")
		}
		plain, sorted := percent(scores[i][0]), percent(scores[i][1])
		table.Rows = append(table.Rows, result.Row{
			Name: fmt.Sprintf("k=%d, s=%d", s.cells, s.bits),
			Cells: []result.Cell{
				codes, code, result.Measured(float64(s.cells*s.bits), ""),
				result.Measured(plain.fpr, "%"), result.Measured(plain.fnr, "%"),
				result.Measured(sorted.fpr, "%"), result.Measured(sorted.fnr, "%"),
			},
		})
	}
	return table, nil
}
