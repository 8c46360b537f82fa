// SPDX-License-Identifier: Apache-2.0

package sliding

import (
	"math"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/engine/internal/rowtable"
	"github.com/flowdedup/flowdedup/engine/theory"
)

// Count returns the number of elements whose last sighting is within (now-W, now]. It takes
// time in proportion to the steps of the window.
//
// It is exact where now+1 and W are multiples of the step: then Distinct, Low and High are
// equal. Else the oldest step counts in part, Low has none of it and High all. now must not
// be before the latest element: High has all elements that were seen after it, Distinct and
// Low miss them. Low and High bound with 95 % confidence where the rows are a sample.
func (s *Rows) Count(now int64) engine.Counts { return s.countSpan(now, time.Duration(s.window)) }

// countSpan returns the number of elements whose last sighting is within (now-span, now].
// span is cut to W. It takes time in proportion to the steps of the span.
//
// It is exact where now+1 and span are multiples of the step: then Distinct, Low and High
// are equal. Else the oldest step counts in part, Low has none of it and High all. now
// must not be before the latest element. Elements that were seen after it are missing
// from Distinct and Low, as only last sightings are known, and High has all of them.
//
// Where the rows are a sample, Low and High bound the number with 95 % confidence, by the
// normal approximation of samples of one in 2^level. False positives, n/2^58 of n
// elements, are added as in distinct.DigestRows.
func (s *Rows) countSpan(now int64, span time.Duration) engine.Counts {
	s.rows.Table.Arena.CheckOpen("sliding: Rows.Count")
	c := engine.Counts{MemoryBytes: s.rows.Bytes() + 5*len(s.counts), FPR: math.Ldexp(s.live(), -58), Method: "sliding-rows"}
	now = max(-calendar.Farthest, min(now, calendar.Farthest))
	from := now - max(0, min(int64(span), s.window)) + 1 // the first instant of the span
	var sum rowtable.SampleSum
	s.sum(&sum, from, now)
	held := s.quarantinedWithin(from, now)
	sum.Add(held, 0, 1, 1)
	missed := sum.Mean * c.FPR / 2
	low, high := sum.Bounds()
	c.Distinct = uint64(math.Round(sum.Mean + missed))
	c.Low = min(low, c.Distinct)
	c.High = max(high+theory.PoissonQuantile(0.95, missed), c.Distinct)
	return c
}

// live returns the number of remembered elements that are no older than the window.
func (s *Rows) live() (sum float64) {
	for age := range s.steps + 1 {
		slot := (s.current - age) & int64(len(s.counts)-1)
		sum += float64(s.counts[slot])
		if s.rows.Thinning {
			sum += float64(s.thinned[slot])
		}
	}
	return sum
}

// sum adds up the steps of a span.
func (s *Rows) sum(a *rowtable.SampleSum, from, to int64) {
	if !s.started {
		return
	}
	mask := int64(len(s.counts) - 1)
	for step := max(calendar.Index(from, s.step), s.current-s.steps); step <= s.current; step++ {
		share, least := s.share(step, from, to)
		level := s.levels[step&mask]
		a.Add(uint64(s.counts[step&mask]), level, share, least)
		if s.rows.Thinning {
			a.Add(uint64(s.thinned[step&mask]), max(level, uint8(s.level+1)), share, least)
		}
	}
}

// share returns the part of a step that the instants from from to to cover. least is 1 if
// they certainly cover all sightings in it, else 0.
func (s *Rows) share(step, from, to int64) (share, least float64) {
	first := step * s.step
	last := first + s.step - 1
	if step == s.current && to >= s.clock.Latest() {
		to = max(to, last)
	}
	if first >= from && last <= to {
		return 1, 1
	}
	covered := min(last, to) - max(first, from) + 1
	return float64(max(0, covered)) / float64(s.step), 0
}

// quarantinedWithin counts the distinct elements in quarantine that were seen in a span.
func (s *Rows) quarantinedWithin(from, to int64) (count uint64) {
	var known [calendar.Quorum]digest.Digest
	for i := range s.quarantine {
		if t := s.quarantine[i].time; t < from || t > to {
			continue
		}
		known[count] = s.quarantine[i].digest
		count++
		for k := range count - 1 {
			if known[k] == s.quarantine[i].digest {
				count--
				break
			}
		}
	}
	return count
}
