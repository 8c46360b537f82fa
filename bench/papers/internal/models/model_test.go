// SPDX-License-Identifier: Apache-2.0

package models

import (
	"math"
	"testing"

	"github.com/flowdedup/flowdedup/engine/paper"
	"github.com/flowdedup/flowdedup/engine/sizing"
	"github.com/flowdedup/flowdedup/engine/sizing/sizingtest"
	"github.com/flowdedup/flowdedup/engine/theory"
)

// load measures the stream from the given element on.
func load(s sizingtest.Stream, from int) (distinct float64, gaps sizing.Gaps) {
	distinct, shares := s.Load(from)
	for i, share := range shares {
		gaps = append(gaps, sizing.Bin{Upto: float64(i + 1), Share: share})
	}
	return distinct, gaps.Times(1)
}

// planned returns the candidate of a method.
func planned(t *testing.T, q Question, method string) Candidate {
	t.Helper()
	q.Method = method
	all, err := Plan(q)
	if err != nil {
		t.Fatal(err)
	}
	return all[0]
}

// build makes the reference filter of a candidate.
func build(c *Candidate) (paper.Filter, error) {
	bias := paper.BiasedConfig{Bits: c.Bits, K: c.Parameters["K"], Seed: 7}
	table := paper.QHTConfig{Bits: c.Bits, CellBits: c.Parameters["cell bits"], Cells: c.Parameters["cells"], Seed: 7}
	switch c.Method.Name {
	case "sbf-paper":
		cells := c.Parameters["cells"]
		return paper.NewStable(paper.StableConfig{Cells: cells, CellBits: c.Bits / cells, K: c.Parameters["K"], P: c.Parameters["P"], Seed: 7})
	case "rsbf-paper":
		return paper.NewRSBF(bias, 0.03)
	case "bsbf-paper":
		return paper.NewBSBF(bias)
	case "bsbfsd-paper":
		return paper.NewBSBFSD(bias)
	case "rlbsbf-paper":
		return paper.NewRLBSBF(bias)
	case "qht-paper":
		return paper.NewQHT(table)
	case "qhtd-paper":
		return paper.NewQHTD(table)
	case "qqht-paper":
		return paper.NewQQHT(table)
	case "qht-sorted":
		return paper.NewSemiSortedQHT(table)
	case "qqhtd-paper":
		return paper.NewQQHTD(table)
	case "sqf":
		return paper.NewSQF(paper.SQFConfig{Bits: c.Bits, Cells: table.Cells, Remainder: c.Parameters["r"], Fingerprint: c.Parameters["r'"], Seed: 7})
	case "cuckoo":
		return paper.NewCuckoo(paper.CuckooConfig{Bits: c.Bits, CellBits: table.CellBits, Cells: table.Cells, Kicks: 100, Seed: 7})
	case "a2":
		return paper.NewA2(c.Bits, c.Parameters["K"], c.Parameters["capacity"])
	default:
		return paper.NewLRU(c.Bits, elementBits)
	}
}

// TestReferences compares predictions with runs of the reference filters. models gives
// the allowed error of a model, as a share of the rate, in addition to the sampling
// error. Bounds may be too low by as much, and too high by any amount.
func TestReferences(t *testing.T) {
	const elements, from, longest = 110_000, 40_000, 1 << 12
	for _, fresh := range []float64{0.4, 0.9} {
		if testing.Short() && fresh == 0.9 {
			continue
		}
		s := sizingtest.NewStream(elements, fresh, longest, 3)
		distinct, gaps := load(s, from)
		for _, c := range []struct {
			method       string
			cells        int
			fprOff       float64
			fnrOff       float64
			fnrBoundOnly bool
		}{
			{"sbf-paper", 0, 0.02, 0.02, false},
			{"bsbf-paper", 0, 0.03, 0.02, false},
			{"bsbfsd-paper", 0, 0.03, 0.02, false},
			{"rlbsbf-paper", 0, 0.03, 0.02, false},
			{"rsbf-paper", 0, 0.05, 0.05, false},
			{"qht-paper", 1, 0.02, 0.03, false},
			{"qht-paper", 4, 0.02, 0.08, false},
			{"qhtd-paper", 4, 0.02, 0.15, false},
			{"qqht-paper", 1, 0.02, 0.03, false},
			{"qqht-paper", 4, 0.02, 0.08, false},
			{"qht-sorted", 4, 0.02, 0.08, false},
			{"qqhtd-paper", 1, 0.02, 0.03, false},
			{"qqhtd-paper", 4, 0.02, 0.05, false},
			{"sqf", 0, 0.02, 0.05, false},
			{"cuckoo", 4, 0.03, 0.03, true},
			{"a2", 0, 0.02, 0.03, false},
			{"buffer", 0, 0, 0.03, false},
		} {
			q := Question{Question: sizing.Question{Key: sizing.Other, MemoryBits: 1 << 12, FPR: 0.1, Distinct: distinct, Gaps: gaps}, Method: c.method, Fixed: Parameters{Cells: c.cells}}
			plan := planned(t, q, q.Method)
			filter, err := build(&plan)
			if err != nil {
				t.Fatal(c.method, err)
			}
			fpr, fnr := s.Rates(filter.TestAndSet, from)
			n := float64(elements - from)
			sizingtest.Near(t, c.method+" FPR", plan.FPR, fpr, c.fprOff, n*distinct, plan.Method.Certainty == sizing.Bound)
			sizingtest.Near(t, c.method+" FNR", plan.FNR, fnr, c.fnrOff, n*(1-distinct), c.fnrBoundOnly)
			if filter.Bits() > q.MemoryBits {
				t.Errorf("%s takes %d bits of %d", c.method, filter.Bits(), q.MemoryBits)
			}
		}
	}
}

// TestClusters compares Panjer's recursion with plain summation for up to two distinct
// elements.
func TestClusters(t *testing.T) {
	c := clusters{different: 1e-4, again: 0.6}
	for _, k := range []int{1, 2, 5} {
		one := c.different * math.Exp(-c.different) * math.Pow(c.again, float64(k-1))
		if got := c.atLeast(k); math.Abs(got/one-1) > 1e-3 {
			t.Errorf("P(at least %d) is %g, want about %g", k, got, one)
		}
	}
	if got, want := c.anyOf(1), -math.Expm1(-c.different); math.Abs(got/want-1) > 1e-9 {
		t.Errorf("P(any) is %g, want %g", got, want)
	}
}

// TestPushes compares the sums of probabilities with the ones that theory computes one by one.
func TestPushes(t *testing.T) {
	for _, k := range []int{1, 2, 7, 32} {
		p := newPushes(k)
		for _, mean := range []float64{0, 1e-12, 0.3, 1, 6.5, 40, 900} {
			p.set(mean)
			for n := range k + 1 {
				if want := theory.PoissonTail(n, mean); math.Abs(p.least[n]-want) > 1e-12*want {
					t.Errorf("mean %g: at least %d of %d: %g, want %g", mean, n, k, p.least[n], want)
				}
			}
			for n, got := range p.exactly {
				if want := theory.PoissonTail(n, mean) - theory.PoissonTail(n+1, mean); math.Abs(got-want) > 1e-12 {
					t.Errorf("mean %g: exactly %d of %d: %g, want %g", mean, n, k, got, want)
				}
			}
		}
	}
}
