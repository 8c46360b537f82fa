// SPDX-License-Identifier: Apache-2.0

package sizing

import (
	"maps"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/engine/window"
)

// MaxTracked is a good limit for a Tracker: it takes about 90 MiB.
const MaxTracked = 1 << 20

// Tracker measures a stream for a plan, in bounded memory: the share of distinct
// elements, the gaps of repeats, and the number of elements in a window.
//
// It tracks the elements whose digests fall into a share of 2^-shift, each with all its
// repeats. When there are too many elements it halves the share. Each counted event has
// weight 2^shift, so shares are right even though the shift changes.
type Tracker struct {
	window   window.Window
	landmark bool
	limit    int
	shift    uint
	seen     map[digest.Digest]occurrence
	position uint64

	distinct, repeats float64
	// Distances of repeats from the occurrence before, in elements and in nanoseconds.
	gaps, times histogram
	peak        peak
	sampler     sampler
}

// occurrence is the latest occurrence of an element.
type occurrence struct {
	position uint64
	time     int64
}

// NewTracker makes a Tracker of elements within a window, or since a landmark. It tracks at
// most limit distinct elements at a time, and takes half as many sightings into its Sample.
func NewTracker(window window.Window, landmark bool, limit int) *Tracker {
	return &Tracker{
		window: window, landmark: landmark, limit: limit,
		seen: make(map[digest.Digest]occurrence), peak: newPeak(window, landmark), sampler: newSampler(window, limit/2),
	}
}

// Add takes the next element of the stream. A window of time ignores elements without a
// time.
func (t *Tracker) Add(d digest.Digest, at int64) {
	if t.window.Duration > 0 && at == calendar.NoTime {
		return
	}
	t.position++
	t.peak.add(at)
	if !t.landmark {
		x := sighting{d, int64(t.position)}
		if t.window.Duration > 0 {
			x.at = at
		}
		t.sampler.add(x)
	}
	if d[0]&(1<<t.shift-1) != 0 {
		return
	}
	now := occurrence{position: t.position, time: at}
	weight := float64(uint64(1) << t.shift)
	before, found := t.seen[d]
	if found && t.within(before, now) {
		t.repeats += weight
		t.gaps.add(float64(now.position-before.position), weight)
		if now.time != calendar.NoTime && before.time != calendar.NoTime {
			t.times.add(float64(calendar.Distance(before.time, now.time)), weight)
		}
	} else {
		t.distinct += weight
	}
	t.seen[d] = now
	if len(t.seen) > t.limit {
		t.halveSample(now)
	}
}

// within reports whether the second occurrence lies in the window of the first.
func (t *Tracker) within(before, now occurrence) bool {
	switch {
	case t.window.Packets > 0 && t.landmark:
		n := uint64(t.window.Packets)
		return (before.position-1)/n == (now.position-1)/n
	case t.window.Packets > 0:
		return now.position-before.position <= uint64(t.window.Packets)
	case t.window.Duration > 0 && t.landmark:
		return calendar.Index(before.time, int64(t.window.Duration)) == calendar.Index(now.time, int64(t.window.Duration))
	case t.window.Duration > 0:
		return calendar.Distance(before.time, now.time) <= uint64(t.window.Duration)
	}
	return true
}

// halveSample forgets elements that can no longer be repeated. If that is not enough it
// forgets half of the others.
func (t *Tracker) halveSample(now occurrence) {
	maps.DeleteFunc(t.seen, func(_ digest.Digest, s occurrence) bool { return !t.within(s, now) })
	for len(t.seen) > t.limit/2 && t.shift < 63 {
		t.shift++
		maps.DeleteFunc(t.seen, func(d digest.Digest, _ occurrence) bool { return d[0]&(1<<t.shift-1) != 0 })
	}
}

// Sample returns a part of the stream, nil without elements and since a landmark.
func (t *Tracker) Sample() *Sample { return t.sampler.result(1 - t.DistinctShare()) }

// Gaps returns the distances of repeats from the occurrence before, in elements.
func (t *Tracker) Gaps() Gaps { return t.gaps.result() }

// TimeGaps returns the distances of repeats from the occurrence before, in nanoseconds. Both need
// a time.
func (t *Tracker) TimeGaps() Gaps { return t.times.result() }

// Elements returns the number of elements, without the ones that the window ignores.
func (t *Tracker) Elements() uint64 { return t.position }

// SampledShare returns the share of the elements that is tracked now.
func (t *Tracker) SampledShare() float64 { return 1 / float64(uint64(1)<<t.shift) }

// DistinctShare returns the share of new elements, 1 without elements.
func (t *Tracker) DistinctShare() float64 {
	if t.distinct == 0 {
		return 1
	}
	return t.distinct / (t.distinct + t.repeats)
}

// WindowElements returns the largest number of elements in a window. If elements are out
// of order, the longest gap may exceed the clock's count.
func (t *Tracker) WindowElements(gaps Gaps) float64 {
	if t.window.Packets > 0 {
		return float64(t.window.Packets)
	}
	t.peak.finish()
	return max(1, float64(t.peak.highest), gaps.Quantile(1))
}

// windowSlices is the number of slices of a window that peak counts.
const windowSlices = 8

// peak finds the largest number of elements in a window of time. Landmark windows are
// aligned to the clock, others to an eighth of the window. An element that is late by
// less than a window counts in the current slice; an element that is later starts the count again.
// Outliers count once the clock adopts them. Without a window of time peak counts all
// elements.
type peak struct {
	clock   calendar.Clock
	length  int64 // of a slice, 0 without time
	ring    []uint64
	now     int64 // number of the running slice
	started bool
	sum     uint64
	highest uint64
}

func newPeak(window window.Window, landmark bool) peak {
	reach := max(window.Duration, calendar.Tolerance)
	p := peak{
		clock:  calendar.Clock{Ahead: reach, Behind: reach},
		length: int64(window.Duration), ring: make([]uint64, 1),
	}
	if !landmark && p.length >= windowSlices {
		p.length /= windowSlices
		p.ring = make([]uint64, windowSlices)
	}
	return p
}

// add takes the time of an element.
func (p *peak) add(at int64) {
	if p.length == 0 {
		p.sum++
		p.highest = p.sum
		return
	}
	switch verdict, _ := p.clock.Observe(at); verdict {
	case calendar.Believed:
		p.count(at)
	case calendar.Adopted:
		p.countAll(p.clock.Adopted())
	}
}

// finish counts the last elements, which the clock still holds back.
func (p *peak) finish() { p.countAll(p.clock.Quarantine()) }

func (p *peak) countAll(times []int64) {
	for _, at := range times {
		p.count(at)
	}
}

func (p *peak) count(at int64) {
	p.advance(calendar.Index(at, p.length))
	p.ring[p.slot(p.now)]++
	p.sum++
	p.highest = max(p.highest, p.sum)
}

// advance moves to a slice, and removes the slices that leave the window.
func (p *peak) advance(slice int64) {
	if !p.started || calendar.Distance(p.now, slice) >= uint64(len(p.ring)) {
		clear(p.ring)
		p.now, p.sum, p.started = slice, 0, true
		return
	}
	for p.now < slice {
		p.now++
		at := p.slot(p.now)
		p.sum -= p.ring[at]
		p.ring[at] = 0
	}
}

// slot returns the place of a slice in the ring.
func (p *peak) slot(slice int64) int64 { return calendar.Phase(slice, int64(len(p.ring))) }

// maxPause is the longest pause of a stream that the clock accepts at once.
const maxPause = time.Hour

// TimeSpan measures the duration of a stream from its earliest to its latest packet,
// without false times. A clock set by fewer times than a quorum may itself be false, such
// as a clock set by the first packet.
type TimeSpan struct {
	clock       calendar.Clock
	first, last int64 // NoTime before the first packet
}

func NewTimeSpan() TimeSpan {
	return TimeSpan{clock: calendar.Clock{Ahead: maxPause, Behind: maxPause}, first: calendar.NoTime, last: calendar.NoTime}
}

// Add takes the time of the next packet, or NoTime, which counts for nothing.
func (s *TimeSpan) Add(t int64) {
	if t == calendar.NoTime {
		return
	}
	confirmed := s.clock.Count() == calendar.Quorum
	switch verdict, _ := s.clock.Observe(t); verdict {
	case calendar.Believed:
		s.include(t)
	case calendar.Adopted:
		s.adopt(s.clock.Adopted(), confirmed)
	}
}

// Finish decides about the last times, which the clock still holds back: the majority is
// right.
func (s *TimeSpan) Finish() {
	if held, n := s.clock.Quarantine(), s.clock.Count(); len(held) >= n {
		s.adopt(held, len(held) == n)
	}
}

// adopt includes times of a new clock. It drops earlier times unless they are confirmed.
func (s *TimeSpan) adopt(times []int64, confirmed bool) {
	if !confirmed {
		s.first, s.last = calendar.NoTime, calendar.NoTime
	}
	for _, t := range times {
		s.include(t)
	}
}

func (s *TimeSpan) include(t int64) {
	if s.first == calendar.NoTime || t < s.first {
		s.first = t
	}
	s.last = max(s.last, t)
}

// Seconds returns the length of the span.
func (s *TimeSpan) Seconds() float64 {
	if s.last <= s.first {
		return 0
	}
	return float64(s.last)/1e9 - float64(s.first)/1e9
}
