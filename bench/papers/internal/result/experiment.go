// SPDX-License-Identifier: Apache-2.0

// Package result holds the numbers of an experiment next to its paper's. It writes them
// as Markdown and charts.
package result

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/flowdedup/flowdedup/bench/papers/chart"
	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
)

// Experiment reproduces some tables of one paper.
type Experiment struct {
	Paper  string   // "p1"; the value of -only that selects all its tables
	Title  string   // the paper's
	Tables []string // the names of the tables it makes, "p1.table4", in order

	texts  map[string]string
	makers map[string]Maker
}

// Maker fills in a table whose text exists.
type Maker func(o Options, t *Table)

// New returns the experiment of a paper. The text has the form of RESULTS.md: the paper's
// title, and a section for each table; see [Read]. A table is made by the maker of its
// name, without the paper's.
func New(paper, text string, makers map[string]Maker) Experiment {
	title, _, _ := strings.Cut(text, "\n")
	e := Experiment{Paper: paper, Title: strings.TrimPrefix(title, "# "), makers: makers, texts: map[string]string{}}
	for _, section := range Sections(text) {
		name := SectionName(section)
		e.Tables, e.texts[name] = append(e.Tables, name), section
	}
	return e
}

// Make makes the table of one name. Parameters are this program's own, so that nothing in
// it fails; a mistake panics.
func (e Experiment) Make(name string, o Options) Table {
	t := Read(e.texts[name])
	e.makers[strings.TrimPrefix(name, e.Paper+".")](o, &t)
	t.requireForm()
	return t
}

// Must returns the value of a closed form or filter whose parameters are this program's
// own. It panics if there is an error, which is a mistake in the program.
func Must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// MeanOver returns the mean of a rate over whole numbers from first to end-1, by values in the
// middle of some equal parts.
func MeanOver(first, end, parts int, rate func(n int) float64) float64 {
	sum := 0.0
	for i := range parts {
		sum += rate(first + (end-first)*(2*i+1)/(2*parts))
	}
	return sum / float64(parts)
}

// Options say how an experiment is run.
type Options struct {
	Full    bool // the printed sizes instead of scaled ones
	Workers int  // goroutines to use, 1 or more
	// Counts keeps the rows of printed size of p1, so that a run can be interrupted. It may
	// be nil.
	Counts *stream.Counts
}

// Size returns a number for scaled runs, or the number for the printed sizes.
func (o Options) Size(scaled, full int) int {
	if o.Full {
		return full
	}
	return scaled
}

// Map returns the results of task for each job, in their order. It starts them in their
// order, on as many goroutines as the options have.
func Map[J, R any](o Options, jobs []J, task func(job J) R) []R {
	results, next := make([]R, len(jobs)), make(chan int)
	var group sync.WaitGroup
	for range min(len(jobs), max(o.Workers, 1)) {
		group.Go(func() {
			for i := range next {
				results[i] = task(jobs[i])
			}
		})
	}
	for i := range jobs {
		next <- i
	}
	close(next)
	group.Wait()
	return results
}

// Grid returns the results of task for each row and column.
func Grid[R any](o Options, rows, columns int, task func(row, column int) R) [][]R {
	all := make([]int, rows*columns)
	for i := range all {
		all[i] = i
	}
	flat := Map(o, all, func(i int) R { return task(i/columns, i%columns) })
	return slices.Collect(slices.Chunk(flat, columns))
}

var sectionHead = regexp.MustCompile(`(?m)^### (\S+): (.*)$`)

// Sections returns the sections of a text about tables, each from its head to its end.
func Sections(text string) []string {
	var all []string
	starts := sectionHead.FindAllStringIndex(text, -1)
	for i, at := range starts {
		end := len(text)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		section, _, _ := strings.Cut(text[at[0]:end], "\n## ")
		all = append(all, strings.TrimRight(section, "\n")+"\n\n")
	}
	return all
}

// Section returns the section of a table.
func Section(text, table string) string {
	for _, section := range Sections(text) {
		if SectionName(section) == table {
			return section
		}
	}
	panic("no table " + table)
}

// SectionName returns the name of a section's table.
func SectionName(section string) string { return sectionHead.FindStringSubmatch(section)[1] }

var pictureLine = regexp.MustCompile(`^!\[(.*)\]\(.*/(.*)\.svg\) (.*?)(, log)?; (.*?)(, log)?$`)

// Read returns the table that a section describes: its title, its setting, heads and
// notes in the form of RESULTS.md, and the printed numbers. A cell is empty where nothing
// is printed. Lines behind a "=" are claims, which are for tests. A chart is its title,
// its file, and the titles of its axes: "![Misses](charts/p0-figure1.svg) K; rate, log".
func Read(section string) Table {
	head := sectionHead.FindStringSubmatch(section)
	t := Table{Name: head[1], Title: head[2]}
	for line := range strings.Lines(section[len(head[0]):]) {
		line = strings.TrimSpace(line)
		picture := pictureLine.FindStringSubmatch(line)
		switch {
		case line == "" || strings.HasPrefix(line, "|---") || strings.HasPrefix(line, "="):
		case picture != nil:
			c := chart.Chart{Title: picture[1], X: picture[3], LogX: picture[4] != "", Y: picture[5], LogY: picture[6] != ""}
			t.Charts = append(t.Charts, Picture{picture[2], c})
		case strings.HasPrefix(line, "- "):
			t.Notes = append(t.Notes, line[2:])
		case !strings.HasPrefix(line, "|"):
			t.Setting = line
		case t.Corner == "":
			t.Corner, t.Columns = readRow(line)
		default:
			name, printed := readRow(line)
			t.Rows = append(t.Rows, Row{Name: name, Cells: readCells(printed)})
		}
	}
	return t
}

func readRow(line string) (first string, others []string) {
	fields := strings.Split(strings.Trim(line, "|"), "|")
	for i := range fields {
		fields[i] = strings.TrimSpace(fields[i])
	}
	return fields[0], fields[1:]
}

// readCells returns cells that have a printed number each, or none.
func readCells(printed []string) []Cell {
	var cells []Cell
	for _, text := range printed {
		c := Cell{Ours: math.NaN(), Printed: math.NaN()}
		if text != "" {
			c.Printed = Must(strconv.ParseFloat(text, 64))
		}
		cells = append(cells, c)
	}
	return cells
}

var placeholder = regexp.MustCompile(`\{(%[^}]*)?\}`)

// Say puts values into the table's text, in its order, one for each {} or, with a form of
// its own, {%.2f}.
func (t *Table) Say(values ...any) {
	put := func(text *string) {
		*text = placeholder.ReplaceAllStringFunc(*text, func(at string) string {
			value := values[0]
			values = values[1:]
			if form := at[1 : len(at)-1]; form != "" {
				return fmt.Sprintf(form, value)
			}
			return fmt.Sprint(value)
		})
	}
	put(&t.Title)
	put(&t.Setting)
	for i := range t.Notes {
		put(&t.Notes[i])
	}
	if len(values) > 0 {
		panic(fmt.Sprintf("%s: %d values too many", t.Name, len(values)))
	}
}

// Note adds a note.
func (t *Table) Note(format string, values ...any) {
	t.Notes = append(t.Notes, fmt.Sprintf(format, values...))
}

// Markdown returns the table as a section. Charts are linked by their file names
// below folder; with an empty one they are left out.
func (t Table) Markdown(folder string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s: %s\n\n%s\n\n", t.Name, t.Title, t.Setting)
	if len(t.Rows) > 0 {
		b.WriteString(t.grid())
	}
	for _, note := range t.Notes {
		fmt.Fprintf(&b, "- %s\n", note)
	}
	if len(t.Notes) > 0 {
		b.WriteString("\n")
	}
	if folder != "" {
		for _, p := range t.Charts {
			fmt.Fprintf(&b, "![%s](%s/%s.svg)\n\n", p.Chart.Title, folder, p.File)
		}
	}
	return b.String()
}

func (t Table) grid() string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s | %s |\n", t.Corner, strings.Join(t.Columns, " | "))
	b.WriteString("|---|" + strings.Repeat("---|", len(t.Columns)) + "\n")
	for _, row := range t.Rows {
		fmt.Fprintf(&b, "| %s |", row.Name)
		for _, cell := range row.Cells {
			fmt.Fprintf(&b, " %s |", cell)
		}
		b.WriteString("\n")
	}
	b.WriteString("\n")
	if summary := t.Summary(); summary != "" {
		b.WriteString(summary + "\n\n")
	}
	return b.String()
}

// String returns "printed → ours (difference)", or only ours.
func (c Cell) String() string {
	switch {
	case c.Blank:
		return ""
	case !c.HasPrinted():
		return c.ours()
	}
	text := number(c.Printed) + " → " + c.ours()
	if d := c.Difference(); !math.IsNaN(d) {
		text += fmt.Sprintf(" (%+.1f %%)", 100*d)
	}
	return text
}

// ours returns our number, with its spread in the units of its last digit.
func (c Cell) ours() string {
	text := number(c.Ours)
	if c.Spread > 0 {
		decimals := 0
		if _, after, found := strings.Cut(text, "."); found {
			decimals = len(after)
		}
		text += " ± " + strconv.FormatFloat(c.Spread, 'f', decimals, 64)
	}
	return strings.TrimRight(text+" "+c.Unit, " ")
}

// number prints four significant digits, and whole numbers up to a million in
// full.
func number(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e6 {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	if a := math.Abs(v); a >= 1e-4 && a < 1e6 {
		decimals := max(0, 3-int(math.Floor(math.Log10(a))))
		return strconv.FormatFloat(v, 'f', decimals, 64)
	}
	return strconv.FormatFloat(v, 'e', 3, 64)
}
