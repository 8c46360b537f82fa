package quotient

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"

	"github.com/flowdedup/flowdedup/bench/chart"
	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
	"github.com/flowdedup/flowdedup/engine/paper"
	"github.com/flowdedup/flowdedup/engine/theory"
)

const (
	saturationFirst = 10 // the first stretch ends at 2^10 elements
	saturationLast  = 20
	saturationRuns  = 8
)

// saturationShapes are the first, third and last of Table 1.
func saturationShapes() []shape { return []shape{shapes()[0], shapes()[2], shapes()[4]} }

// saturation shows how the false positive rate approaches k/S, beside Theorem 4.1 and the
// formula in which empty cells fill first.
func saturation(ctx context.Context, o result.Options) (result.Table, error) {
	table := result.Table{
		Title:   "False positive rate on its way to k/S",
		Setting: fmt.Sprintf("QHT of 65,536 bits, new elements only: rates in stretches of the stream that end at the number of elements given, and begin at half of it; mean of %d runs.", saturationRuns),
		Corner:  "elements",
		Notes: []string{
			"Theorem 4.1 takes rows as full from the start. That is right for k = 1 only: with more cells the empty ones are filled first, and its rate is too low until the rows are full.",
			"The formula beside it is the mean number of occupied cells of a row over S.",
		},
	}
	picture := chart.Chart{Title: "False positive rate of QHT, 65,536 bits", X: "elements so far", Y: "false positive rate, %", LogX: true}
	for i := saturationFirst; i <= saturationLast; i++ {
		table.Rows = append(table.Rows, result.Row{Name: fmt.Sprintf("2^%d", i)})
	}
	table.Rows = append(table.Rows, result.Row{Name: "limit k/S"})
	for _, s := range saturationShapes() {
		lines, err := saturationLines(ctx, o, s)
		if err != nil {
			return result.Table{}, err
		}
		for _, line := range lines {
			table.Columns = append(table.Columns, line.Name)
			for i := range table.Rows {
				cell := result.Cell{Blank: true}
				if i < len(line.Y) {
					cell = result.Measured(line.Y[i], "%")
				} else if !line.Dashed {
					cell = result.Measured(100*float64(s.cells)/float64(int(1)<<s.bits-1), "%")
				}
				table.Rows[i].Cells = append(table.Rows[i].Cells, cell)
			}
		}
		picture.Lines = append(picture.Lines, lines...)
	}
	table.Charts = []result.Picture{{File: "p3-saturation", Chart: picture}}
	return table, nil
}

// saturationLines returns the measured rates of one shape, those of the closed form and
// those of Theorem 4.1.
func saturationLines(ctx context.Context, o result.Options, s shape) ([]chart.Line, error) {
	reported, err := saturationCounts(ctx, o, s)
	if err != nil {
		return nil, err
	}
	q := theory.Quotient{Rows: smallMemory / (s.cells * s.bits), K: s.cells, S: 1<<s.bits - 1}
	name := fmt.Sprintf("k=%d, s=%d", s.cells, s.bits)
	lines := []chart.Line{{Name: name}, {Name: name + ", occupied/S", Dashed: true}, {Name: name + ", Theorem 4.1", Dashed: true}}
	for i, count := range reported {
		end := 1 << (saturationFirst + i)
		closed, err := meanOver(end/2, end, q.NewElementFP)
		if err != nil {
			return nil, err
		}
		printed, err := meanOver(end/2, end, q.PrintedFP)
		if err != nil {
			return nil, err
		}
		measured := float64(count) / float64(end/2*saturationRuns)
		for j, y := range []float64{measured, closed, printed} {
			lines[j].X = append(lines[j].X, float64(end)/math.Sqrt2)
			lines[j].Y = append(lines[j].Y, 100*y)
		}
	}
	return lines, nil
}

// meanOver returns the mean of a rate over element numbers from first to end-1, by 64
// values in the middle of as many equal parts.
func meanOver(first, end int, rate func(m int) (float64, error)) (float64, error) {
	const parts = 64
	sum := 0.0
	for i := range parts {
		value, err := rate(first + (end-first)*(2*i+1)/(2*parts))
		if err != nil {
			return 0, err
		}
		sum += value
	}
	return sum / parts, nil
}

// saturationCounts returns how many new elements were reported in each stretch, over all
// runs.
func saturationCounts(ctx context.Context, o result.Options, s shape) ([]int, error) {
	runs := make([][]int, saturationRuns)
	err := result.Parallel(ctx, saturationRuns, o.Workers, func(run int) error {
		seed := uint64(run) + 1
		f, err := paper.NewQHT(paper.QHTConfig{Bits: smallMemory, CellBits: s.bits, Cells: s.cells, Seed: seed})
		if err != nil {
			return err
		}
		counts := make([]int, saturationLast-saturationFirst+1)
		element := uint64(0)
		for i := range counts {
			end := uint64(1) << (saturationFirst + i)
			for ; element < end; element++ {
				if f.TestAndSet(stream.Digest(seed<<40|element)) && element >= end/2 {
					counts[i]++
				}
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
		runs[run] = counts
		return nil
	})
	if err != nil {
		return nil, err
	}
	total := make([]int, saturationLast-saturationFirst+1)
	for _, counts := range runs {
		for i, count := range counts {
			total[i] += count
		}
	}
	return total, nil
}

const (
	missUniverse = 1 << 18
	missFirst    = 13
	missLast     = 21
	missRuns     = 4
)

// misses shows how the false negative rate approaches its limit, beside FN_m of Theorem
// 4.2's proof and the closed form that lets rows fill first.
func misses(ctx context.Context, o result.Options) (result.Table, error) {
	table := result.Table{
		Title: "False negative rate on its way to the limit",
		Setting: fmt.Sprintf("QHT of 65,536 bits, uniform draws from %d elements: duplicates missed, of those in stretches of the stream that end at the number of elements given and begin at half of it; %d runs.",
			missUniverse, missRuns),
		Corner: "elements",
		Notes: []string{
			"FN_m is the chance that element m comes again and is missed: here it is over the chance that it comes again. Its proof has rows full from the start; so for more cells than one it has misses where there are none yet. It takes rows as alike: 8 elements of the alphabet for each cell make it 2 % too high for k = 1, which the closed form averages over.",
			"Appendix B begins with two wrong signs and ends with the right limit, which the last row has.",
		},
	}
	stream := func(n int) theory.UniformStream { return theory.UniformStream{Elements: n, Universe: missUniverse} }
	for i := missFirst; i <= missLast; i++ {
		table.Rows = append(table.Rows, result.Row{Name: fmt.Sprintf("2^%d", i)})
	}
	limits := result.Row{Name: "limit"}
	var x []float64
	for column, s := range saturationShapes() {
		name := fmt.Sprintf("k=%d, s=%d", s.cells, s.bits)
		table.Columns = append(table.Columns, name, name+", closed form", name+", FN_m")
		scores, err := missCounts(ctx, o, s)
		if err != nil {
			return table, err
		}
		q := theory.Quotient{Rows: smallMemory / (s.cells * s.bits), K: s.cells, S: 1<<s.bits - 1}
		limit, err := q.FNR(missUniverse)
		if err != nil {
			return table, err
		}
		limits.Cells = append(limits.Cells, result.Cell{Blank: true}, result.Cell{Blank: true}, result.Measured(100*limit, "%"))
		total := func(n int) (missed, duplicates float64, err error) {
			if duplicates, err = stream(n).Duplicates(); err == nil {
				_, missed, err = q.StreamRates(theory.QHT, stream(n))
			}
			return missed * duplicates, duplicates, err
		}
		for i, score := range scores {
			end := 1 << (missFirst + i)
			before, beforeOf, err := total(end / 2)
			if err != nil {
				return table, err
			}
			after, of, err := total(end)
			if err != nil {
				return table, err
			}
			printed, err := meanOver(end/2, end, func(m int) (float64, error) { return q.PrintedFN(missUniverse, m) })
			if err != nil {
				return table, err
			}
			printed *= float64(end/2) / (of - beforeOf)
			for _, rate := range []float64{score.FNR(), (after - before) / (of - beforeOf), printed} {
				table.Rows[i].Cells = append(table.Rows[i].Cells, result.Measured(100*rate, "%"))
			}
			if column == 0 {
				x = append(x, float64(end)/math.Sqrt2)
			}
		}
	}
	table.Rows = append(table.Rows, limits)
	table.Charts = []result.Picture{{File: "p3-misses", Chart: chart.Chart{
		Title: "False negative rate of QHT, 65,536 bits", X: "elements so far", Y: "false negative rate, %", LogX: true,
		Lines: table.Lines(x, func(column int) bool { return column%3 != 0 }),
	}}}
	return table, nil
}

// missCounts returns the scores of each stretch, over all runs.
func missCounts(ctx context.Context, o result.Options, s shape) ([]stream.Score, error) {
	runs := make([][missLast - missFirst + 1]stream.Score, missRuns)
	err := result.Parallel(ctx, missRuns, o.Workers, func(run int) error {
		seed := uint64(run) + 1
		f, err := paper.NewQHT(paper.QHTConfig{Bits: smallMemory, CellBits: s.bits, Cells: s.cells, Seed: seed})
		if err != nil {
			return err
		}
		random, came := rand.New(rand.NewPCG(seed, 4)), stream.NewKnown(missUniverse)
		for i := range 1 << missLast {
			if i%(1<<16) == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			element := random.Uint64N(missUniverse)
			known, seen := came.Add(element), f.TestAndSet(stream.Digest(seed<<40|element))
			if at := bits.Len(uint(i)) - missFirst; at >= 0 {
				runs[run][at].Add(known, seen)
			}
		}
		return nil
	})
	total := runs[0]
	for _, run := range runs[1:] {
		for i := range total {
			total[i].Sum(run[i])
		}
	}
	return total[:], err
}
