// SPDX-License-Identifier: Apache-2.0

package models

import (
	"math"
	"math/big"

	"github.com/flowdedup/flowdedup/engine/theory"
)

// semisorted is the quotient hash table with semi-sorted rows: a row is the number of its
// multiset of cells, in fewer bits. So there are more rows, and the rates of a row are the same.
func semisorted(r *Request, memory int) (Design, error) {
	b := best{request: r}
	shapes(r, mostQuotientCells, quotientFPR, func(k, width int) {
		if _, err := fingerprintRows(math.MaxInt, k, width); err != nil {
			b.add(Design{}, err)
			return
		}
		rowBits := semisortedBits(k, width)
		switch {
		case rowBits > 64:
			b.add(Design{}, impossible("semi-sorted rows of %d cells of %d bits need %d bits, more than 64", k, width, rowBits))
		case memory < rowBits:
			b.add(Design{}, tooSmall(memory, rowBits, "a semi-sorted row of %d cells of %d bits", k, width))
		default:
			d := randomRows(r, memory/rowBits, k, float64(int(1)<<width-1), rowBits)
			d.Parameters["cell bits"] = width
			b.add(d, nil)
		}
	})
	return b.result()
}

// semisortedBits returns the bits of a number below C(2^width + k - 1, k), as many as there are
// multisets of k cells.
func semisortedBits(k, width int) int {
	codes := new(big.Int).Binomial(int64(1)<<width+int64(k)-1, int64(k))
	return codes.Sub(codes, big.NewInt(1)).BitLen()
}

// qqht is the queued table without duplicates: a row holds the k latest elements that it
// reported distinct. With one cell it is qht.
func qqht(r *Request, memory int) (Design, error) {
	b := best{request: r}
	shapes(r, mostQuotientCells, quotientFPR, func(k, width int) {
		rows, err := fingerprintRows(memory, k, width)
		if err != nil {
			b.add(Design{}, err)
			return
		}
		fpr := quotientFPR(k, width)
		d := Design{
			Parameters: map[string]int{"rows": rows, "cells": k, "cell bits": width},
			Bits:       rows * k * width,
			FPR:        math.Min(1, fpr),
			Lines:      linesOfRow(k * width),
		}
		if k == 1 { // the next distinct element always evicts: elements do not come at a constant rate
			b.add(r.Finish(d, randomMisses(r.Load, float64(rows), k, float64(int(1)<<width-1))), nil)
			return
		}
		b.add(queuedMisses(r, float64(rows), k, d.FPR).finish(r, d), nil)
	})
	return b.result()
}

// queuedMisses returns the misses of queues of k elements that were reported distinct. An
// element that comes in lives until k others have come in after it: for the sum of k
// exponential times, whatever comes in the meantime. The stream gives how many repeats come
// in a life, and they give the share of elements that begin one, which is the rate at which
// queues advance: a fixed point. An element that is reported by the fingerprint of another
// begins a life too, in any place of the queue, and pushes nothing.
//
// Rows are taken as alike and of elements that come and go. But elements that come all through
// a finite stream are missed where more of them share a row than it has cells, and as often as
// if they pushed out a random one (Gelenbe: see crowdMisses). Elements last if they begin one
// more life of a quarter of the stream on average.
func queuedMisses(r *Request, rows float64, k int, fpr float64) outcome {
	l := r.Load
	begun, full := r.begun(), l.fullRows(rows, k)
	fresh := begun[len(begun)-1]
	pushed := newPushes(k)
	begin, before := 1.0, 2.0
	for round := 0; round < 100 && before-begin > 1e-5*begin; round++ {
		before = begin
		found := 0.0
		for i := 1; i < len(begun); i++ {
			if more := 1/begun[i] - 1/begun[i-1]; more > 0 {
				pushed.set(full * begin * (1 - fpr) / rows * l.Between[i])
				found += more * (1 - (1-fpr)*pushed.least[k] - fpr*pushed.anywhere())
			}
		}
		begin = math.Min(begin, 1/(1+found))
	}
	o := outcome{FPR: fpr, misses: make(Misses, len(l.Between))}
	for i, t := range l.Between {
		pushed.set(full * begin * (1 - fpr) / rows * t)
		o.misses[i] = pushed.anywhere() * (1 - fpr)
	}
	if fresh < 1 {
		o.FNR = math.Min(1, math.Max(0, begin-fresh)*(1-fpr)/(1-fresh))
	}
	if l.Length > 0 {
		o.atLeast(l, math.Min(1, begun[l.GridAt(l.Length/4)]/fresh-1), randomMisses(l, rows, k, float64(k)/fpr))
	}
	return o
}

// atLeast raises misses to the given ones times a share of the elements.
func (o *outcome) atLeast(l *Load, share float64, m Misses) {
	o.FNR = math.Max(o.FNR, share*l.FNR(m))
	for i := range m {
		o.misses[i] = math.Max(o.misses[i], share*m[i])
	}
}

// pushes holds the probabilities of the Poisson number of elements that are pushed into a queue
// in a time: of exactly n, and of at least n.
type pushes struct{ exactly, least []float64 }

// newPushes has room for queues of k places.
func newPushes(k int) pushes { return pushes{make([]float64, k), make([]float64, k+1)} }

// set computes the probabilities for a mean.
func (p pushes) set(mean float64) {
	k := len(p.exactly)
	p.exactly[0] = math.Exp(-mean)
	for n := 1; n < k; n++ {
		p.exactly[n] = p.exactly[n-1] * mean / float64(n)
	}
	p.least[k] = theory.PoissonTail(k, mean)
	for n := k - 1; n > 0; n-- { // from the smallest term up, which keeps its digits
		p.least[n] = math.Min(1, p.least[n+1]+p.exactly[n])
	}
	p.least[0] = 1
}

// anywhere returns the probability that an element is pushed out that is in any place of the
// queue.
func (p pushes) anywhere() float64 {
	sum := 0.0
	for _, least := range p.least[1:] {
		sum += least
	}
	return sum / float64(len(p.exactly))
}
