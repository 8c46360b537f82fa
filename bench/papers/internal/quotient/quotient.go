// SPDX-License-Identifier: Apache-2.0

// Package quotient reproduces the tables of "Quotient Hash Tables - Efficiently Detecting
// Duplicates in Streaming Data" (Géraud, Lombard-Platet, Naccache, SAC 2019) on its
// artificial streams.
//
// The paper says little about the filters that it compares its own with, and three
// columns (stable Bloom filter, A2, b_DBF) are far from the rates of these filters. The
// cause is in the program of a later paper by two of the authors
// (github.com/mariuslp/duplicate_sliding_benchmark). Its README says that many parts come
// from this paper's own program. The columns are made here as that program does it,
// faults included, and also without the faults.
package quotient

import (
	_ "embed"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"github.com/flowdedup/flowdedup/bench/papers/internal/forms"
	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
	"github.com/flowdedup/flowdedup/engine/paper"
)

//go:embed text.md
var text string

// Experiment returns the tables of the paper.
func Experiment() result.Experiment {
	known := map[bool]grid{} // by whether it is of full size: Tables 2 and 4 show the same runs
	measured := func(o result.Options) grid {
		if known[o.Full] == nil {
			known[o.Full] = measureGrid(o)
		}
		return known[o.Full]
	}
	return result.New("p3", text, map[string]result.Maker{
		"table1": table1, "table3": table3, "table5": table5,
		"table2": func(o result.Options, t *result.Table) { measured(o).table2(o, t) },
		"table4": func(o result.Options, t *result.Table) { measured(o).table4(o, t) },
		"empty":  emptyCells, "semisort": semiSort, "memory": memoryRatio, "perfect": perfect,
		"saturation": saturation, "misses": misses, "forgetting": forgetting, "attack": attack,
	})
}

// rates holds a false positive and a false negative rate in percent.
type rates struct{ fpr, fnr float64 }

func percent(s stream.Score) rates { return rates{100 * s.FPR(), 100 * s.FNR()} }

func (r rates) sum() float64 { return r.fpr + r.fnr }

// formOf returns the rates of a closed form over a stream.
func formOf(q forms.Quotient, variant forms.QuotientVariant, s forms.UniformStream) rates {
	fpr, fnr := q.StreamRates(variant, s)
	return rates{100 * fpr, 100 * fnr}
}

// uniform is an artificial stream of the paper: independent draws, all elements of
// the alphabet being equally likely. Each seed has elements of its own.
func uniform(alphabet int, seed, draws uint64) stream.Source {
	random := rand.New(rand.NewPCG(seed, draws))
	return stream.Elements(func() uint64 { return random.Uint64N(uint64(alphabet)) }).Source(alphabet, seed)
}

// The streams and filters of Tables 1 and 5 are small: they are always of the printed
// size, with more runs than the paper's ten.
const (
	smallElements = 100_000
	smallAlphabet = 1 << 20
	smallMemory   = 65_536
	smallRuns     = 20
)

// shape is a quotient hash table of Tables 1 and 5: cells of a row and bits of a cell.
type shape struct{ cells, bits int }

// shapes are the shapes of Table 1; Table 5 has all except the first.
var shapes = []shape{{1, 2}, {2, 3}, {4, 4}, {8, 5}, {16, 6}}

// config is the configuration of a table of the shape.
func (s shape) config(seed uint64) paper.QHTConfig {
	return paper.QHTConfig{Bits: smallMemory, CellBits: s.bits, Cells: s.cells, Seed: seed}
}

// theory is the closed form of a table of the shape.
func (s shape) theory() forms.Quotient {
	return forms.Quotient{Rows: smallMemory / (s.cells * s.bits), K: s.cells, S: 1<<s.bits - 1}
}

// small returns the rates of each shape's filters over all runs.
func small(o result.Options, variants func(c paper.QHTConfig) []paper.Filter) [][]rates {
	return result.Map(o, shapes, func(s shape) (all []rates) {
		var total []stream.Score
		for seed := uint64(1); seed <= smallRuns; seed++ {
			filters := variants(s.config(seed))
			total = append(total, make([]stream.Score, len(filters)-len(total))...)
			for i, score := range uniform(smallAlphabet, seed, 3).Scores(smallElements, filters...) {
				total[i].Sum(score)
			}
		}
		for _, score := range total {
			all = append(all, percent(score))
		}
		return all
	})
}

// smallForm returns the rates of a variant's closed form.
func smallForm(variant forms.QuotientVariant, s shape) rates {
	return formOf(s.theory(), variant, forms.UniformStream{Elements: smallElements, Universe: smallAlphabet})
}

func table1(o result.Options, t *result.Table) {
	measured := small(o, func(c paper.QHTConfig) []paper.Filter { return []paper.Filter{result.Must(paper.NewQHT(c))} })
	t.Fill("%", func(row, i int) float64 {
		ours, form := measured[i][0], smallForm(forms.QHT, shapes[i])
		return []float64{ours.fpr, ours.fnr, ours.sum(), form.fpr, form.fnr}[row]
	})
}

func table5(o result.Options, t *result.Table) {
	measured := small(o, func(c paper.QHTConfig) []paper.Filter {
		return []paper.Filter{
			result.Must(paper.NewQHT(c)), result.Must(paper.NewQHTD(c)), result.Must(paper.NewQQHTD(c)), result.Must(paper.NewQQHT(c)),
		}
	})
	// Rows are the filters in this order, with a closed form behind each but the last.
	variants := []forms.QuotientVariant{forms.QHT, forms.QHTD, forms.QQHTD}
	t.Fill("%", func(row, column int) float64 {
		if row%2 == 1 {
			return smallForm(variants[row/2], shapes[column+1]).sum()
		}
		return measured[column+1][row/2].sum()
	})
}

// semiSort compares rows with and without semi-sorting, section 3.3 of the paper.
func semiSort(o result.Options, t *result.Table) {
	measured := small(o, func(c paper.QHTConfig) []paper.Filter {
		return []paper.Filter{result.Must(paper.NewQHT(c)), result.Must(paper.NewSemiSortedQHT(c))}
	})
	for i, s := range shapes {
		encoding, plain, sorted := result.Must(paper.NewSemiSort(s.cells, s.bits)), measured[i][0], measured[i][1]
		row := result.MeasuredRow(fmt.Sprintf("k=%d, s=%d", s.cells, s.bits), "", float64(encoding.Codes()), float64(encoding.Bits()), float64(s.cells*s.bits))
		if s == (shape{4, 4}) {
			row.Cells[0].Printed, row.Cells[1].Printed = 3876, 12
		}
		t.Rows = append(t.Rows, row.And("%", plain.fpr, plain.fnr, sorted.fpr, sorted.fnr))
	}
}

// emptyCells compares the three ways of section 3.2 to mark empty cells.
func emptyCells(o result.Options, t *result.Table) {
	measured := small(o, func(c paper.QHTConfig) (filters []paper.Filter) {
		for _, c.Empty = range []paper.EmptyCells{paper.EmptyShared, paper.EmptyReassigned, paper.EmptyRehashed} {
			filters = append(filters, result.Must(paper.NewQHT(c)))
		}
		return filters
	})
	t.Fill("%", func(row, column int) float64 {
		r := measured[column][row/2]
		return []float64{r.fpr, r.fnr}[row%2]
	})
}

// memoryRatio tabulates section 4.4: the memory of a QHT at the rates of an SQF.
func memoryRatio(_ result.Options, t *result.Table) {
	for _, c := range [][2]int{{2, 1}, {3, 1}, {3, 2}, {4, 2}, {6, 3}, {8, 4}} {
		r, kept := c[0], c[1]
		row := result.MeasuredRow(fmt.Sprintf("r=%d, r'=%d", r, kept), "", float64(forms.SQFFingerprints(r, kept)),
			forms.QHTMemoryRatio(r, kept, false), forms.QHTMemoryRatio(r, kept, true))
		if r == 2 {
			row.Cells[1].Printed = 2. / 3
		}
		t.Rows = append(t.Rows, row.And("%", 100*forms.SQFMatch(r, kept), 100*forms.SQFSaturatedFPR(1, r, kept)))
	}
}

const (
	speedMemory   = 1_000_000
	speedElements = 1 << 18 // of a round
	speedRounds   = 6
	speedKicks    = 50 // as the authors' program
)

// table3 measures one filter at a time, since two would slow each other down.
func table3(_ result.Options, t *result.Table) {
	t.Timed = true
	t.Say(runtime.GOOS + "/" + runtime.GOARCH)
	times := speeds(slices.Insert(slices.Clone(printedColumns), 2, column{name: "QQHTD", make: func(g given) paper.Filter {
		return result.Must(paper.NewQQHTD(paper.QHTConfig{Bits: g.memory, CellBits: 3, Cells: 1}))
	}}))
	const qht = 1
	printed := t.Rows[0].Cells
	for i := range times {
		t.Rows[1].Cells[i].Printed = printed[i].Printed / printed[qht].Printed
	}
	t.Fill("", func(row, column int) float64 { return []float64{times[column], times[column] / times[qht]}[row] })
	for i := range printed {
		printed[i].Unit = "µs"
	}
}

// speeds returns the time of an element in microseconds for each column. Rounds of the
// filters alternate, so that other load on the machine affects all of them.
func speeds(columns []column) []float64 {
	filters, times := make([]paper.Filter, len(columns)), make([]float64, len(columns))
	for i, c := range columns {
		filters[i] = c.make(given{memory: speedMemory, window: gridWindow, kicks: speedKicks, seed: 1})
	}
	random := rand.New(rand.NewPCG(1, 3))
	elements := make([]uint64, speedElements)
	for round := range speedRounds {
		for i := range elements {
			elements[i] = random.Uint64N(1 << 24)
		}
		for i, f := range filters {
			begin := time.Now()
			for _, element := range elements {
				f.TestAndSet(stream.Digest(element))
			}
			elapsed := float64(time.Since(begin).Nanoseconds()) / 1e3 / speedElements
			if round == 0 || elapsed < times[i] {
				times[i] = elapsed
			}
		}
	}
	return times
}

// stretches are parts of streams that end at 2^first to 2^last elements, and begin at half
// of it.
type stretches struct{ first, last, runs int }

// measure returns the scores of each stretch over all runs.
func (s stretches) measure(sh shape, source func(seed uint64) stream.Source) []stream.Score {
	scores := make([]stream.Score, s.last-s.first+1)
	for seed := uint64(1); seed <= uint64(s.runs); seed++ {
		f, elements := result.Must(paper.NewQHT(sh.config(seed))), source(seed)
		elements.Scores(1<<(s.first-1), f)
		for i := range scores {
			scores[i].Sum(elements.Scores(1<<(s.first+i-1), f)[0])
		}
	}
	return scores
}

// fill adds rows for the stretches above the limit, and three columns for the first,
// third and last shape of Table 1: measured, and two closed forms. One of the three,
// limited, has a limit. On the chart a stretch is in its geometric middle.
func (s stretches) fill(o result.Options, t *result.Table, source func(seed uint64) stream.Source, limited int,
	of func(sh shape, score stream.Score, begin, end int) (three [3]float64), limit func(sh shape) float64) {
	var names []string
	var x []float64
	for i := s.first; i <= s.last; i++ {
		names, x = append(names, fmt.Sprintf("2^%d", i)), append(x, math.Exp2(float64(i))/math.Sqrt2)
	}
	result.AddRows(t, names...)
	all := []shape{shapes[0], shapes[2], shapes[4]}
	for i, scores := range result.Map(o, all, func(sh shape) []stream.Score { return s.measure(sh, source) }) {
		var columns [3][]float64
		for j, score := range scores {
			end := 1 << (s.first + j)
			for c, rate := range of(all[i], score, end/2, end) {
				columns[c] = append(columns[c], 100*rate)
			}
		}
		columns[limited] = append(columns[limited], 100*limit(all[i]))
		for _, values := range columns {
			t.Add("", "%", values...)
		}
	}
	t.Draw(0, t.Lines(x, func(column int) bool { return column%3 != 0 })...)
}

// meanOver returns the mean of a rate over element numbers from first to end-1.
func meanOver(first, end int, rate func(m int) float64) float64 {
	return result.MeanOver(first, end, 64, rate)
}

// saturation shows how the false positive rate approaches k/S, with Theorem 4.1 and the
// formula in which empty cells fill first.
func saturation(o result.Options, t *result.Table) {
	s := stretches{10, 20, 8}
	t.Say(s.runs)
	s.fill(o, t, func(seed uint64) stream.Source { return stream.Distinct(seed << 40) }, 0, func(sh shape, score stream.Score, begin, end int) [3]float64 {
		form := sh.theory()
		filling := meanOver(begin, end, func(m int) float64 { return form.NewElementFP(float64(m)) })
		return [3]float64{score.FPR(), filling, meanOver(begin, end, func(m int) float64 { return forms.PrintedFP(form, m) })}
	}, func(sh shape) float64 { return float64(sh.cells) / float64(sh.theory().S) })
}

// misses shows how the false negative rate approaches its limit, with FN_m of Theorem
// 4.2's proof and the closed form that lets rows fill first.
func misses(o result.Options, t *result.Table) {
	const universe = 1 << 18
	s := stretches{13, 21, 4}
	t.Say(universe, s.runs)
	// The expected number of missed duplicates in n draws.
	missedOf := func(sh shape, n int) (missed, duplicates float64) {
		draws := forms.UniformStream{Elements: n, Universe: universe}
		duplicates = draws.Duplicates()
		return formOf(sh.theory(), forms.QHT, draws).fnr / 100 * duplicates, duplicates
	}
	s.fill(o, t, func(seed uint64) stream.Source { return uniform(universe, seed, 4) }, 2, func(sh shape, score stream.Score, begin, end int) [3]float64 {
		before, beforeOf := missedOf(sh, begin)
		after, of := missedOf(sh, end)
		again := meanOver(begin, end, func(m int) float64 { return forms.PrintedFN(sh.theory(), universe, m) })
		return [3]float64{score.FNR(), (after - before) / (of - beforeOf), again * float64(end-begin) / (of - beforeOf)}
	}, func(sh shape) float64 { return sh.theory().FNR(universe) })
}
