// SPDX-License-Identifier: Apache-2.0

package window

import (
	"math"
	"slices"

	"github.com/flowdedup/flowdedup/layout"
)

// clockSamples is the number of samples that a medianClock keeps. Up to four of them may
// be wrong.
const clockSamples = 9

// medianClock is the time of a stream: the median of the last samples. Wrong clocks of few
// elements do not move it, and a clock that is set moves it after five samples.
type medianClock struct {
	samples [clockSamples]int64 // a ring
	next    int                 // the place of the next sample
	count   int                 // of samples, up to clockSamples
	rising  int                 // number of last samples that are in order
	now     int64               // or layout.NoTick before the first sample
	taken   uint64              // samples in total
}

// sample takes the time of an element.
func (c *medianClock) sample(t int64) {
	last := c.samples[(c.next+clockSamples-1)%clockSamples]
	if c.count > 0 && t < last {
		c.rising = 0
	}
	c.samples[c.next] = t
	c.next = (c.next + 1) % clockSamples
	c.count = min(c.count+1, clockSamples)
	c.taken++
	c.rising = min(c.rising+1, clockSamples)
	c.setNow()
}

// setNow finds the median. Of samples in order, as nearly all are, it is the middle sample.
func (c *medianClock) setNow() {
	if c.rising >= c.count {
		c.now = c.samples[(c.next+clockSamples-1-c.count/2)%clockSamples]
		return
	}
	sorted := c.sorted()
	c.now = sorted[(c.count-1)/2]
}

// sorted returns the samples in order. Only the first count are in use.
func (c *medianClock) sorted() [clockSamples]int64 {
	sorted := c.samples
	slices.Sort(sorted[:c.count])
	return sorted
}

// latest returns the latest sample that is likely to be right, or layout.NoTick before
// the first: a sample that is ahead of the clock by at most slack and four times the distance
// from the lower quartile of the samples to the clock.
func (c *medianClock) latest(slack int64) int64 {
	if c.count == 0 {
		return layout.NoTick
	}
	sorted := c.sorted()
	middle := (c.count - 1) / 2
	spread := uint64(c.now) - uint64(sorted[middle/2])
	ahead := uint64(slack) + 4*min(spread, math.MaxUint64/8)
	for i := c.count - 1; i > middle; i-- {
		if uint64(sorted[i])-uint64(c.now) <= ahead {
			return sorted[i]
		}
	}
	return c.now
}

// resume takes over saved state. It reports false if no clock can have this state.
func (c *medianClock) resume() bool {
	if c.next < 0 || c.next >= clockSamples || c.count < 0 || c.count > clockSamples || c.rising < 0 || c.rising > clockSamples ||
		c.count < clockSamples && c.next != c.count || c.rising > c.count {
		return false
	}
	c.now = layout.NoTick
	if c.count > 0 {
		c.setNow()
	}
	return true
}
