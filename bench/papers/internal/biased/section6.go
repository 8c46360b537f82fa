// SPDX-License-Identifier: Apache-2.0

package biased

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/flowdedup/flowdedup/bench/papers/chart"
	"github.com/flowdedup/flowdedup/bench/papers/internal/forms"
	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
)

// table is a table of sections 6.1 and 6.3, whose printed rates are in the text: for each
// memory, in units of 2^20 bytes, a row of false positives and one of misses.
type table struct {
	name       string
	millions   int // of elements in the stream
	percent    int // of them that are distinct
	methods    []method
	parameters string // of the methods, after the setting
	// restricted tables print rates at 512 MB of a first method with random positions of
	// 31 bits. A filter with this restriction is run as well.
	restricted bool
}

const (
	// scaledBy divides the printed sizes in a default run, which has that many seeds. At
	// the printed sizes there is one.
	scaledBy    = 192
	scaledSeeds = 3
	// restrictedAt is the memory, and restrictedTo the positions of a generator of 31 bits.
	restrictedAt = 512
	restrictedTo = 1 << 31
)

const rivalParameters = " All filters have k = 2; SBF decrements P = 4 adjacent cells of one bit, RSBF has p* = 0.03."

// tables are all tables: Tables 1 to 3 by the number of filters.
var tables = []table{
	{"table1", 1000, 60, sweep(rivals[2]), "", true},
	{"table2", 1000, 60, sweep(rivals[3]), "", true},
	{"table3", 1000, 60, sweep(rivals[4]), "", false},
	{"table4", 695, 15, rivals, rivalParameters, true},
	{"table5", 695, 60, rivals, rivalParameters, true},
	{"table6", 695, 90, rivals, rivalParameters, true},
	{"table7", 1000, 15, rivals, rivalParameters, true},
	{"table8", 1000, 60, rivals, rivalParameters, true},
	{"table9", 1000, 90, rivals, rivalParameters, true},
}

// memoryOf returns the memory that a row of the text is for.
func memoryOf(row result.Row) (megabytes int) {
	result.Must(fmt.Sscanf(row.Name, "%d MB", &megabytes))
	return megabytes
}

// make runs a table, one task for each memory size and seed. A run that is interrupted
// gives the rows that are there. Rows in the file of counts are taken from it.
func (t table) make(o result.Options, out *result.Table, scale, seeds int) {
	s, printed, counts := newSize(t.millions, t.percent, scale), out.Rows, cmp.Or(o.Counts, &stream.Counts{})
	out.Rows = nil
	out.Say(t.setting(s, seeds))
	var memories []int
	for i := 0; i < len(printed); i += 2 {
		memories = append(memories, memoryOf(printed[i]))
	}
	all := result.Grid(o, len(memories), seeds, func(i, seed int) []stream.Score {
		kept := counts.Find(out.Name, memories[i])
		if kept != nil || counts.Interrupted() {
			return kept
		}
		begin := time.Now()
		scores := t.scores(memories[i], s, seed)
		counts.Add(stream.CountedRow{Table: out.Name, Megabytes: memories[i], Scores: scores, Seconds: time.Since(begin).Seconds()})
		return scores
	})
	f := fewest{count: math.MaxInt}
	missing := ""
	for i, runs := range all {
		if runs[0] == nil {
			missing += fmt.Sprintf(" %d MB", memories[i])
			continue
		}
		t.addRows(out, printed[2*i], runs, stream.Score.FPR)
		t.addRows(out, printed[2*i+1], runs, stream.Score.FNR)
		f.add(t.methods, memories[i], runs)
	}
	out.Note("The fewest errors counted for a rate are %d (%s): a standard deviation of %.1f %%. All others are closer.",
		f.count, f.rate, 100/math.Sqrt(float64(max(f.count, 1))))
	if last := len(all) - 1; t.restricted && memories[last] == restrictedAt && all[last][0] != nil {
		out.Note("At 512 MB one array has 2^32 cells. Rates printed for it are those of a filter whose random positions have 31 bits, so that " +
			"decrements and resets never reach the upper half; its row is computed with that restriction. The others reach all cells.")
	}
	t.addClosedForm(out)
	out.Notes = append(out.Notes, counts.Notes(out.Name)...)
	if missing != "" {
		out.Note("Not made yet:%s. The command goes on with them.", missing)
	}
}

// scores runs all methods with one memory size over one stream, in a single pass.
func (t table) scores(megabytes int, s size, seed int) []stream.Score {
	methods := slices.Clone(t.methods)
	if t.restricted && megabytes == restrictedAt {
		m := methods[0]
		m.reach = int(int64(restrictedTo) / int64(s.scale))
		methods = append(methods, m)
	}
	return s.source(seed).Scores(s.elements, build(methods, megabytes, s, seed)...)
}

// addRows puts a rate of each method, over the seeds, next to the printed ones. It adds a
// row for the restricted method where there is one.
func (t table) addRows(out *result.Table, printed result.Row, runs [][]stream.Score, rate func(stream.Score) float64) {
	n := len(t.methods)
	restricted := result.Row{Name: printed.Name + ", positions of 31 bits", Cells: slices.Repeat([]result.Cell{{Blank: true}}, n)}
	row := result.Row{Name: printed.Name}
	for j := range runs[0] {
		cell := result.SpreadOf(runs, func(scores []stream.Score) float64 { return rate(scores[j]) })
		cell.Printed = printed.Cells[j%n].Printed
		if j < n {
			row.Cells = append(row.Cells, cell)
			continue
		}
		cell.Kind, row.Cells[0].Kind = result.Emulated, result.Corrected
		restricted.Cells[0] = cell
	}
	out.Rows = append(out.Rows, row)
	if len(runs[0]) > n {
		out.Rows = append(out.Rows, restricted)
	}
}

// addClosedForm adds the closed forms for the smallest memory of Tables 1 to 3, where all
// printed miss rates of full filters are a little below ours.
func (t table) addClosedForm(out *result.Table) {
	if len(out.Rows) == 0 || memoryOf(out.Rows[0]) != 8 {
		return
	}
	formula := result.Row{Name: "8 MB, FNR, closed form"}
	const scale = 8 // fits an int of 32 bits, and is as exact
	s := newSize(t.millions, t.percent, scale)
	for _, m := range t.methods {
		rates := forms.Biased(m.model, m.k, 8*megabyte/scale/m.k, forms.BiasedStream{Elements: s.elements, Distinct: s.distinct})
		formula = formula.And("%", 100*rates.FNR)
	}
	out.Rows = slices.Insert(out.Rows, 2, formula)
	out.Note("At 8 MB, where arrays are nearly full, the printed miss rates below 10 %% are 0.8 to 2 %% lower than ours, by ten standard deviations. " +
		"The closed form, this program and an independent one agree. What the authors' program does otherwise there is not known.")
}

func (t table) setting(s size, seeds int) string {
	sizes := "The printed sizes."
	if s.scale > 1 {
		sizes = fmt.Sprintf("N and memory are the printed ones divided by %d, which keeps the rates.", s.scale)
	}
	runs := fmt.Sprintf("mean and half the span of %d seeds", seeds)
	if seeds == 1 {
		runs = "one seed"
	}
	return fmt.Sprintf("%d elements, %d of them distinct: each at least once, the others copies of uniformly chosen ones, "+
		"all in random order (%s). %s A MB is 2^20 bytes. FPR is false positives per distinct element, "+
		"FNR misses per duplicate.%s", s.elements, s.distinct, runs, sizes, t.parameters)
}

// fewest finds the rate with the fewest errors, by which a table is as exact as it says.
type fewest struct {
	count int
	rate  string
}

func (f *fewest) add(methods []method, megabytes int, runs [][]stream.Score) {
	for j, m := range methods {
		var sum stream.Score
		for _, scores := range runs {
			sum.Sum(scores[j])
		}
		for rate, n := range []int{sum.FalsePositives, sum.FalseNegatives} {
			if n < f.count {
				f.count, f.rate = n, fmt.Sprintf("%s of %s at %d MB", [...]string{"FPR", "FNR"}[rate], m.name, megabytes)
			}
		}
	}
}

// figure is one of Figures 2 to 11: rates or loads along a stream.
type figure struct {
	name              string
	millions, percent int
	megabytes         []int  // more than one for loads
	table             string // prints the ends of rates; "" for loads
}

var figures = []figure{
	{"figure2", 1000, 15, []int{128}, "p1.table7"},
	{"figure3", 1000, 15, []int{256}, "p1.table7"},
	{"figure4", 1000, 15, []int{512}, "p1.table7"},
	{"figure5", 1000, 60, []int{128}, "p1.table8"},
	{"figure6", 1000, 60, []int{256}, "p1.table8"},
	{"figure7", 1000, 60, []int{512}, "p1.table8"},
	{"figure8", 695, 15, []int{512}, "p1.table4"},
	{"figure9", 695, 60, []int{512}, "p1.table5"},
	{"figure10", 695, 90, []int{512}, "p1.table6"},
	{"figure11", 1000, 15, []int{256, 512}, ""},
}

const (
	// figureScale divides the sizes of the figures, which need fewer errors than tables.
	figureScale = 512
	figureSeeds = 3
	points      = 20 // of a line
	shown       = 10 // of them in the table
	// settled is how near to its last value a line has to stay.
	settled = 0.05
)

// make runs the streams of all seeds for each memory and draws the results.
func (f figure) make(o result.Options, t *result.Table) {
	scale, seeds := o.Size(figureScale, 1), o.Size(figureSeeds, 1)
	s := newSize(f.millions, f.percent, scale)
	t.Say(fmt.Sprintf("%d elements, k = 2 and the parameters of Tables 4 to 9, mean and half the span of %d seeds; N and memory are the printed ones divided by %d. "+
		"Rates cover all elements so far. The last column says from which element on a line stays within %g %% of its end.", s.elements, seeds, scale, 100*settled))
	printed := f.printed()
	for _, runs := range result.Grid(o, len(f.megabytes), seeds, func(i, seed int) []chart.Line { return f.lines(f.megabytes[i], s, seed) }) {
		for i := range runs[0] {
			t.Rows = append(t.Rows, lineRow(runs, i, printed))
			t.Draw(0, meanLine(runs, i))
		}
	}
}

// meanLine returns the mean over the seeds of line i.
func meanLine(runs [][]chart.Line, i int) chart.Line {
	mean := runs[0][i]
	mean.Y = slices.Clone(mean.Y)
	for p := range mean.Y {
		sum := 0.0
		for _, lines := range runs {
			sum += lines[i].Y[p]
		}
		mean.Y[p] = sum / float64(len(runs))
	}
	return mean
}

// lines runs all filters of one memory size over the stream of a seed, and returns their
// rates or loads.
func (f figure) lines(megabytes int, s size, seed int) []chart.Line {
	n := len(rivals)
	lines, scores := make([]chart.Line, 2*n), make([]stream.Score, n) // FPR, then FNR
	for i, m := range rivals {
		lines[i] = chart.Line{Name: m.name + ", FPR", Dashed: true}
		lines[n+i] = chart.Line{Name: m.name + ", FNR"}
		if f.table == "" {
			lines[i] = chart.Line{Name: fmt.Sprintf("%s, %d MB", m.name, megabytes)}
		}
	}
	source, filters := s.source(seed), build(rivals, megabytes, s, seed)
	part := (s.elements + points - 1) / points
	for p := range points {
		x := float64(f.millions) * float64(p+1) / points
		for i, score := range source.Scores(min(part, s.elements-p*part), filters...) {
			scores[i].Sum(score)
			fpr := scores[i].FPR()
			if f.table == "" {
				fpr = filters[i].(loaded).Load()
			}
			lines[i].X, lines[i].Y = append(lines[i].X, x), append(lines[i].Y, fpr)
			lines[n+i].X, lines[n+i].Y = append(lines[n+i].X, x), append(lines[n+i].Y, scores[i].FNR())
		}
	}
	if f.table == "" {
		return lines[:n]
	}
	return lines
}

// lineRow returns the row of line i of all seeds, whose end may be printed.
func lineRow(runs [][]chart.Line, i int, printed map[string]float64) result.Row {
	l := meanLine(runs, i)
	row, from := result.Row{Name: l.Name}, 0
	for p, v := range l.Y {
		if math.Abs(v/l.Y[points-1]-1) > settled {
			from = p + 1
		}
		if (p+1)%(points/shown) == 0 {
			row.Cells = append(row.Cells, result.SpreadOf(runs, func(lines []chart.Line) float64 { return lines[i].Y[p] }))
		}
	}
	if end, found := printed[l.Name]; found {
		row.Cells[shown-1].Printed = end
	}
	return row.And("", l.X[min(from, points-1)])
}

// printed returns the rates that the figure's table prints for the ends of its lines,
// except the rates of another filter; see restricted.
func (f figure) printed() map[string]float64 {
	all := map[string]float64{}
	if f.table == "" {
		return all
	}
	for i, row := range result.Read(result.Section(text, f.table)).Rows {
		for j, cell := range row.Cells {
			if megabytes := memoryOf(row); megabytes == f.megabytes[0] && (j > 0 || megabytes != restrictedAt) {
				all[rivals[j].name+[...]string{", FPR", ", FNR"}[i%2]] = cell.Printed
			}
		}
	}
	return all
}

// parameters is the choice of k by Eq. 6.1.
func parameters(_ result.Options, t *result.Table) {
	targets := []float64{0.2, 0.1, 0.05, 0.01} // the rows of the text
	t.Fill("", func(i, column int) float64 {
		k := math.Log(targets[i]) / math.Log(1-1/math.E)
		return []float64{k, (1 + k) / 2, math.Round((1 + k) / 2)}[column]
	})
}
