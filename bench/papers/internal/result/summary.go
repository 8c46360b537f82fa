package result

import (
	"fmt"
	"math"
	"slices"
)

// Summary says in a line how far the table's numbers are from the printed ones,
// in median and at most; "" if nothing is printed.
func (t Table) Summary() string {
	differences := t.differences()
	if len(differences) == 0 {
		return ""
	}
	slices.Sort(differences)
	return fmt.Sprintf("%d printed numbers; relative difference: median %.2f %%, at most %.1f %%.",
		len(differences), 100*differences[len(differences)/2], 100*differences[len(differences)-1])
}

// differences returns the absolute relative differences.
func (t Table) differences() []float64 {
	var all []float64
	for _, row := range t.Rows {
		for _, cell := range row.Cells {
			if d := cell.Difference(); !math.IsNaN(d) {
				all = append(all, math.Abs(d))
			}
		}
	}
	return all
}
