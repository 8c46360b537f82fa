// SPDX-License-Identifier: Apache-2.0

package stable

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/flowdedup/flowdedup/bench/papers/internal/forms"
	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
	"github.com/flowdedup/flowdedup/engine/paper"
	"github.com/flowdedup/flowdedup/engine/theory"
)

// elementBits is the memory of a buffered element as accounted for in Table 2.
const elementBits = 64

// dataset is a part of Table 2.
type dataset struct {
	name     string
	elements int
	distinct float64   // share
	bits     []float64 // of the rows
	// rows hold the printed rates: FNR and FPR of the SBF, FPR of the Bloom filter, FNR
	// of buffering and of FPbuffering.
	rows [][]result.Cell
}

// datasets returns the parts of Table 2, with their rows from the text. Memories that are
// printed as 6.71e+7, 1.07e+9 and 4.29e+9 bits are powers of two.
func datasets() []dataset {
	all := []dataset{
		{name: "100K, 76 %", elements: 100_000, distinct: 0.7566},
		{name: "10M, 49 %", elements: 10_000_000, distinct: 0.4851},
		{name: "695M, 15 %", elements: 694_984_445, distinct: 0.1475},
	}
	for _, row := range result.Read(result.Section(text, "p0.table2")).Rows {
		for i := range all {
			if bits, found := strings.CutPrefix(row.Name, all[i].name+", "); found {
				all[i].bits = append(all[i].bits, result.Must(strconv.ParseFloat(bits, 64)))
				all[i].rows = append(all[i].rows, row.Cells)
			}
		}
	}
	return all
}

// seeds returns the number of streams that are drawn of a data set: the largest has
// enough elements in one.
func (d dataset) seeds() int {
	if d.elements > 100_000_000 {
		return 1
	}
	return 3
}

// draw returns a stream, with elements and distances divided by scale: the stack
// distances come from the buffering column, and none is above the number of distinct
// elements.
func (d dataset) draw(scale int, seed uint64) trace {
	c := stream.Crawl{Elements: d.elements, Distinct: d.distinct}
	longest := math.Log2(float64(d.elements) * d.distinct)
	for i, row := range d.rows {
		if exponent := math.Log2(d.bits[i] / elementBits); exponent < longest {
			c.Distances = append(c.Distances, stream.Distance{Exponent: exponent, Share: 1 - row[3].Printed/100})
		}
	}
	c.Distances = append(c.Distances, stream.Distance{Exponent: longest, Share: 1})
	return c.Draw(scale, seed)
}

func table2(o result.Options, t *result.Table) {
	scales := []int{1, 4, 64}
	if o.Full {
		scales = []int{1, 1, 8}
	}
	measureTable2(o, t, datasets(), scales)
}

// measureTable2 measures all memories of the data sets.
func measureTable2(o result.Options, t *result.Table, sets []dataset, scales []int) {
	t.Rows = nil
	var stable, bloom []result.Cell
	agree := 0
	for i, set := range sets {
		if scales[i] > 1 {
			t.Note("%s: elements, stack distances and memory divided by %d, which keeps the rates.", set.name, scales[i])
		}
		traces := result.Map(o, []uint64{0, 1, 2}[:set.seeds()], func(seed uint64) trace { return set.draw(scales[i], seed+streamSeed) })
		measured := result.Grid(o, len(set.rows), len(traces), func(row, seed int) []stream.Score {
			return measure(traces[seed], int(int64(set.bits[row])/int64(scales[i])), uint64(seed))
		})
		for j, printed := range set.rows {
			cells := compare(measured[j], printed)
			t.Rows = append(t.Rows, result.Row{Name: fmt.Sprintf("%s, %.0f", set.name, set.bits[j]), Cells: cells})
			stable, bloom = append(stable, cells[0], cells[1]), append(bloom, cells[2])
			if (cells[0].Ours < cells[4].Ours) == (printed[0].Printed < printed[4].Printed) {
				agree++
			}
		}
	}
	t.Say(100*result.DifferencesOf(stable).Median(), 100*result.DifferencesOf(bloom).Median(), agree, len(t.Rows))
}

// measure runs SBF, Bloom filter and buffering in equal memory.
func measure(t trace, bits int, seed uint64) []stream.Score {
	c := config(theory.Stable{Cells: bits, K: 2, P: 4, Max: 1})
	c.Seed += seed
	return t.source().Scores(len(t), result.Must(paper.NewStable(c)), result.Must(paper.NewBloom(bits, 2)), result.Must(paper.NewLRU(bits, elementBits)))
}

// compare returns the cells of a row. The misses of FPbuffering are the misses of
// buffering that are not reported by chance. Values drawn from print are not compared
// with it.
func compare(runs [][]stream.Score, printed []result.Cell) []result.Cell {
	var cells []result.Cell
	for i, rate := range []func(s []stream.Score) float64{
		func(s []stream.Score) float64 { return s[0].FNR() },
		func(s []stream.Score) float64 { return s[0].FPR() },
		func(s []stream.Score) float64 { return s[1].FPR() },
		func(s []stream.Score) float64 { return s[2].FNR() },
		func(s []stream.Score) float64 { return (1 - s[0].FPR()) * s[2].FNR() },
	} {
		cell := result.SpreadOf(runs, rate)
		if i < 3 {
			cell.Printed = printed[i].Printed
		}
		cells = append(cells, cell)
	}
	return cells
}

// figure4 is the miss rate of FPbuffering less the rate of the SBF, for four bounds on
// false positives.
func figure4(o result.Options, t *result.Table) {
	set, scale := datasets()[1], o.Size(4, 1)
	t.Say(scale)
	crawl := set.draw(scale, streamSeed)
	buffered := result.Map(o, set.bits, func(bits float64) float64 {
		return crawl.source().Scores(len(crawl), result.Must(paper.NewLRU(int(bits)/scale, elementBits)))[0].FNR()
	})
	var all []series
	for _, s := range []setting{{3, 2, 0.005}, {3, 2, 0.01}, {1, 1, 0.1}, {1, 1, 0.2}} {
		// The misses of FPbuffering are the misses of buffering that are not reported by
		// chance.
		all = append(all, series{s.String(), false, func(bits float64) float64 {
			score := crawl.rates(config(s.asPrinted(int(bits)/scale)), 0)
			return (1-score.FPR())*buffered[slices.Index(set.bits, bits)] - score.FNR()
		}})
	}
	figure(o, t, "%d", set.bits, all)
}

// asPrinted returns the filter as the paper has it for Figure 4.
func (s setting) asPrinted(bits int) theory.Stable {
	k := 2
	if s.top == 3 {
		k = 4
	}
	exact := forms.StablePExact(bits/s.d, k, s.top, s.fps)
	return theory.Stable{Cells: bits / s.d, K: k, P: max(1, int(exact)), Max: s.top}
}
