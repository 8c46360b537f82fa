// SPDX-License-Identifier: Apache-2.0

package sizing

import (
	"slices"
	"strings"

	"github.com/flowdedup/flowdedup/engine/stream"
	"github.com/flowdedup/flowdedup/engine/window"
)

// model finds the best design of a method in the given memory. Its errors wrap
// ErrQuestion.
type model func(r *request, bits int) (design, error)

// Certainty is the accuracy of a predicted FPR.
type Certainty string

const (
	Exact    Certainty = "exact"    // for ideal hash functions
	Bound    Certainty = "bound"    // never more, whatever the stream
	Estimate Certainty = "estimate" // from the model of the package documentation
)

// Method describes a method that this package knows.
type Method struct {
	Name   string // as in [Question]
	Title  string
	Source string // where it comes from
	// Engine names the constructor of package engine, and Reference the constructor of
	// package engine/paper. At most one is set, and none if there are only formulas.
	Engine, Reference string
	Certainty         Certainty
	// Takes lists the fields of [Parameters] that the method takes.
	Takes []string
	// Evenly says that the FNR of measured streams is that of elements that come equally often,
	// many times each.
	Evenly bool

	kinds     []Kind
	ipv4Only  bool
	keysOnly  bool // it only counts, and finds no copies of packets
	yardstick bool
	measured  bool // it only serves comparison with the others
	// fpr is the rate of a method whose rate does not depend on memory, or 0.
	fpr float64
	// betterThan names a method that hides this one unless this one is better.
	betterThan string
	model      model
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
	unbounded = []Kind{Unbounded}
	landmark  = []Kind{Landmark}
	jumps     = []Kind{Jumping}
	// A sliding window finds every copy that a jumping one of the same length finds.
	slides = []Kind{Sliding, Count, Jumping}
)

// streamMethods are the methods of stream.New, with the models of its lines.
var streamMethods = map[string]Method{
	"lru":    {Title: "LRU rows", Source: "this project", Certainty: Bound, Takes: []string{"Cells", "CellBits"}, model: lruRows},
	"qht":    {Title: "quotient hash table", Source: geraud, Certainty: Bound, Takes: []string{"Cells", "CellBits"}, Evenly: true, model: quotientLines(randomLines)},
	"qqhtd":  {Title: "queued quotient hash table", Source: geraud, Certainty: Bound, Takes: []string{"Cells", "CellBits"}, Evenly: true, model: quotientLines(queuedLines)},
	"qhtd":   {Title: "quotient hash table with duplicates", Source: geraud, Certainty: Bound, Takes: []string{"Cells", "CellBits"}, Evenly: true, model: quotientLines(randomCopiesLines)},
	"qqht":   {Title: "queued quotient hash table without duplicates", Source: geraud, Certainty: Bound, Takes: []string{"Cells", "CellBits"}, Evenly: true, model: quotientLines(queuedOnceLines)},
	"sbf":    {Title: "stable Bloom filter", Source: deng, Certainty: Bound, Takes: []string{"K", "P", "CellBits"}, Evenly: true, model: stableLines},
	"rsbf":   {Title: "reservoir sampling based Bloom filter", Source: bera, Certainty: Estimate, Takes: []string{"K"}, Evenly: true, model: biasedLines("rsbf", rsbf)},
	"bsbf":   {Title: "biased sampling based Bloom filter", Source: bera, Certainty: Estimate, Takes: []string{"K"}, model: biasedLines("bsbf", biased(bsbf))},
	"bsbfsd": {Title: "the same with single deletion", Source: bera, Certainty: Estimate, Takes: []string{"K"}, model: biasedLines("bsbfsd", biased(bsbfsd))},
	"rlbsbf": {Title: "the same, load balanced", Source: bera, Certainty: Estimate, Takes: []string{"K"}, model: biasedLines("rlbsbf", biased(rlbsbf))},
}

// methods lists all methods in the order of presentation: package engine's, the papers'
// as published, and the yardstick.
var methods = slices.Concat([]Method{
	{Name: "timed", Title: "timed rows", Source: "this project", Engine: "window.NewTimed", Certainty: Bound,
		kinds: append([]Kind{Unbounded}, slides...), model: timedRows},
	{Name: "coarse", Title: "rows with coarse times", Source: "this project", Engine: "window.NewCoarse", Certainty: Bound,
		kinds: slides, fpr: window.CoarseFPR, model: coarseRows(false)},
	{Name: "fine", Title: "rows with coarse times and long fingerprints", Source: "this project", Engine: "window.NewCoarse", Certainty: Bound,
		kinds: slides, fpr: window.FineFPR, model: coarseRows(true)},
	{Name: "sliding-rows", Title: "rows of digests with dates", Source: "this project", Engine: "sliding.New", Certainty: Exact,
		kinds: []Kind{Sliding}, keysOnly: true, model: slidingRows},
	{Name: "exact-rows", Title: "exact rows", Source: "this project", Engine: "distinct.NewIPv4Rows", Certainty: Exact,
		kinds: landmark, ipv4Only: true, model: exactRows},
	{Name: "digest-rows", Title: "rows of digests", Source: "this project", Engine: "distinct.NewDigestRows", Certainty: Bound,
		kinds: landmark, model: digestRows},
	{Name: "bloom-lines", Title: "blocked Bloom filter", Source: "Putze, Sanders, Singler, JEA 2009", Engine: "distinct.NewScalableBloom", Certainty: Bound,
		kinds: landmark, model: bloomLines},
}, ofStreams(), []Method{
	{Name: "timers", Title: "Bloom filter of timers", Source: koloniari, Engine: "window.NewTimers", Certainty: Bound, Takes: []string{"K", "CellBits"},
		kinds: slides, measured: true, model: timersLines},
	{Name: "apbf", Title: "age-partitioned Bloom filter", Source: "Shtul, Baquero, Almeida, 2020", Engine: "window.NewPartitioned", Certainty: Estimate, Takes: []string{"K"},
		kinds: slides, measured: true, model: partitionedLines},
	{Name: "rows", Title: "LRU rows of any width", Source: "this project", Certainty: Bound, Takes: []string{"Cells", "CellBits"},
		kinds: unbounded, betterThan: "lru", model: anyRows},
	{Name: "sbf-paper", Title: "stable Bloom filter, as published", Source: deng, Reference: "NewStable", Certainty: Bound, Takes: []string{"K", "P", "CellBits"},
		kinds: unbounded, betterThan: "sbf", model: stable},
	{Name: "rsbf-paper", Title: "reservoir sampling based Bloom filter, as published", Source: bera, Reference: "NewRSBF", Certainty: Bound, Takes: []string{"K"},
		kinds: unbounded, betterThan: "rsbf", model: biasedRates(rsbf).model},
	{Name: "bsbf-paper", Title: "biased sampling based Bloom filter, as published", Source: bera, Reference: "NewBSBF", Certainty: Estimate, Takes: []string{"K"},
		kinds: unbounded, betterThan: "bsbf", model: biased(bsbf).model},
	{Name: "bsbfsd-paper", Title: "the same with single deletion", Source: bera, Reference: "NewBSBFSD", Certainty: Estimate, Takes: []string{"K"},
		kinds: unbounded, betterThan: "bsbfsd", model: biased(bsbfsd).model},
	{Name: "rlbsbf-paper", Title: "the same, load balanced", Source: bera, Reference: "NewRLBSBF", Certainty: Estimate, Takes: []string{"K"},
		kinds: unbounded, betterThan: "rlbsbf", model: biased(rlbsbf).model},
	{Name: "qht-paper", Title: "quotient hash table, as published", Source: geraud, Reference: "NewQHT", Certainty: Estimate, Takes: []string{"Cells", "CellBits"},
		kinds: unbounded, betterThan: "qht", model: qht},
	{Name: "qhtd-paper", Title: "quotient hash table with duplicates, as published", Source: geraud, Reference: "NewQHTD", Certainty: Bound, Takes: []string{"Cells", "CellBits"},
		kinds: unbounded, betterThan: "qhtd", model: qhtd},
	{Name: "qqht-paper", Title: "queued quotient hash table without duplicates, as published", Source: geraud, Reference: "NewQQHT", Certainty: Estimate, Takes: []string{"Cells", "CellBits"},
		kinds: unbounded, betterThan: "qqht", model: qqht},
	{Name: "qht-sorted", Title: "quotient hash table with semi-sorted rows", Source: geraud, Reference: "NewSemiSortedQHT", Certainty: Estimate, Takes: []string{"Cells", "CellBits"},
		kinds: unbounded, model: semisorted},
	{Name: "qqhtd-paper", Title: "queued quotient hash table, as published", Source: geraud, Reference: "NewQQHTD", Certainty: Bound, Takes: []string{"Cells", "CellBits"},
		kinds: unbounded, betterThan: "qqhtd", model: qqhtd},
	{Name: "sqf", Title: "streaming quotient filter", Source: "Dutta, Narang, Bera, VLDB 2013", Reference: "NewSQF", Certainty: Estimate, Takes: []string{"Cells", "CellBits"},
		kinds: unbounded, model: sqf},
	{Name: "cuckoo", Title: "cuckoo filter that forgets", Source: "Fan, Andersen, Kaminsky, Mitzenmacher, CoNEXT 2014", Reference: "NewCuckoo", Certainty: Bound, Takes: []string{"Cells", "CellBits"},
		kinds: unbounded, model: cuckoo},
	{Name: "a2", Title: "aging Bloom filter, two buffers", Source: "Yoon, TKDE 2010", Reference: "NewA2", Certainty: Bound, Takes: []string{"K"},
		kinds: unbounded, model: aging},
	{Name: "buffer", Title: "LRU buffer of elements", Source: deng, Reference: "NewLRU", Certainty: Exact,
		kinds: unbounded, model: lruBuffer},
	{Name: "bloom", Title: "Bloom filter", Source: metwally, Reference: "NewBloom", Certainty: Bound, Takes: []string{"K"},
		kinds: landmark, model: bloom},
	{Name: "jumping", Title: "Bloom filters in turn", Source: "Bloom filters that replace each other", Certainty: Bound, Takes: []string{"K"},
		kinds: jumps, model: jumping},
	{Name: "jumping-sum", Title: "Bloom filters and their sum", Source: metwally, Reference: "NewJumpingBloom", Certainty: Bound, Takes: []string{"K"},
		kinds: jumps, model: jumpingCounters},
	{Name: "bdbf", Title: "block decaying Bloom filter", Source: "Shen, Zhang, JCST 2008", Reference: "NewBDBF", Certainty: Bound, Takes: []string{"K", "CellBits"},
		kinds: jumps, model: decaying},
	{Name: "timers-paper", Title: "Bloom filter of timers, as published", Source: koloniari, Reference: "NewTimerBloom", Certainty: Bound, Takes: []string{"K", "CellBits"},
		kinds: slides, betterThan: "timers", model: timers},
	{Name: "counting", Title: "counting Bloom filter and queue", Source: metwally, Reference: "NewSlidingBloom", Certainty: Exact, Takes: []string{"K", "CellBits"},
		kinds: []Kind{Count}, model: countingQueue},
	{Name: "exact", Title: "map of digests", Source: "the yardstick", Engine: "window.NewExact, distinct.NewDigestMap", Certainty: Exact,
		kinds: append([]Kind{Landmark}, slides...), yardstick: true, model: exactMap},
})

// ofStreams returns the methods of stream.New, the recommended one first.
func ofStreams() []Method {
	var all []Method
	for i, name := range stream.Methods() {
		m, known := streamMethods[name]
		if !known {
			panic("sizing: no model of stream method " + name)
		}
		m.Name, m.Engine, m.kinds, m.measured = name, "stream.New", unbounded, i > 0
		all = append(all, m)
	}
	return all
}

// Methods returns the methods that this package knows.
func Methods() []Method { return slices.Clone(methods) }

// expresses reports whether the method can serve the window and the key, and the rate if
// the memory is open.
func (m *Method) expresses(q *Question) bool {
	if m.fpr > q.FPR && q.MemoryBits == 0 && q.Method == "" {
		return false
	}
	return slices.Contains(m.kinds, q.Kind) && (!m.ipv4Only || q.Key == IPv4) && (!m.keysOnly || q.Key != Packets)
}

// candidates returns the methods to plan.
func candidates(q *Question) ([]*Method, error) {
	var all []*Method
	for i := range methods {
		if methods[i].expresses(q) && (q.Only == nil || q.Only(&methods[i])) {
			all = append(all, &methods[i])
		}
	}
	if q.Method == "" {
		if q.Fixed != (Parameters{}) {
			return nil, impossible("parameters are fixed, but no method is named")
		}
		return all, nil
	}
	i := slices.IndexFunc(all, func(m *Method) bool { return m.Name == q.Method })
	if i < 0 {
		return nil, noCandidate(q, all)
	}
	return all[i : i+1], all[i].checkFixed(q.Fixed)
}

// noCandidate returns why the method asked for is not a candidate.
func noCandidate(q *Question, all []*Method) error {
	names := make([]string, len(all))
	for i, m := range all {
		names[i] = m.Name
	}
	for i := range methods {
		m := &methods[i]
		if m.Name != q.Method {
			continue
		}
		if slices.Contains(m.kinds, q.Kind) && m.keysOnly {
			return impossible("%s only counts keys; methods that find copies of packets: %s", m.Name, strings.Join(names, ", "))
		}
		if slices.Contains(m.kinds, q.Kind) {
			return impossible("%s only takes IPv4 addresses; methods for all elements: %s", m.Name, strings.Join(names, ", "))
		}
		return impossible("%s cannot express a window of kind %v; methods that can: %s", m.Name, q.Kind, strings.Join(names, ", "))
	}
	return impossible("no method %q; methods for a window of kind %v: %s", q.Method, q.Kind, strings.Join(names, ", "))
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
