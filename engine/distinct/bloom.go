// SPDX-License-Identifier: Apache-2.0

package distinct

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/line"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/internal/bitset"
	"github.com/flowdedup/flowdedup/engine/internal/rowtable"
	"github.com/flowdedup/flowdedup/engine/theory"
	"github.com/flowdedup/flowdedup/layout"
)

// Bounds and defaults of a ScalableBloom. The default of its rate is engine.DefaultFPR.
const (
	// minFPR is the lowest rate at which the shares of later sub-filters still allow a
	// load.
	minFPR = 1e-18
	maxFPR = 0.5
	// defaultBloomMemory holds 4900 elements at DefaultFPR before it grows.
	defaultBloomMemory = 64 << 10
	// shareRatio is the ratio of a sub-filter's share of the bound to the share of the
	// sub-filter before. The last sub-filters hold most elements, so their shares must not be
	// too small: after ten doublings the share is 1/47 of the bound, where a ratio of a
	// half would leave 1/2048.
	shareRatio = 0.8
	// populateLines is the number of lines of the next sub-filter populated at each
	// decision: enough at all rates for it to be ready in time.
	populateLines = 4096
)

// This compiles only if kernels support all the rounds that formulas choose.
const _ = uint(layout.MaxBloomRounds - theory.MaxSplitRounds)

// ScalableBloomConfig configures NewScalableBloom.
type ScalableBloomConfig struct {
	// FPR bounds the probability that a new element is taken for a known element, from
	// 1e-18 to 0.5; 0 stands for engine.DefaultFPR.
	FPR float64
	// Memory is the filter's initial size, in bytes, and at least the size for 1024
	// elements; 0 stands for 64 KiB.
	Memory int
}

// ScalableBloom remembers digests since a landmark in a blocked Bloom filter. The filter
// grows, so its false positive rate stays under a bound however many elements come. It
// never forgets, so it has no false negatives.
//
// It is a list of sub-filters (Almeida, Baquero, Preguiça, Hutchison, Scalable Bloom
// Filters, Information Processing Letters, 2007). An element is looked up in all, and set
// in the newest if none holds it. The newest is full by density, the rule of Koloniari,
// Ntarmos, Pitoura, Souravlias (One is Enough: Distributed Filtering for Duplicate
// Elimination). Its set bits are counted exactly. It is full if within the next Step
// elements they could reach the line load at which its own false positive rate is its
// share of the bound. Then the next sub-filter starts, with twice the lines and 0.8 of the
// share. Shares of 0.2, 0.16, 0.128, ... never add up to more than the bound. From three
// quarters of the limit on, each decision populates a part of the next sub-filter, so
// that no call has to wait for it. Counts includes its memory once it is in use.
//
// Every element touches one line in each sub-filter. There it has a bit in each of the
// eight words for each of some rounds (line.TestBloom). Crowded lines make such a filter
// larger than the textbook's: rates are means over the Poisson distribution of line loads
// (theory.SplitBlock). Each sub-filter takes the number of rounds that carries the most
// elements at its share:
//
//	share            1e-2  1e-3  1e-4  1e-6  1e-8  1e-9  1e-10 1e-12
//	rounds              1     1     2     2     3     3      3     3
//	bits an element  10.1  15.7  22.9  39.0  64.9  81.1  101.6 161.9
//
// Simulated rates agree: 101 false positives in 10^8 look-ups at 1e-6, where theory
// predicts 100. The whole filter takes more, as later sub-filters have smaller shares and
// the last sub-filter is not full. From 64 KiB, 10^6 elements take 4 MiB at 1e-3, 8 MiB at 1e-6
// and 16 MiB at 1e-9. 4*10^6 elements take 16, 32 and 64 MiB, where a map of digests
// takes 136. Between 10^4 and 10^8 elements it takes 36, 81 and 162 bits an element on
// average, and at most 62, 146 and 246. The bound is on the probability over keys, for
// elements chosen without knowledge of the key.
type ScalableBloom struct {
	config    ScalableBloomConfig
	filters   []bitFilter // the last is active
	prepared  bitFilter   // the next sub-filter, while its memory is populated; else without an arena
	populated int         // lines of it that have memory
	fullFPR   float64     // rate of all but the last together
	rate      float64     // false positive rate at the last decision
	count     uint64      // first sightings
	accounted uint64      // first sightings that missed accounts for
	missed    float64     // expected number of distinct elements taken for repeats
	position  int         // in the stream, modulo Step
	newArena  func(lines int) (*layout.Arena, error)
}

// bitFilter is one sub-filter.
type bitFilter struct {
	arena *layout.Arena
	block theory.SplitBlock
	set   uint64 // bits that are 1
	limit uint64 // the number of set bits at which the next sub-filter starts
}

var _ engine.Counter[digest.Digest] = (*ScalableBloom)(nil)

// NewScalableBloom returns an empty filter. Errors wrap engine.ErrFPR, or come from
// layout.NewArena.
func NewScalableBloom(c ScalableBloomConfig) (*ScalableBloom, error) {
	if c.FPR == 0 {
		c.FPR = engine.DefaultFPR
	}
	if !(c.FPR >= minFPR && c.FPR <= maxFPR) {
		return nil, fmt.Errorf("%w: %g is not between %g and %g", engine.ErrFPR, c.FPR, minFPR, maxFPR)
	}
	if c.Memory == 0 {
		c.Memory = defaultBloomMemory
	}
	l := &ScalableBloom{config: c, newArena: layout.NewArena}
	if err := l.add(); err != nil {
		return nil, err
	}
	return l, nil
}

// add starts the next sub-filter.
func (l *ScalableBloom) add() error {
	f := l.prepared
	if f.arena == nil {
		var err error
		if f, err = l.next(); err != nil {
			return err
		}
	}
	l.filters = append(l.filters, f)
	l.prepared, l.populated = bitFilter{}, 0
	return nil
}

// prepare populates a further part of the next sub-filter. If there is no memory for it,
// add finds out.
func (l *ScalableBloom) prepare() {
	if l.prepared.arena == nil {
		f, err := l.next()
		if err != nil {
			return
		}
		l.prepared = f
	}
	to := min(l.populated+populateLines, len(l.prepared.arena.Lines()))
	l.prepared.arena.Populate(l.populated, to)
	l.populated = to
}

// next makes the sub-filter that follows the present sub-filters.
func (l *ScalableBloom) next() (bitFilter, error) {
	share := l.config.FPR * (1 - shareRatio) * math.Pow(shareRatio, float64(len(l.filters)))
	block, load, err := theory.BestSplitBlock(share)
	if err != nil {
		return bitFilter{}, fmt.Errorf("bloom filter: %w", err)
	}
	rounds := block.Rounds
	perLine := block.Density(load) * 512
	// A step that starts under the limit must end under the density.
	slack := float64(rowtable.Step * 8 * rounds)
	lines := max(l.config.Memory/layout.LineSize, int(2*slack/perLine)+1)
	if n := len(l.filters); n > 0 {
		lines = 2 * len(l.filters[n-1].arena.Lines())
	}
	arena, err := l.newArena(lines)
	if err != nil {
		return bitFilter{}, fmt.Errorf("bloom filter of %d lines: %w", lines, err)
	}
	limit := uint64(perLine*float64(lines) - slack)
	return bitFilter{arena: arena, block: block, limit: limit}, nil
}

func (l *ScalableBloom) active() *bitFilter {
	return &l.filters[len(l.filters)-1]
}

// TestAndSet is as engine.Counter says. It allocates only when the filter grows.
func (l *ScalableBloom) TestAndSet(seen []uint64, digests []digest.Digest) {
	bitset.Clear(seen, len(digests))
	var hits [rowtable.Step / 64]uint64
	for at := 0; at < len(digests); {
		if l.position == rowtable.Step {
			l.decide()
		}
		n := min(rowtable.Step-l.position, len(digests)-at)
		clear(hits[:])
		l.step(hits[:], digests[at:at+n])
		bitset.Or(seen, at, hits[:], n)
		l.position += n
		at += n
	}
}

// step handles at most Step digests between two decisions. It searches the newest
// sub-filter, which is the largest, first.
func (l *ScalableBloom) step(hits []uint64, digests []digest.Digest) {
	last := len(l.filters) - 1
	for i := last - 1; i >= 0; i-- {
		f := &l.filters[i]
		line.TestBloom(f.arena.Lines(), hits, digests, f.block.Rounds)
	}
	f := &l.filters[last]
	f.set += line.TestAndSetBloom(f.arena.Lines(), hits, digests, f.block.Rounds)
	l.count += uint64(len(digests))
	for _, word := range hits {
		l.count -= uint64(bits.OnesCount64(word))
	}
}

// decide accounts for the last step, and starts a new sub-filter if the active sub-filter is
// full. Without memory for it, the active sub-filter takes further elements, and the rate shows
// this, until there is memory.
func (l *ScalableBloom) decide() {
	l.position = 0
	l.missed = l.expectedMissed()
	l.accounted = l.count
	l.rate = l.fpr()
	switch f := l.active(); {
	case f.set < f.limit/4*3:
	case f.set < f.limit:
		l.prepare()
	case l.add() == nil:
		l.fullFPR = l.rate
	}
}

// fpr returns the probability that any sub-filter takes a new element for a known
// element, at the present density.
func (l *ScalableBloom) fpr() float64 {
	full, active := l.fullFPR, l.active().fpr()
	return full + active - full*active
}

func (f *bitFilter) fpr() float64 {
	density := float64(f.set) / float64(len(f.arena.Lines())*512)
	return f.block.FPR(f.block.LoadOfDensity(density))
}

// expectedMissed returns the expected number of distinct elements that were taken for
// repeats. At a rate of p each noticed first sighting stands for p/(1-p) missed first sightings. p
// is the mean over a step.
func (l *ScalableBloom) expectedMissed() float64 {
	fresh := l.count - l.accounted
	if fresh == 0 {
		return l.missed
	}
	p := (l.rate + l.fpr()) / 2
	return l.missed + float64(fresh)*p/(1-p)
}

// MemoryFor is as engine.Sized says. It extrapolates from the memory of the elements so
// far. A sub-filter as large as all present sub-filters together holds more than they do, as
// its share of the bound is larger.
func (l *ScalableBloom) MemoryFor(elements uint64) int {
	set, limit := 1.0, 1.0
	for i := range l.filters {
		set, limit = set+float64(l.filters[i].set), limit+float64(l.filters[i].limit)
	}
	memory := l.bytes()
	for holds := float64(l.count) * limit / set; 0 < holds && holds < float64(elements); holds *= 2 {
		memory *= 2
	}
	return memory
}

// Populate is as engine.Sized says, for the first sub-filter.
func (l *ScalableBloom) Populate() {
	arena := l.filters[0].arena
	arena.Populate(0, len(arena.Lines()))
}

// close returns the memory of a sub-filter that has some.
func (f *bitFilter) close() error {
	if f.arena == nil {
		return nil
	}
	return f.arena.Close()
}

// Counts is as engine.Counter says. Low counts the noticed first sightings, and is never
// too high. High adds the false positives among the distinct elements, a Poisson
// variable. An FPR above the bound means that there was no memory to grow.
func (l *ScalableBloom) Counts() engine.Counts {
	missed := l.expectedMissed()
	c := engine.Counts{
		Distinct: l.count + uint64(math.Round(missed)),
		Low:      l.count,
		High:     l.count + theory.PoissonQuantile(0.95, missed),
		FPR:      l.fpr(),
		Method:   "bloom",
	}
	c.MemoryBytes = l.bytes()
	return c
}

func (l *ScalableBloom) bytes() (n int) {
	for i := range l.filters {
		n += l.filters[i].arena.Bytes()
	}
	return n
}

// Close is as engine.Counter says.
func (l *ScalableBloom) Close() error {
	errs := []error{l.prepared.close()}
	for i := range l.filters {
		errs = append(errs, l.filters[i].close())
	}
	return errors.Join(errs...)
}
