// SPDX-License-Identifier: Apache-2.0

package models

import (
	"math"

	"github.com/flowdedup/flowdedup/engine/stream"
	"github.com/flowdedup/flowdedup/engine/theory"
	"github.com/flowdedup/flowdedup/layout"
)

// The models of this file describe the papers' filters as package engine builds them: an
// element touches a single cache line. They use the parameters that fit a line and the
// filters' own bounds.

// stream returns the complete configuration that stream.New uses with the given number of
// bits. It returns an error if the parameters do not fit a line or cannot keep the rate.
func (r *Request) stream(c stream.Config, bits int) (full stream.Config, lines int, err error) {
	if bits < lineBits {
		return c, 0, tooSmall(bits, lineBits, "a cache line")
	}
	c.Memory = bits / lineBits * (lineBits / 8)
	if full, err = c.Complete(); err != nil {
		return full, 0, impossible("%w; %s-paper is the published form, which takes more", err, c.Method)
	}
	return full, bits / lineBits, nil
}

// biasedLines is a filter of bits in lines. In an endless stream it keeps the filter's
// own rate, in a finite one the model's. Lines differ in how full they are, which raises
// the model's rate as it does the filter's.
func biasedLines(method string, at biasedRates) model {
	return func(r *Request, bits int) (Design, error) {
		b := best{request: r}
		for _, k := range choices(r.Fixed.K, 1, layout.MaxStableParts) {
			c, lines, err := r.stream(stream.Config{Method: method, K: k}, bits)
			if err != nil {
				b.add(Design{}, err)
				continue
			}
			s := lineBits / k * lines
			result := at(r, k, float64(s))
			if r.Load.Length == 0 {
				result.FPR = c.FPR
			} else {
				result.FPR = unevenFPR(result.FPR, k)
			}
			b.add(result.finish(r, Design{
				Parameters: map[string]int{"K": k, "s": s},
				Bits:       lines * lineBits,
				FPR:        result.FPR,
				Lines:      1,
			}), nil)
		}
		return b.result()
	}
}

// unevenFPR returns the mean rate of lines, given the rate of k bits with the mean share:
// see stream.Stats.
func unevenFPR(rate float64, k int) float64 {
	if rate == 0 {
		return 0
	}
	set := math.Pow(rate, 1/float64(k))
	return math.Min(1, rate*(1+float64(k*(k-1))/2*(1-set)/(set*lineBits)))
}

// quotientLines is a quotient hash table whose rows have one of the shapes that fit a
// line. missed returns the misses of a table with the given number of rows.
func quotientLines(missed func(r *Request, rows int, s stream.Shape) outcome) model {
	return func(r *Request, bits int) (Design, error) {
		b := best{request: r}
		for _, s := range stream.Shapes() {
			if r.Fixed.Cells != 0 && r.Fixed.Cells != s.Cells() || r.Fixed.CellBits != 0 && r.Fixed.CellBits != s.CellBits() {
				continue
			}
			lines := bits / lineBits
			if lines < 1 {
				return Design{}, tooSmall(bits, lineBits, "a cache line")
			}
			rows := lines * s.RowsPerLine()
			b.add(missed(r, rows, s).finish(r, Design{
				Parameters: map[string]int{"rows": rows, "cells": s.Cells(), "cell bits": s.CellBits()},
				Bits:       lines * lineBits,
				FPR:        s.FPR(),
				Lines:      1,
			}), nil)
		}
		if !b.found && b.err == nil {
			return Design{}, impossible("rows of %d cells of %d bits are none of the engine's; the published form, such as qht-paper, takes others", r.Fixed.Cells, r.Fixed.CellBits)
		}
		return b.result()
	}
}

func randomLines(r *Request, rows int, s stream.Shape) outcome {
	return r.Load.outcome(randomMisses(r.Load, float64(rows), s.Cells(), math.Exp2(float64(s.CellBits()))-1))
}

func queuedLines(r *Request, rows int, s stream.Shape) outcome {
	return r.Load.outcome(latestMisses(r.Load, rows, s.Cells(), s.FPR()))
}

func randomCopiesLines(r *Request, rows int, s stream.Shape) outcome {
	return r.Load.outcome(copiesMisses(r.Load, rows, s.Cells(), s.FPR()))
}

func queuedOnceLines(r *Request, rows int, s stream.Shape) outcome {
	return queuedMisses(r, float64(rows), s.Cells(), s.FPR())
}

// timersLines is window.Timers, for windows that slide.
func timersLines(r *Request, bits int) (Design, error) {
	width := timerBits
	if r.Fixed.CellBits != 0 {
		width = r.Fixed.CellBits
	}
	lines := bits / lineBits
	switch {
	case width != 8 && width != 16:
		return Design{}, impossible("timers of %d bits, must be of 8 or 16; timers-paper takes others", width)
	case lines < 1:
		return Design{}, tooSmall(bits, lineBits, "a cache line")
	}
	ticks := 1<<(width-1) - 2
	load := r.Inserted(r.Elements*(1+1/float64(ticks))) / float64(lines)
	best, k := math.Inf(1), 0
	for _, of := range choices(r.Fixed.K, 1, layout.MaxCellK) {
		fpr, err := theory.EighthsFilter{Cells: lineBits / width, K: of}.FPR(load)
		if err != nil {
			return Design{}, impossible("K is %d, must be from 1 to %d; timers-paper takes more", of, layout.MaxCellK)
		}
		if fpr < best {
			best, k = fpr, of
		}
	}
	return r.Complete(Design{
		Parameters: map[string]int{"K": k, "counters": lines * lineBits / width, "counter bits": width, "ticks": ticks},
		Bits:       lines * lineBits,
		FPR:        best,
		Lines:      1,
		Edge:       1 / float64(ticks),
	}), nil
}
