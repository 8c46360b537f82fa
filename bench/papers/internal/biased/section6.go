package biased

import (
	"context"
	"fmt"
	"math"

	"github.com/flowdedup/flowdedup/bench/chart"
	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
)

// figure is one of Figures 2 to 11: rates or loads along a stream.
type figure struct {
	name              string
	millions, percent int
	megabytes         []int // more than one for loads
	table             string
	message           string // what the text says of it
}

var figures = []figure{
	{"p1.figure2", 1000, 15, []int{128}, "p1.table7", "\"all the algorithms achieve quite low FPR in the range of 1%-2%\"; \"FPR becomes stable at around 300M-350M data points\"."},
	{"p1.figure3", 1000, 15, []int{256}, "p1.table7", "FPR \"within a small range of 0.4%-0.6%\", \"FNR varies from 30% for SBF to 0.2% for RLBSBF\"; \"FNR tends to zero\", and that of SBF \"increases as the stream length increases\"."},
	{"p1.figure4", 1000, 15, []int{512}, "p1.table7", "\"FNR further drops to a very low limit (less than 1%) for BSBF, BSBFSD, RLBSBF\" (Table 7 prints 1.28 % for BSBF)."},
	{"p1.figure5", 1000, 60, []int{128}, "p1.table8", "\"BSBF and BSBFSD attain stability in FNR ratio from around 500M data points\"; \"FNR(70%)\" of SBF (Table 8 prints 65 %)."},
	{"p1.figure6", 1000, 60, []int{256}, "p1.table8", "\"The range of FPR for the algorithms lies between 4%-7%\" (Table 8 prints 3.2 to 6.5 %)."},
	{"p1.figure7", 1000, 60, []int{512}, "p1.table8", "\"the FPR of the algorithms converges to a very low limit\"."},
	{"p1.figure8", 695, 15, []int{512}, "p1.table4", "\"FPR for all the algorithm is almost similar and stable\"."},
	{"p1.figure9", 695, 60, []int{512}, "p1.table5", "\"at 695M data point, none of the algorithms have achieved stability in terms of FPR\"; of FNR, \"SBF is far way off from stability\"."},
	{"p1.figure10", 695, 90, []int{512}, "p1.table6", "\"similar trends\" as in Figure 9."},
	{"p1.figure11", 1000, 15, []int{256, 512}, "", "\"all the algorithms nearly attain stability when 300M-400M data points have been processed\"; with more memory \"stability is reached faster\"."},
}

const (
	// figureScale divides the sizes of the figures, which need fewer errors than tables.
	figureScale = 512
	points      = 20 // of a line
	shown       = 10 // of them in the table
	// settled is how near to its last value a line has to stay.
	settled = 0.05
)

// line is a rate or load of a filter along the stream.
type line struct {
	name   string
	values [points]float64
}

// make runs the stream once for each memory and draws what became of the filters.
func (f figure) make(ctx context.Context, o result.Options) (result.Table, error) {
	scale := figureScale
	if o.Full {
		scale = 1
	}
	s, all := newSize(f.millions, f.percent, scale), make([][]line, len(f.megabytes))
	err := result.Parallel(ctx, len(all), o.Workers, func(i int) (err error) {
		all[i], err = f.lines(ctx, f.megabytes[i], s)
		return err
	})
	if err != nil {
		return result.Table{}, err
	}
	out := result.Table{
		Title: fmt.Sprintf("%s along %dM elements, %d %% distinct, %s", f.what(), f.millions, f.percent, f.memory()),
		Setting: fmt.Sprintf("%d elements, k = 2 and the parameters of Tables 4 to 9, one seed; N and memory are the printed ones divided by %d. "+
			"Rates are those of all elements so far. The last column says from which element on a line stays within %g %% of its end.", s.elements, scale, 100*settled),
		Corner: "filter",
		Notes:  []string{"The printed figure has no numbers; the last rates are compared with those of its table. The text: " + f.message},
		Charts: []result.Picture{{File: "p1-" + f.name[3:], Chart: chart.Chart{Title: f.what() + ", " + f.memory(), X: "million elements", Y: "share", LogY: f.table != ""}}},
	}
	for i := range shown {
		out.Columns = append(out.Columns, fmt.Sprintf("%dM", f.millions*(i+1)/shown))
	}
	out.Columns = append(out.Columns, "settled from, M")
	for _, lines := range all {
		for _, l := range lines {
			f.add(&out, l)
		}
	}
	return out, nil
}

func (f figure) what() string {
	if f.table == "" {
		return "Loads"
	}
	return "Rates"
}

func (f figure) memory() string {
	text := ""
	for i, m := range f.megabytes {
		if i > 0 {
			text += " and "
		}
		text += fmt.Sprintf("%d MB", m)
	}
	return text
}

// lines runs all filters of one memory size.
func (f figure) lines(ctx context.Context, megabytes int, s size) ([]line, error) {
	methods := rivals()
	filters, err := build(methods, megabytes, s, 0)
	if err != nil {
		return nil, err
	}
	fpr, fnr, load := make([]line, len(methods)), make([]line, len(methods)), make([]line, len(methods))
	for i, m := range methods {
		fpr[i].name, fnr[i].name, load[i].name = m.name+", FPR", m.name+", FNR", fmt.Sprintf("%s, %d MB", m.name, megabytes)
	}
	scores := make([]stream.Score, len(methods))
	err = s.run(ctx, 0, points, filters, func(i int, known, seen []bool) {
		for j, known := range known {
			scores[i].Add(known, seen[j])
		}
		// The points that this batch has passed.
		done := scores[i].Distinct + scores[i].Duplicates
		at := func(done int) int { return int(int64(points) * int64(done) / int64(s.elements)) }
		for p := at(done - len(known)); p < at(done); p++ {
			fpr[i].values[p], fnr[i].values[p] = scores[i].FPR(), scores[i].FNR()
			if f.table == "" {
				load[i].values[p] = filters[i].Load()
			}
		}
	})
	if f.table == "" {
		return load, err
	}
	return append(fpr, fnr...), err
}

// add adds a line to the table and the chart.
func (f figure) add(out *result.Table, l line) {
	row, c := result.Row{Name: l.name}, chart.Line{Name: l.name, Dashed: l.name[len(l.name)-3:] == "FPR"}
	from := 0
	for p, v := range l.values {
		x := float64(f.millions) * float64(p+1) / points
		c.X, c.Y = append(c.X, x), append(c.Y, v)
		if math.Abs(v/l.values[points-1]-1) > settled {
			from = p + 1
		}
		if (p+1)%(points/shown) == 0 {
			row.Cells = append(row.Cells, result.Measured(100*v, "%"))
		}
	}
	if printed := f.printed(l.name); !math.IsNaN(printed) {
		row.Cells[shown-1].Printed = printed
	}
	row.Cells = append(row.Cells, result.Measured(c.X[min(from, points-1)], ""))
	out.Rows = append(out.Rows, row)
	out.Charts[0].Chart.Lines = append(out.Charts[0].Chart.Lines, c)
}

// printed returns the rate that the figure's table prints for its end, NaN if there is
// none, or if it is that of another filter; see restricted.
func (f figure) printed(name string) float64 {
	for _, t := range tables() {
		if t.name != f.table {
			continue
		}
		for _, m := range t.memories {
			for i, method := range t.methods {
				switch {
				case m.megabytes != f.megabytes[0] || i == 0 && m.megabytes == restrictedAt:
				case name == method.name+", FPR":
					return m.fpr[i]
				case name == method.name+", FNR":
					return m.fnr[i]
				}
			}
		}
	}
	return math.NaN()
}

// parameters is the choice of k by Eq. 6.1.
func parameters(context.Context, result.Options) (result.Table, error) {
	out := result.Table{
		Title:   "The number of filters by Eq. 6.1",
		Setting: "k = ln(FPR_t) / ln(1-1/e), and the arithmetic mean of 1 and that, which the paper sets. Its FPR_t is 0.1.",
		Corner:  "FPR_t",
		Columns: []string{"k by Eq. 6.1", "mean of 1 and that", "rounded"},
		Notes: []string{"With the paper's threshold of 0.1 its rule gives k = 3, and its Tables 4 to 9 have 2. By its Table 1, BSBF of 128 MB with 3 has an FPR of 6.7 and an FNR of 59 %, with 2 of " +
			"11.9 and 34.8 %: the text takes 2 as \"acceptably balanced\"."},
	}
	for _, target := range []float64{0.2, 0.1, 0.05, 0.01} {
		k := math.Log(target) / math.Log(1-1/math.E)
		row := result.Row{Name: fmt.Sprint(target), Cells: []result.Cell{
			result.Measured(k, ""), result.Measured((1+k)/2, ""), result.Measured(math.Round((1+k)/2), ""),
		}}
		if target == 0.1 {
			row.Cells[2].Printed = 2
		}
		out.Rows = append(out.Rows, row)
	}
	return out, nil
}
