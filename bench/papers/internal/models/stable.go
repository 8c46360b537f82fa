// SPDX-License-Identifier: Apache-2.0

package models

import (
	"math"

	"github.com/flowdedup/flowdedup/bench/papers/internal/forms"
	"github.com/flowdedup/flowdedup/engine/sizing"
	"github.com/flowdedup/flowdedup/engine/theory"
)

const (
	mostStableK    = 32
	mostStableBits = 4 // Max up to 15; larger counters gain nothing in the paper
)

// stable is the stable Bloom filter. Eq. 17 of Deng, Rafiei gives P for the bound on the
// FPR; K and Max are the ones that miss least under this P.
func stable(r *Request, bits int) (Design, error) {
	b := best{request: r}
	for _, width := range choices(r.Fixed.CellBits, 1, mostStableBits) {
		worse := 0
		for _, k := range choices(r.Fixed.K, 1, mostStableK) {
			before := b.design
			b.add(stableOf(r, bits, width, k))
			if b.found && b.design.FPR <= r.FPR && b.design.FNR == before.FNR {
				worse++
			}
			if worse > 3 { // the misses have one minimum in K
				break
			}
		}
	}
	return b.result()
}

func stableOf(r *Request, bits, width, k int) (Design, error) {
	cells := bits / width
	if cells <= k {
		return Design{}, impossible("K = %d hash functions need at least %d cells of %d bits, which are %d bits of memory; the %d bits given are enough for K up to %d",
			k, k+1, width, (k+1)*width, bits, max(0, cells-1))
	}
	filter := theory.Stable{Cells: cells, K: k, P: r.Fixed.P, Max: 1<<width - 1}
	if filter.P == 0 {
		p, err := forms.StableP(cells, k, filter.Max, r.FPR)
		if err != nil {
			p = cells // the closest possible to the bound
		}
		filter.P = p
	}
	fpr, err := filter.FPS()
	if err != nil {
		return Design{}, impossible("P = %d decrements, must be from 1 to the %d cells that %d bits hold", filter.P, cells, bits)
	}
	c := sizing.Cell{
		Setting:  float64(k) / float64(cells),
		Clearing: float64(filter.P) / float64(cells),
		Top:      filter.Max,
	}
	return r.Finish(Design{
		Parameters: map[string]int{"K": k, "P": filter.P, "Max": filter.Max, "cells": cells},
		Bits:       cells * width,
		FPR:        fpr,
		Lines:      math.Ceil(float64(k) + 1 + float64(filter.P*width)/lineBits),
	}, sizing.RatesOf(r.Load.Load, c, k).Misses()), nil
}

// mostBiasedK is enough for a FPR of 1e-9 with arrays that are half full.
const mostBiasedK = 64

// biasedRates are the rates of a filter of k arrays of s bits.
type biasedRates func(r *Request, k int, s float64) outcome

// biased returns the rates of a filter that clears bits for each element that it reports
// as distinct. clearing returns how often such a report clears a given bit, for arrays of
// s bits with the given share set.
func biased(clearing func(k int, s, set float64) float64) biasedRates {
	return func(r *Request, k int, s float64) outcome {
		if r.Load.Length > 0 {
			run := finiteRun{load: r.Load, k: k, setting: 1 / s, clearing: func(set float64) float64 { return clearing(k, s, set) }}
			return run.rates()
		}
		return steady(r.Load, sizing.FixedPoint(r.Load.Load, k, 1/s, 1/s, func(at sizing.Rates) float64 {
			return clearing(k, s, at.Set) * at.DistinctReports(r.Load.Load)
		}))
	}
}

// model returns the model of the filter as published.
func (at biasedRates) model(r *Request, bits int) (Design, error) {
	return biasedBest(r, bits, func(k int, s float64) outcome { return at(r, k, s) })
}

// bsbf clears one bit of each array.
func bsbf(_ int, s, _ float64) float64 { return 1 / s }

// bsbfsd clears one bit of one array.
func bsbfsd(k int, s, _ float64) float64 { return 1 / (float64(k) * s) }

// rlbsbf clears one bit of each array with a probability equal to its load.
func rlbsbf(_ int, s, set float64) float64 { return set / s }

// rsbfThreshold is p*, as in Bera et al. and in stream.New.
const rsbfThreshold = 0.03

// rsbf is the reservoir sampling based filter in its last phase, from element s/p* on, in
// which an unbounded stream ends. In this phase one bit is cleared for each bit that is
// set, so the number of set bits stays as the first phase left it. This is half of them,
// or less in a stream with many repeats, which only cleared bits in the first phase. So
// the FPR is a bound, and the FNR some 15 % too low if most elements are repeats. Bits
// are cleared at the rate that keeps half of them set.
func rsbf(r *Request, k int, s float64) outcome {
	if r.Load.Length > 0 {
		run := finiteRun{load: r.Load, k: k, setting: 1 / s, reservoir: s, replaced: s / rsbfThreshold}
		return run.rates()
	}
	var at sizing.Rates
	theory.FallingRoot(math.Log(1e-6/s), math.Log(1e6/s), func(logClearing float64) float64 {
		at = sizing.RatesOf(r.Load.Load, sizing.Cell{Setting: 1 / s, Clearing: math.Exp(logClearing), Top: 1}, k)
		return at.Set - 0.5
	})
	return steady(r.Load, at)
}

// biasedBest takes the smallest number of arrays that keeps the bound on the FPR. More
// arrays lower the FPR but miss more.
func biasedBest(r *Request, bits int, at func(k int, s float64) outcome) (Design, error) {
	low, high := 1, mostBiasedK
	if r.Fixed.K != 0 {
		low, high = r.Fixed.K, r.Fixed.K
	}
	if bits < low {
		return Design{}, impossible("K = %d arrays need at least %d bits of memory; the %d bits given are enough for K up to %d", low, low, bits, bits)
	}
	high = max(low, min(high, bits))
	for low < high {
		k := (low + high) / 2
		if at(k, float64(bits/k)).FPR <= r.FPR {
			high = k
		} else {
			low = k + 1
		}
	}
	s := bits / high
	result := at(high, float64(s))
	return result.finish(r, Design{
		Parameters: map[string]int{"K": high, "s": s},
		Bits:       high * s,
		FPR:        result.FPR,
		Lines:      float64(2 * high),
	}), nil
}

// finish completes a design.
func (o outcome) finish(r *Request, d Design) Design {
	d = r.Finish(d, o.misses)
	d.FNR = o.FNR
	return d
}
