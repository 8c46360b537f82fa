// SPDX-License-Identifier: Apache-2.0

// Package biased reproduces the tables and figures of "Advanced Bloom Filter Based
// Algorithms for Efficient Approximate Data De-Duplication in Streams" (Bera, Dutta,
// Narang, Bhattacherjee, 2012), section by section.
//
// By default N and memory are printed ones divided. This keeps every rate but raises its
// sampling error.
package biased

import (
	_ "embed"
	"fmt"
	"math"

	"github.com/flowdedup/flowdedup/bench/papers/chart"
	"github.com/flowdedup/flowdedup/bench/papers/internal/forms"
	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
	"github.com/flowdedup/flowdedup/engine/paper"
)

//go:embed text.md
var text string

// Experiment returns Tables 1 to 9, Figures 2 to 11, the recurrences of sections 3 to 5
// and the choice of k.
func Experiment() result.Experiment {
	makers := map[string]result.Maker{"recurrence": recurrence, "parameters": parameters, "algorithm1": algorithm1, "phases": phases}
	for _, t := range tables {
		makers[t.name] = func(o result.Options, out *result.Table) { t.make(o, out, o.Size(scaledBy, 1), o.Size(scaledSeeds, 1)) }
	}
	for _, f := range figures {
		makers[f.name] = f.make
	}
	return result.New("p1", text, makers)
}

const megabyte = 8 << 20 // in bits

// size is the size of a run: everything printed, divided by scale.
type size struct{ elements, distinct, scale int }

func newSize(millions, percent, scale int) size {
	n := millions * 1_000_000 / scale
	return size{elements: n, distinct: int(int64(n) * int64(percent) / 100), scale: scale}
}

// source returns the stream of a seed.
func (s size) source(seed int) stream.Source {
	return stream.Shuffled(s.elements, s.distinct, uint64(seed)+1).Source(s.distinct, 0)
}

// method is a column of a table: a filter to build.
type method struct {
	name  string
	k     int
	model forms.BiasedMethod
	new   func(c paper.BiasedConfig) paper.Filter
	reach int // of decrements and resets; 0 is everything
}

// build returns a filter for each method.
func build(methods []method, megabytes int, s size, seed int) (filters []paper.Filter) {
	for i, m := range methods {
		bits := int(int64(megabytes) * megabyte / int64(s.scale))
		filters = append(filters, m.new(paper.BiasedConfig{Bits: bits, K: m.k, Seed: uint64(seed<<8 | i), Reach: m.reach}))
	}
	return filters
}

// loaded is one of the paper's filters that reports its load, which the paper compares.
type loaded interface{ Load() float64 }

// biased makes a method's filters by a constructor.
func biased(create func(c paper.BiasedConfig) (*paper.Biased, error)) func(c paper.BiasedConfig) paper.Filter {
	return func(c paper.BiasedConfig) paper.Filter { return result.Must(create(c)) }
}

// rivals are the columns of Tables 4 to 9. The paper names neither the parameters of its
// SBF nor K of RSBF; these give its numbers.
var rivals = []method{
	{name: "SBF", k: 2, new: func(c paper.BiasedConfig) paper.Filter {
		return result.Must(paper.NewStable(paper.StableConfig{Cells: c.Bits, CellBits: 1, K: c.K, P: 4, Seed: c.Seed, Reach: c.Reach}))
	}},
	{name: "RSBF", k: 2, model: forms.RSBF, new: biased(func(c paper.BiasedConfig) (*paper.Biased, error) {
		const threshold = 0.03 // p*, section 6
		return paper.NewRSBF(c, threshold)
	})},
	{name: "BSBF", k: 2, model: forms.BSBF, new: biased(paper.NewBSBF)},
	{name: "BSBFSD", k: 2, model: forms.BSBFSD, new: biased(paper.NewBSBFSD)},
	{name: "RLBSBF", k: 2, model: forms.RLBSBF, new: biased(paper.NewRLBSBF)},
}

// sweep returns the columns of Tables 1 to 3: one method with k from 1 to 5.
func sweep(m method) (all []method) {
	for m.k = 1; m.k <= 5; m.k++ {
		m.name = fmt.Sprintf("k=%d", m.k)
		all = append(all, m)
	}
	return all
}

// printedX is X_m by the recurrences as they are printed: the probability that a new
// element finds all its bits set. Each adds its result to u = X^(1/k).
var printedX = map[forms.BiasedMethod]func(u, x, s, k float64, m int) float64{
	forms.RSBF: func(u, x, s, _ float64, m int) float64 { // Eq. 3.27
		return (1 - x) / max(s, float64(m)) * (1 - u)
	},
	forms.BSBF:   func(u, x, s, _ float64, _ int) float64 { return (1 - x) / s * (1 - u) },   // Eq. 4.3
	forms.BSBFSD: func(u, x, s, k float64, _ int) float64 { return (1 - x) / s * (1 - u/k) }, // before Eq. 4.5
	forms.RLBSBF: func(u, x, s, _ float64, _ int) float64 { return (1 - x) / s * (1 - u*u) }, // Eq. 5.2, with the load u
}

// recurrence shows X along a stream of different elements: by the printed recurrences,
// measured, and by this project's closed form.
func recurrence(o result.Options, t *result.Table) {
	const k = 2
	size := o.Size(20_000, 1_000_000)
	t.Say(k, size)
	times := []float64{0.5, 1, 2, 4, 8, 16, 32}
	for _, at := range times {
		t.Columns = append(t.Columns, fmt.Sprint(at))
	}
	for _, lines := range result.Map(o, rivals[1:], func(m method) [3]chart.Line { return alongX(m, k, size, times) }) {
		for _, l := range lines {
			t.AddRow(l.Name, "", l.Y...)
		}
		t.Draw(0, lines[:2]...)
	}
	var printed []float64
	for _, at := range times {
		printed = append(printed, 1-k/at+math.Pow((1-1/math.E)/at, k))
	}
	t.AddRow("RSBF, Eq. 3.8", "", printed...)
}

// alongX returns X at some times, given in elements for each bit of an array: printed,
// measured, and by the closed form.
func alongX(m method, k, size int, times []float64) (lines [3]chart.Line) {
	for i, name := range []string{"printed", "measured", "closed form"} {
		lines[i] = chart.Line{Name: m.name + ", " + name, X: times, Dashed: i == 0}
	}
	f, source := m.new(paper.BiasedConfig{Bits: k * size, K: k, Seed: 1}), stream.Distinct(0)
	u, done := 0.0, 0
	for _, at := range times {
		end := int(at * float64(size))
		source.Scores(end-done, f)
		for ; done < end; done++ {
			u += printedX[m.model](u, math.Pow(u, float64(k)), float64(size), float64(k), done)
		}
		// One duplicate, since the closed form is for streams that have some.
		rates := forms.Biased(m.model, k, size, forms.BiasedStream{Elements: done + 1, Distinct: done})
		for i, x := range []float64{math.Pow(min(u, 1), float64(k)), math.Pow(f.(loaded).Load(), float64(k)), rates.X} {
			lines[i].Y = append(lines[i].Y, x)
		}
	}
	return lines
}
