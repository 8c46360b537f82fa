// SPDX-License-Identifier: Apache-2.0

package models

import (
	"math"
	"math/bits"

	"github.com/flowdedup/flowdedup/bench/papers/internal/forms"
	"github.com/flowdedup/flowdedup/engine/theory"
)

const (
	mostQuotientBits  = 16 // of a cell, in engine/paper
	mostQuotientCells = 16
)

// shapes tries rows of 1, 2, 4, ... cells, each with the narrowest cells whose
// saturated FPR keeps the bound, or the widest ones if none does.
func shapes(r *Request, mostCells int, fpr func(cells, width int) float64, add func(cells, width int)) {
	rows := []int{r.Fixed.Cells}
	if r.Fixed.Cells == 0 {
		rows = rows[:0]
		for k := 1; k <= mostCells; k *= 2 {
			rows = append(rows, k)
		}
	}
	for _, k := range rows {
		width := r.Fixed.CellBits
		for w := 1; width == 0; w++ {
			if w == mostQuotientBits || k < 1<<w && fpr(k, w) <= r.FPR {
				width = w
			}
		}
		add(k, width)
	}
}

// fingerprintRows checks the shape of rows and returns how many fit.
func fingerprintRows(memory, cells, width int) (rows int, err error) {
	switch {
	case width > mostQuotientBits:
		return 0, impossible("cells of %d bits, must be from 1 to %d", width, mostQuotientBits)
	case cells > 1<<width-1:
		return 0, impossible("rows of %d different fingerprints need cells of at least %d bits, not %d; cells of %d bits allow rows of up to %d",
			cells, bits.Len(uint(cells)), width, width, 1<<width-1)
	case memory < cells*width:
		return 0, tooSmall(memory, cells*width, "a row of %d cells of %d bits", cells, width)
	}
	return memory / (cells * width), nil
}

// qht is the quotient hash table: elements reported distinct evict at random. In the
// model a cell is the presence of a fingerprint in its row, set by the elements that have
// it.
func qht(r *Request, memory int) (Design, error) {
	b := best{request: r}
	shapes(r, mostQuotientCells, quotientFPR, func(k, width int) {
		rows, err := fingerprintRows(memory, k, width)
		if err != nil {
			b.add(Design{}, err)
			return
		}
		b.add(randomRows(r, rows, k, float64(int(1)<<width-1), k*width), nil)
	})
	return b.result()
}

func quotientFPR(k, width int) float64 { return float64(k) / float64(int(1)<<width-1) }

// randomRows is a table with the given numbers of rows, of cells in a row (k) and of
// fingerprints. An element reported distinct evicts a random cell of its row.
func randomRows(r *Request, rows, k int, fingerprints float64, rowBits int) Design {
	return r.Finish(Design{
		Parameters: map[string]int{"rows": rows, "cells": k, "cell bits": rowBits / k},
		Bits:       rows * rowBits,
		FPR:        math.Min(1, float64(k)/fingerprints),
		Lines:      linesOfRow(rowBits),
	}, randomMisses(r.Load, float64(rows), k, fingerprints))
}

// linesOfRow is the expected number of cache lines that a row of the given number of bits
// touches. Rows are packed without gaps.
func linesOfRow(rowBits int) float64 {
	return 1 + float64(rowBits-1)/lineBits
}

// qhtd is the quotient hash table with duplicates: every element evicts a random cell.
// Its FPR is the rate of rows without copies, which is a bound.
func qhtd(r *Request, memory int) (Design, error) {
	return withDuplicates(r, memory, copiesMisses)
}

// qqhtd is the queued variant: a row holds its k latest elements.
func qqhtd(r *Request, memory int) (Design, error) {
	return withDuplicates(r, memory, latestMisses)
}

// latestMisses are those of queues of the k latest sightings.
func latestMisses(l *Load, rows, k int, fpr float64) Misses {
	m := make(Misses, len(l.Between))
	for i := range m {
		m[i] = l.clustersIn(rows, i).atLeast(k) * (1 - fpr)
	}
	return m
}

// clusters is the number of sightings of other elements in a row: there is a Poisson
// number of distinct elements, and each comes a geometric number of times.
type clusters struct {
	different float64 // mean number of different elements
	again     float64 // probability that one comes again after each time
}

// clustersIn returns those between two sightings of an element.
func (l *Load) clustersIn(rows int, i int) clusters {
	c := clusters{different: l.Different[i] / float64(rows)}
	if l.Between[i] > 0 {
		c.again = math.Max(0, 1-l.Different[i]/l.Between[i])
	}
	return c
}

// anyOf returns the probability of at least one success, if each sighting succeeds with
// the given chance.
func (c clusters) anyOf(chance float64) float64 {
	missed := (1 - c.again) * (1 - chance) / (1 - c.again*(1-chance)) // by one element
	return -math.Expm1(-c.different * (1 - missed))
}

// atLeast returns the probability of k sightings or more, by Panjer's recursion.
func (c clusters) atLeast(k int) float64 {
	if c.again == 0 {
		return theory.PoissonTail(k, c.different)
	}
	p := []float64{math.Exp(-c.different)}
	less := p[0]
	for n := 1; n < k; n++ {
		sum, times := 0.0, (1-c.again)*c.different
		for j := 1; j <= n; j++ {
			sum += float64(j) * times * p[n-j]
			times *= c.again
		}
		p = append(p, sum/float64(n))
		less += p[n]
	}
	return math.Max(0, 1-less)
}

// withDuplicates is a table that inserts every element. An element that has left its row of
// k cells is reported if another's equal fingerprint is there, by the rate of new elements.
func withDuplicates(r *Request, memory int, missed func(l *Load, rows, k int, fpr float64) Misses) (Design, error) {
	b := best{request: r}
	fpr := func(k, width int) float64 {
		rate, _ := forms.SaturatedWithDuplicates(k, max(2, 1<<width-1))
		return rate
	}
	shapes(r, mostQuotientCells, fpr, func(k, width int) {
		rows, err := fingerprintRows(memory, k, width)
		if err != nil {
			b.add(Design{}, err)
			return
		}
		rate := fpr(k, width)
		b.add(r.Finish(Design{
			Parameters: map[string]int{"rows": rows, "cells": k, "cell bits": width},
			Bits:       rows * k * width,
			FPR:        rate,
			Lines:      linesOfRow(k * width),
		}, missed(r.Load, rows, k, rate)), nil)
	})
	return b.result()
}

// cuckoo is the cuckoo filter that forgets the fingerprints that do not fit: each element
// has two rows, and each sighting stores a fingerprint.
func cuckoo(r *Request, memory int) (Design, error) {
	b := best{request: r}
	shapes(r, mostQuotientCells, cuckooFPR, func(k, width int) {
		if k == 1 && r.Fixed.Cells == 0 {
			return // with one cell in a row, the filter often forgets the fingerprint that just came
		}
		if r.Fixed.CellBits == 0 {
			width = max(width, bits.Len(uint(2*k)))
		}
		rows, err := fingerprintRows(memory, k, width)
		switch {
		case err != nil:
		case 2*k > 1<<width-1:
			err = impossible("two rows of %d different fingerprints need cells of at least %d bits, not %d", k, bits.Len(uint(2*k)), width)
		case rows < 2:
			err = tooSmall(memory, 2*k*width, "two rows of %d cells of %d bits", k, width)
		}
		if err != nil {
			b.add(Design{}, err)
			return
		}
		rows = 1 << (bits.Len(uint(rows)) - 1)
		b.add(cuckooRows(r, rows, k, width), nil)
	})
	return b.result()
}

func cuckooRows(r *Request, rows, k, width int) Design {
	fpr := cuckooFPR(k, width)
	return r.Finish(Design{
		Parameters: map[string]int{"rows": rows, "cells": k, "cell bits": width},
		Bits:       rows * k * width,
		FPR:        fpr,
		Lines:      2 * linesOfRow(k*width),
	}, cuckooMisses(r.Load, rows*k, fpr))
}

// cuckooFPR is the rate of a full filter whose cells hold fingerprints as often as
// elements have them. 0 stands for empty, so elements have 1 twice as often as the
// others. It is a bound, because repeats leave fewer distinct fingerprints in a row.
func cuckooFPR(k, width int) float64 {
	held := func(p float64) float64 { return p * -math.Expm1(float64(2*k)*math.Log1p(-p)) }
	p := math.Ldexp(1, -width)
	return held(2*p) + (math.Ldexp(1, width)-2)*held(p)
}

// cuckooMisses is a bound. Each sighting evicts one fingerprint, which after the moves
// may be any of the filter's. Only the fingerprint of the latest sighting counts as
// present.
func cuckooMisses(l *Load, cells int, fpr float64) Misses {
	m := make(Misses, len(l.Between))
	for i, t := range l.Between {
		m[i] = -math.Expm1(-t/float64(cells)) * (1 - fpr)
	}
	return m
}

// sqf is the streaming quotient filter: a power of two of rows, fingerprints are r'
// remainder bits and the weight of all r.
func sqf(r *Request, memory int) (Design, error) {
	b := best{request: r}
	shapes(r, mostQuotientCells, func(k, width int) float64 {
		_, _, agree := sqfFingerprint(width)
		return float64(k) * agree
	}, func(k, width int) {
		remainder, reduced, agree := sqfFingerprint(width)
		if remainder == 0 {
			b.add(Design{}, impossible("cells of %d bits, must be from 3 to %d", width, mostQuotientBits))
			return
		}
		codes := forms.SQFFingerprints(remainder, reduced)
		rows, err := fingerprintRows(memory, k, width)
		switch {
		case k > codes:
			b.add(Design{}, impossible("rows of %d different fingerprints, must be at most %d with cells of %d bits", k, codes, width))
		case err != nil:
			b.add(Design{}, err)
		default:
			rows = 1 << (bits.Len(uint(rows)) - 1)
			d := randomRows(r, rows, k, 1/agree, k*width)
			d.Parameters["r"], d.Parameters["r'"] = remainder, reduced
			b.add(d, nil)
		}
	})
	return b.result()
}

// sqfFingerprint returns the r and r' for cells of the given width whose fingerprints
// agree with the least probability, and that probability. It is 2^-r' times the
// probability of two equal weights of r-r' bits, which is C(2n,n)/4^n with n = r-r'.
func sqfFingerprint(width int) (remainder, reduced int, agree float64) {
	agree = math.Inf(1)
	for r := 2; r <= mostQuotientBits; r++ {
		rPrime := width - bits.Len(uint(r))
		if rPrime < 1 || rPrime >= r {
			continue
		}
		p := math.Exp2(-float64(rPrime))
		for i := 1.0; i <= float64(r-rPrime); i++ {
			p *= (2*i - 1) / (2 * i)
		}
		if p < agree {
			remainder, reduced, agree = r, rPrime, p
		}
	}
	return remainder, reduced, agree
}
