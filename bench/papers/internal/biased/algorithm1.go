// SPDX-License-Identifier: Apache-2.0

package biased

import (
	"fmt"
	"math/rand/v2"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
	"github.com/flowdedup/flowdedup/engine/paper"
	"github.com/flowdedup/flowdedup/layout"
)

// printedRSBF is Algorithm 1, line by line.
type printedRSBF struct {
	arrays    [][]bool
	threshold float64 // p*
	seen      int     // elements
	random    *rand.Rand
	pos       []uint64
}

func newPrintedRSBF(c paper.BiasedConfig, threshold float64) *printedRSBF {
	f := &printedRSBF{threshold: threshold, random: rand.New(rand.NewPCG(c.Seed, 1)), pos: make([]uint64, c.K)}
	for range c.K {
		f.arrays = append(f.arrays, make([]bool, c.Bits/c.K))
	}
	return f
}

// Bits returns the memory in bits.
func (f *printedRSBF) Bits() int { return len(f.arrays) * len(f.arrays[0]) }

// TestAndSet takes an element.
func (f *printedRSBF) TestAndSet(d digest.Digest) (seen bool) {
	s := len(f.arrays[0])
	layout.Positions(f.pos, d, uint64(s))
	seen = true
	for i, a := range f.arrays {
		seen = seen && a[f.pos[i]]
	}
	f.seen++
	chance := float64(s) / float64(f.seen)
	switch {
	case f.seen <= s:
		f.set()
	case chance <= f.threshold:
		f.exchange()
	case f.random.Float64() < chance:
		f.set()
		for _, a := range f.arrays {
			a[f.random.IntN(s)] = false
		}
	}
	return seen
}

// set sets the bits of the element.
func (f *printedRSBF) set() {
	for i, a := range f.arrays {
		a[f.pos[i]] = true
	}
}

// exchange sets the bits of the element that are clear, and clears a set one for each.
func (f *printedRSBF) exchange() {
	for i, a := range f.arrays {
		if a[f.pos[i]] {
			continue
		}
		at := f.random.IntN(len(a))
		for !a[at] {
			at = f.random.IntN(len(a))
		}
		a[at], a[f.pos[i]] = false, true
	}
}

// algorithm1 compares the printed algorithm with the reading that has the rates of Table 4.
func algorithm1(o result.Options, t *result.Table) {
	const threshold = 0.03
	s := newSize(695, 15, o.Size(scaledBy, 1))
	t.Say(s.elements, s.scale)
	printed := map[int][2]float64{64: {2.628, 35.90}, 512: {0.0719, 7.367}} // Table 4
	for _, megabytes := range []int{512, 64, 1} {
		c := paper.BiasedConfig{Bits: int(int64(megabytes) * megabyte / int64(s.scale)), K: 2, Seed: 1}
		scores := s.source(1).Scores(s.elements, newPrintedRSBF(c, threshold), result.Must(paper.NewRSBF(c, threshold)))
		row := result.Row{Name: fmt.Sprintf("%d MB", megabytes)}
		for i, rate := range []func(stream.Score) float64{stream.Score.FPR, stream.Score.FNR} {
			cell := result.Cell{Blank: true}
			if p, ok := printed[megabytes]; ok {
				cell = result.Measured(p[i], "%")
			}
			row.Cells = append(row.Cells, cell, result.Measured(100*rate(scores[0]), "%"), result.Measured(100*rate(scores[1]), "%"))
		}
		t.Rows = append(t.Rows, row)
	}
}

// phases has the rates of each phase of RSBF, by both readings.
func phases(o result.Options, t *result.Table) {
	const threshold = 0.03
	s := newSize(695, 15, o.Size(scaledBy, 1))
	t.Say(s.elements, s.scale, 100*threshold)
	t.Rows = nil
	for _, megabytes := range []int{4, 1} {
		c := paper.BiasedConfig{Bits: int(int64(megabytes) * megabyte / int64(s.scale)), K: 2, Seed: 1}
		first := c.Bits / c.K // elements of phase 1: the bits of an array
		third := int(float64(first) / threshold)
		printed, reading, source := newPrintedRSBF(c, threshold), result.Must(paper.NewRSBF(c, threshold)), s.source(1)
		for i, elements := range []int{first, third - first, s.elements - third} {
			scores := source.Scores(elements, printed, reading)
			t.Rows = append(t.Rows, result.MeasuredRow(fmt.Sprintf("%d MB, phase %d", megabytes, i+1), "%", 100*float64(elements)/float64(s.elements),
				100*scores[0].FPR(), 100*scores[1].FPR(), 100*scores[0].FNR(), 100*scores[1].FNR(), 100*printed.load(), 100*reading.Load()))
		}
	}
}

// load returns the share of set bits.
func (f *printedRSBF) load() float64 {
	set := 0
	for _, a := range f.arrays {
		for _, bit := range a {
			if bit {
				set++
			}
		}
	}
	return float64(set) / float64(f.Bits())
}
