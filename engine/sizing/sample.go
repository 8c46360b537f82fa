// SPDX-License-Identifier: Apache-2.0

package sizing

import (
	"cmp"
	"math"
	"slices"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/engine/window"
)

// Sample is a part of a stream that keeps its pattern: all sightings of a share of the elements, in
// spans of several windows that follow each other without a gap. A filter with this share of the
// memory has as many elements in a line as the whole filter has on the whole stream.
type Sample struct {
	elements []uint32 // of each sighting, from 0 on
	times    []int64  // of sightings, or their numbers
	distinct int
	window   window.Window
	reach    uint64  // greatest distance of times in a window
	share    float64 // of the stream's elements
	busier   float64 // its repeats, as a multiple of the share of the stream's repeats
}

// ScaledTo returns the sample for a stream that has factor times as many elements.
func (s Sample) ScaledTo(factor float64) *Sample {
	s.share /= factor
	return &s
}

const (
	spanWindows = 8
	fewSpans    = 4
)

// sampler takes a Sample. If sightings become too many, it leaves out every other span or, if
// there are few, every other element.
type sampler struct {
	window      window.Window
	limit       int     // of sightings
	span        int64   // in nanoseconds or elements
	skip, shift uint    // every 2^skip-th span is sampled, and an element with probability 2^-shift
	all         float64 // sightings of all elements in these spans
	sightings   []sighting
}

// sighting is an element with its time or, in windows without time, its position.
type sighting struct {
	element digest.Digest
	at      int64
}

func newSampler(w window.Window, limit int) sampler {
	s := sampler{window: w, limit: limit, span: math.MaxInt64}
	if length := max(int64(w.Duration), w.Packets); length > 0 && length <= s.span/spanWindows {
		s.span = length * spanWindows
	}
	return s
}

func (s *sampler) spanOf(x sighting) int64 { return calendar.Index(x.at, s.span) }
func (s *sampler) inSpans(x sighting) bool { return s.spanOf(x)&(1<<s.skip-1) == 0 }

// has reports whether the sample has the span and the element of a sighting.
func (s *sampler) has(x sighting) bool {
	return s.shift < 64 && x.element[0]&(1<<s.shift-1) == 0 && s.inSpans(x)
}

func (s *sampler) add(x sighting) {
	if s.inSpans(x) {
		s.all++
	}
	if s.has(x) {
		s.sightings = append(s.sightings, x)
	}
	for len(s.sightings) > s.limit {
		s.thin()
	}
}

func (s *sampler) thin() {
	spans, before := 1, len(s.sightings)
	for i := 1; i < before; i++ {
		if s.spanOf(s.sightings[i]) != s.spanOf(s.sightings[i-1]) {
			spans++
		}
	}
	if spans < fewSpans {
		s.shift++
	} else {
		s.skip++
	}
	s.sightings = slices.DeleteFunc(s.sightings, func(x sighting) bool { return !s.has(x) })
	if spans >= fewSpans {
		s.all *= float64(len(s.sightings)) / float64(before)
	}
}

// result returns the sample of a stream with a share of repeats, nil without sightings.
func (s *sampler) result(repeats float64) *Sample {
	if len(s.sightings) == 0 {
		return nil
	}
	r := &Sample{window: s.window, share: math.Ldexp(1, -int(s.shift)), busier: 1}
	numbers := map[digest.Digest]uint32{}
	for i, x := range s.sightings {
		if _, found := numbers[x.element]; !found {
			numbers[x.element] = uint32(len(numbers))
		}
		r.elements = append(r.elements, numbers[x.element])
		r.times = append(r.times, int64(i))
		if s.window.Duration > 0 { // as if the spans left out took no time
			r.times[i] = s.spanOf(x)>>s.skip*s.span + calendar.Phase(x.at, s.span)
		}
	}
	r.distinct = len(numbers)
	if s.window.Packets > 0 && s.shift > 0 {
		r.window.Packets = max(1, int64(math.Round(float64(s.window.Packets)*float64(len(r.elements))/s.all)))
	}
	r.reach = cmp.Or(uint64(max(int64(s.window.Duration), r.window.Packets)), math.MaxUint64)
	if s.shift > 0 && repeats > 0 {
		r.busier = r.repeats() / (repeats * s.all * r.share)
	}
	return r
}

// repeated returns a sample in which n elements, which come together, stand for each. A filter for
// it has n times the memory, so that a small share of a small filter has enough lines.
func (s *Sample) repeated(n int) *Sample {
	r := Sample{window: s.window, distinct: n * s.distinct, reach: s.reach, share: float64(n) * s.share, busier: s.busier}
	if s.window.Packets > 0 {
		r.window.Packets *= int64(n)
		r.reach *= uint64(n)
	}
	for i, element := range s.elements {
		for j := range n {
			at := int64(len(r.times))
			if s.window.Duration > 0 {
				at = s.times[i]
			}
			r.elements, r.times = append(r.elements, element*uint32(n)+uint32(j)), append(r.times, at)
		}
	}
	return &r
}

// repeats counts sightings that lie in the window of the sighting before.
func (s *Sample) repeats() (n float64) {
	last := slices.Repeat([]int64{calendar.NoTime}, s.distinct)
	for i, element := range s.elements {
		if s.within(last[element], s.times[i]) {
			n++
		}
		last[element] = s.times[i]
	}
	return n
}

// within reports whether a window that began at a time, or has not begun, has not ended.
func (s *Sample) within(began, at int64) bool {
	return began != calendar.NoTime && calendar.Distance(began, at) <= s.reach
}
