// SPDX-License-Identifier: Apache-2.0

// Package models predicts the error rates of the papers' filters, and of other filters that no
// command of flowdedup runs by default, for the loads of package sizing. Nothing is simulated but
// how bits fill along a stream with an end.
//
// Stable and biased sampling filters share one model of a cell, which generalizes Bera,
// Dutta, Narang, Bhattacherjee, Advanced Bloom Filter Based Algorithms for Efficient
// Approximate Data De-Duplication in Streams, 2012, Eq. 3.10 to 3.17: a cell is clear if
// it was cleared after it was last set. If the rate of clearings follows from the rates
// of the filter, both are solved together. In rows of fingerprints, the distinct elements
// that fall into a row, or their sightings, evict an element; their number is a Poisson
// variable.
//
// Measurements with engine and engine/paper show the accuracy of the FNR: within 5 %, for
// quotient tables with several cells in a row within 10 %. For reservoir sampling as published it
// is within 15 %, and over a stream of a length, which depends on when an element was last
// inserted, within 25 %. In queues without duplicates an element lives for a time; [Lives] give
// how often it comes again later, and then the FNR is within 15 %, below 1 % within 25 %. Without
// them gaps are taken as independent, and it is up to half too low if elements that come often go
// on to. Quotient tables that insert duplicates and evict at random then miss up to 30 % less,
// else within 10 %. For cuckoo filters it is a bound, up to twice the true one if most elements
// are repeats. Over a stream of a length quotient tables have rows to which more and fewer elements
// come: of a fixed population the FNR is within 15 % if its members come equally often
// (forms.Quotient has it too), else within 25 %, but queues then miss up to four times as many
// over the first few turns. The formulas are for large filters: with fewer than some hundred cells
// the rates are rough.
//
//	question                             file
//	methods; a question                  method.go; request.go
//	streams with an end                  finite.go
//	rates of fingerprints in rows        rows.go, quotient.go, quotient_queued.go, copies.go, lines.go
//	rows with more elements than others  crowds.go
//	how long elements live               lives.go
//	rates of bits, cells and timers      bloom.go, stable.go, window.go
//	buffers                              buffer.go
package models

import (
	"slices"
	"strings"

	"github.com/flowdedup/flowdedup/engine/sizing"
)

// model finds the best design of a method in the given memory. Its errors wrap
// sizing.ErrQuestion.
type model func(r *Request, bits int) (Design, error)

// Estimate is the certainty of a FPR from the model of the package documentation.
const Estimate sizing.Certainty = "estimate"

// Method describes a method that this package knows.
type Method struct {
	Name   string // as in [Question]
	Source string // where it comes from
	// Engine names the constructor of package engine, and Reference the constructor of
	// package engine/paper. At most one is set, and none if there are only formulas.
	Engine, Reference string
	Certainty         sizing.Certainty
	// Takes lists the fields of [Parameters] that the method takes.
	Takes []string

	kinds []sizing.Kind
	model model
}

// The sources of methods.
const (
	deng      = "Deng, Rafiei, SIGMOD 2006"
	bera      = "Bera, Dutta, Narang, Bhattacherjee, 2012"
	metwally  = "Metwally, Agrawal, El Abbadi, WWW 2005"
	geraud    = "Géraud, Lombard-Platet, Naccache, SAC 2019"
	koloniari = "Koloniari, Ntarmos, Pitoura, Souravlias, 2011"
)

var (
	unbounded = []sizing.Kind{sizing.Unbounded}
	landmark  = []sizing.Kind{sizing.Landmark}
	jumps     = []sizing.Kind{Jumping}
	// A sliding window finds every copy that a jumping one of the same length finds.
	slides = []sizing.Kind{sizing.Sliding, sizing.Count, Jumping}
)

// methods lists all methods in the order of presentation: package engine's, and the papers'
// as published.
var methods = []Method{
	{Name: "qht", Source: geraud, Engine: "stream.New", Certainty: sizing.Bound, Takes: []string{"Cells", "CellBits"},
		kinds: unbounded, model: quotientLines(randomLines)},
	{Name: "qqhtd", Source: geraud, Engine: "stream.New", Certainty: sizing.Bound, Takes: []string{"Cells", "CellBits"},
		kinds: unbounded, model: quotientLines(queuedLines)},
	{Name: "qhtd", Source: geraud, Engine: "stream.New", Certainty: sizing.Bound, Takes: []string{"Cells", "CellBits"},
		kinds: unbounded, model: quotientLines(randomCopiesLines)},
	{Name: "qqht", Source: geraud, Engine: "stream.New", Certainty: sizing.Bound, Takes: []string{"Cells", "CellBits"},
		kinds: unbounded, model: quotientLines(queuedOnceLines)},
	{Name: "rsbf", Source: bera, Engine: "stream.New", Certainty: Estimate, Takes: []string{"K"},
		kinds: unbounded, model: biasedLines("rsbf", rsbf)},
	{Name: "bsbf", Source: bera, Engine: "stream.New", Certainty: Estimate, Takes: []string{"K"},
		kinds: unbounded, model: biasedLines("bsbf", biased(bsbf))},
	{Name: "bsbfsd", Source: bera, Engine: "stream.New", Certainty: Estimate, Takes: []string{"K"},
		kinds: unbounded, model: biasedLines("bsbfsd", biased(bsbfsd))},
	{Name: "rlbsbf", Source: bera, Engine: "stream.New", Certainty: Estimate, Takes: []string{"K"},
		kinds: unbounded, model: biasedLines("rlbsbf", biased(rlbsbf))},
	{Name: "timers", Source: koloniari, Engine: "window.NewTimers", Certainty: sizing.Bound, Takes: []string{"K", "CellBits"},
		kinds: slides, model: timersLines},
	{Name: "rows", Source: "this project", Certainty: sizing.Bound, Takes: []string{"Cells", "CellBits"},
		kinds: unbounded, model: anyRows},
	{Name: "sbf-paper", Source: deng, Reference: "NewStable", Certainty: sizing.Bound, Takes: []string{"K", "P", "CellBits"},
		kinds: unbounded, model: stable},
	{Name: "rsbf-paper", Source: bera, Reference: "NewRSBF", Certainty: sizing.Bound, Takes: []string{"K"},
		kinds: unbounded, model: biasedRates(rsbf).model},
	{Name: "bsbf-paper", Source: bera, Reference: "NewBSBF", Certainty: Estimate, Takes: []string{"K"},
		kinds: unbounded, model: biased(bsbf).model},
	{Name: "bsbfsd-paper", Source: bera, Reference: "NewBSBFSD", Certainty: Estimate, Takes: []string{"K"},
		kinds: unbounded, model: biased(bsbfsd).model},
	{Name: "rlbsbf-paper", Source: bera, Reference: "NewRLBSBF", Certainty: Estimate, Takes: []string{"K"},
		kinds: unbounded, model: biased(rlbsbf).model},
	{Name: "qht-paper", Source: geraud, Reference: "NewQHT", Certainty: Estimate, Takes: []string{"Cells", "CellBits"},
		kinds: unbounded, model: qht},
	{Name: "qhtd-paper", Source: geraud, Reference: "NewQHTD", Certainty: sizing.Bound, Takes: []string{"Cells", "CellBits"},
		kinds: unbounded, model: qhtd},
	{Name: "qqht-paper", Source: geraud, Reference: "NewQQHT", Certainty: Estimate, Takes: []string{"Cells", "CellBits"},
		kinds: unbounded, model: qqht},
	{Name: "qht-sorted", Source: geraud, Reference: "NewSemiSortedQHT", Certainty: Estimate, Takes: []string{"Cells", "CellBits"},
		kinds: unbounded, model: semisorted},
	{Name: "qqhtd-paper", Source: geraud, Reference: "NewQQHTD", Certainty: sizing.Bound, Takes: []string{"Cells", "CellBits"},
		kinds: unbounded, model: qqhtd},
	{Name: "sqf", Source: "Dutta, Narang, Bera, VLDB 2013", Reference: "NewSQF", Certainty: Estimate, Takes: []string{"Cells", "CellBits"},
		kinds: unbounded, model: sqf},
	{Name: "cuckoo", Source: "Fan, Andersen, Kaminsky, Mitzenmacher, CoNEXT 2014", Reference: "NewCuckoo", Certainty: sizing.Bound, Takes: []string{"Cells", "CellBits"},
		kinds: unbounded, model: cuckoo},
	{Name: "a2", Source: "Yoon, TKDE 2010", Reference: "NewA2", Certainty: sizing.Bound, Takes: []string{"K"},
		kinds: unbounded, model: aging},
	{Name: "buffer", Source: deng, Reference: "NewLRU", Certainty: sizing.Exact,
		kinds: unbounded, model: lruBuffer},
	{Name: "bloom", Source: metwally, Reference: "NewBloom", Certainty: sizing.Bound, Takes: []string{"K"},
		kinds: landmark, model: bloom},
	{Name: "jumping", Source: "Bloom filters that replace each other", Certainty: sizing.Bound, Takes: []string{"K"},
		kinds: jumps, model: jumping},
	{Name: "jumping-sum", Source: metwally, Reference: "NewJumpingBloom", Certainty: sizing.Bound, Takes: []string{"K"},
		kinds: jumps, model: jumpingCounters},
	{Name: "bdbf", Source: "Shen, Zhang, JCST 2008", Reference: "NewBDBF", Certainty: sizing.Bound, Takes: []string{"K", "CellBits"},
		kinds: jumps, model: decaying},
	{Name: "timers-paper", Source: koloniari, Reference: "NewTimerBloom", Certainty: sizing.Bound, Takes: []string{"K", "CellBits"},
		kinds: slides, model: timers},
	{Name: "counting", Source: metwally, Reference: "NewSlidingBloom", Certainty: sizing.Exact, Takes: []string{"K", "CellBits"},
		kinds: []sizing.Kind{sizing.Count}, model: countingQueue},
}

// Methods returns the methods that this package knows.
func Methods() []Method { return slices.Clone(methods) }

// candidates returns the methods to plan.
func candidates(q *Question) ([]*Method, error) {
	var all []*Method
	var names []string
	for i := range methods {
		if m := &methods[i]; slices.Contains(m.kinds, q.Kind) {
			all, names = append(all, m), append(names, m.Name)
		}
	}
	if q.Method == "" {
		if q.Fixed != (Parameters{}) {
			return nil, impossible("parameters are fixed, but no method is named")
		}
		return all, nil
	}
	i := slices.Index(names, q.Method)
	if i < 0 {
		return nil, impossible("no method %q for a window of this kind; methods that there are: %s", q.Method, strings.Join(names, ", "))
	}
	return all[i : i+1], all[i].checkFixed(q.Fixed)
}

// checkFixed returns an error for parameters that the method does not have.
func (m *Method) checkFixed(p Parameters) error {
	for _, f := range []struct {
		name  string
		value int
	}{{"K", p.K}, {"P", p.P}, {"Cells", p.Cells}, {"CellBits", p.CellBits}} {
		switch {
		case f.value < 0:
			return impossible("%s is %d, must be at least 1", f.name, f.value)
		case f.value > 0 && !slices.Contains(m.Takes, f.name) && len(m.Takes) == 0:
			return impossible("%s has no %s: its parameters follow from the memory", m.Name, f.name)
		case f.value > 0 && !slices.Contains(m.Takes, f.name):
			return impossible("%s has no %s; it takes %s", m.Name, f.name, strings.Join(m.Takes, ", "))
		}
	}
	return nil
}
