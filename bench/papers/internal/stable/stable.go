// SPDX-License-Identifier: Apache-2.0

// Package stable reproduces the tables and figures of "Approximately Detecting Duplicates
// for Streaming Data using Stable Bloom Filters" (Deng, Rafiei, SIGMOD 2006), section by
// section.
//
// The paper's web crawl is private. But its buffering column says how many other elements
// lie between repetitions, and the streams here are drawn from it; see [stream.Crawl].
// Everything else, such as the filters' rates, follows.
package stable

import (
	_ "embed"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/flowdedup/flowdedup/bench/papers/chart"
	"github.com/flowdedup/flowdedup/bench/papers/internal/forms"
	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
	"github.com/flowdedup/flowdedup/engine/paper"
	"github.com/flowdedup/flowdedup/engine/theory"
)

//go:embed text.md
var text string

// Experiment returns Table 2, Figures 1 to 4, the parameters that section 4.1 recommends,
// and the claims in the text of sections 3 and 4.
func Experiment() result.Experiment {
	return result.New("p0", text, map[string]result.Maker{
		"table2": table2, "figure1": figure1, "figure2": figure2, "figure3": figure3, "figure4": figure4,
		"parameters": parameters, "max": bestMax, "frequency": frequency, "cells": apart, "time": time, "bound": bound,
		"observation1": observation1, "buffers": buffers, "speed": speed,
	})
}

// streamSeed and filterSeed are the seeds of all streams and filters, unless a table has
// several.
const (
	streamSeed = 1
	filterSeed = 2
)

// setting is a largest cell value, of d bits, and a bound on false positives.
type setting struct {
	top, d int
	fps    float64
}

func (s setting) String() string { return fmt.Sprintf("Max %d, FPS %g %%", s.top, 100*s.fps) }

// model returns the filter of some bits with k hash functions that keeps the bound.
func (s setting) model(bits, k int) theory.Stable {
	return theory.Stable{Cells: bits / s.d, K: k, P: result.Must(forms.StableP(bits/s.d, k, s.top, s.fps)), Max: s.top}
}

// named names a filter without its memory.
func named(s theory.Stable) string { return fmt.Sprintf("Max %d, K %d, P %d", s.Max, s.K, s.P) }

// config returns the configuration of a model's filter, whose Max is 2^d - 1.
func config(s theory.Stable) paper.StableConfig {
	return paper.StableConfig{Cells: s.Cells, CellBits: bits.Len(uint(s.Max)), K: s.K, P: s.P, Seed: filterSeed}
}

// trace is a stream of elements, numbered 0, 1, ... by their first occurrence.
type trace []uint32

func (t trace) source() stream.Source { return stream.List(t).Source(len(t), 0) }

// rates builds a filter and counts its errors from element number from on.
func (t trace) rates(c paper.StableConfig, from int) stream.Score {
	f, source := result.Must(paper.NewStable(c)), t.source()
	source.Scores(from, f)
	return source.Scores(len(t)-from, f)[0]
}

// crawl returns n elements like the data set of 10 million.
func crawl(n int, seed uint64) trace { return stream.TenMillion(n).Draw(1, seed) }

// distinctTrace returns n different elements.
func distinctTrace(n int) trace {
	t := make(trace, n)
	for i := range t {
		t[i] = uint32(i)
	}
	return t
}

// zipfTrace returns n draws from universe elements by Zipf's law.
func zipfTrace(n, universe int, alpha float64, seed uint64) trace {
	return stream.Numbered(n, stream.Zipf(universe, alpha, seed))
}

// lagTrace returns n elements. Half of them, at random, repeat the one that came a lag
// before: shortest to longest elements, near ones as likely as far ones on a logarithmic
// scale. All others are new.
func lagTrace(n, shortest, longest int, seed uint64) trace {
	random := rand.New(rand.NewPCG(seed, 0))
	t, distinct := make(trace, n), uint32(0)
	for i := range t {
		lag := int(float64(shortest) * math.Pow(float64(longest)/float64(shortest), random.Float64()))
		if i >= lag && random.IntN(2) == 0 {
			t[i] = t[i-lag]
			continue
		}
		t[i] = distinct
		distinct++
	}
	return t
}

// missRate measures a filter's share of misses at one gap. It does not depend on whether
// the filter is stable yet: the element's cells start with Max.
func missRate(s theory.Stable, gap, n int) float64 {
	return lagTrace(n, gap+1, gap+1, streamSeed).rates(config(s), 0).FNR()
}

// series is a line of a figure: a rate for each x.
type series struct {
	name   string
	dashed bool // a closed form
	rate   func(x float64) float64
}

// figure measures each series at each x. It adds a row in percent of it, and a line of the
// chart.
func figure(o result.Options, t *result.Table, column string, xs []float64, all []series) {
	t.AddColumns(column, xs...)
	rates := result.Grid(o, len(all), len(xs), func(i, j int) float64 { return all[i].rate(xs[j]) })
	for i, s := range all {
		t.AddRow(s.name, "%", result.Percent(rates[i]...)...)
		t.Draw(0, chart.Line{Name: s.name, X: xs, Y: rates[i], Dashed: s.dashed})
	}
}

// figure3 is the share of zeros over time, for the paper's filter in several sizes and
// for two with larger cells. It has two streams: distinct elements, which have a closed
// form, and the crawl.
func figure3(o result.Options, t *result.Table) {
	models := []theory.Stable{
		{Cells: 1 << 14, K: 2, P: 4, Max: 1}, {Cells: 1 << 16, K: 2, P: 4, Max: 1}, {Cells: 1 << 18, K: 2, P: 4, Max: 1},
		{Cells: 1 << 16, K: 3, P: 10, Max: 1}, {Cells: 1 << 16, K: 4, P: 24, Max: 3},
	}
	times := []float64{1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000}
	if o.Full {
		times = append(times, 3_000_000, 10_000_000)
	}
	n := int(times[len(times)-1])
	t.Say(n)
	t.AddColumns("%d", times...)
	t.Columns = append(t.Columns, "stable point")
	traces := []trace{distinctTrace(n), crawl(n, streamSeed)}
	measured := result.Grid(o, len(models), len(traces), func(i, j int) []float64 { return zerosAt(models[i], traces[j], times) })
	for i, model := range models {
		var formula []float64
		for _, time := range times {
			formula = append(formula, result.Must(model.ZerosAfter(int(time))))
		}
		for j, zeros := range append([][]float64{formula}, measured[i]...) {
			name, stable := []string{"closed form", "distinct", "crawl"}[j], result.Cell{Blank: true}
			if j == 0 {
				stable = result.Measured(result.Must(model.Zeros()), "")
			}
			row := result.MeasuredRow(fmt.Sprintf("%s, %d cells: %s", named(model), model.Cells, name), "", zeros...)
			row.Cells = append(row.Cells, stable)
			t.Rows = append(t.Rows, row)
			if model.Max == 1 && model.K == 2 {
				t.Draw(0, chart.Line{Name: fmt.Sprintf("%d cells, %s", model.Cells, name), X: times, Y: zeros, Dashed: j == 0})
			}
		}
	}
}

// zerosAt returns the share of zeros after each number of elements.
func zerosAt(model theory.Stable, t trace, times []float64) (zeros []float64) {
	f, source, done := result.Must(paper.NewStable(config(model))), t.source(), 0
	for _, time := range times {
		source.Scores(int(time)-done, f)
		done, zeros = int(time), append(zeros, f.Zeros())
	}
	return zeros
}

// bound measures the distance of the bound on the false positive rate (Eq. 8) from the
// rates on three streams, in memory that is much too small for them.
func bound(o result.Options, t *result.Table) {
	n, universe := o.Size(1_000_000, 10_000_000), o.Size(1<<22, 1<<24)
	t.Say(n, universe)
	traces := []trace{distinctTrace(n), zipfTrace(n, universe, 1, streamSeed), crawl(n, streamSeed)}
	shapes := []theory.Stable{{K: 2, P: 4, Max: 1}, {K: 3, P: 10, Max: 1}, {K: 4, P: 24, Max: 3}}
	rates := result.Grid(o, len(shapes), len(traces), func(i, j int) float64 {
		// The second half, when the filter is stable.
		return traces[j].rates(config(small(shapes[i], traces[j])), n/2).FPR()
	})
	for i, shape := range shapes {
		shape.Cells = 1 << 30
		t.AddRow(named(shape), "%", result.Percent(append([]float64{result.Must(shape.FPS())}, rates[i]...)...)...)
	}
}

// small returns a filter of 10/16 bit for each distinct element.
func small(model theory.Stable, t trace) theory.Stable {
	model.Cells = int(slices.Max(t)+1) * 10 / 16 / bits.Len(uint(model.Max))
	return model
}

// apart compares P adjacent cells, which the paper's implementation decrements, with P
// different ones of Algorithm 1.
func apart(o result.Options, t *result.Table) {
	const seeds = 3
	n := o.Size(200_000, 4_000_000)
	t.Say(n, seeds)
	shapes := []theory.Stable{{K: 2, P: 4, Max: 1}, {K: 3, P: 10, Max: 1}, {K: 3, P: 13, Max: 3}, {K: 4, P: 26, Max: 3}}
	streams := []string{"all distinct", "gaps 1 to 30,000", "crawl, 10M"}
	// Each has a score for adjacent and one for independent cells.
	measured := result.Grid(o, len(shapes)*len(streams), seeds, func(at, seed int) (scores [2]stream.Score) {
		t := distinctTrace(n)
		switch at % len(streams) {
		case 1:
			t = lagTrace(n, 1, 30_000, uint64(seed))
		case 2:
			t = crawl(n, uint64(seed))
		}
		for i := range scores {
			c := config(shapes[at/len(streams)])
			c.Cells, c.Independent, c.Seed = 1<<15, i == 1, uint64(seed)
			scores[i] = t.rates(c, n/4)
		}
		return scores
	})
	for at, of := range measured {
		row := result.Row{Name: named(shapes[at/len(streams)]) + ", " + streams[at%len(streams)]}
		for _, rate := range []func(stream.Score) float64{stream.Score.FPR, stream.Score.FNR} {
			for i := range 2 {
				cell := result.SpreadOf(of, func(scores [2]stream.Score) float64 { return rate(scores[i]) })
				cell.Blank = len(row.Cells) > 1 && at%len(streams) == 0 // nothing to miss
				row.Cells = append(row.Cells, cell)
			}
		}
		t.Rows = append(t.Rows, row)
	}
}
