// SPDX-License-Identifier: Apache-2.0

package line

import (
	"github.com/flowdedup/flowdedup/layout"
	"math/bits"
)

// testAndSetTimerBatchGeneric looks up the n elements of current. It returns the elements
// found, shifted in from below, so that the last is bit 0, and the number of timers
// set that were 0.
func testAndSetTimerBatchGeneric(lines []layout.Line, current, ahead *batch, n int, s *timerStamps, r *TimerRule) (found, filled uint64) {
	touchLines(lines, ahead.offset[:])
	for i := range n {
		seen, more := r.testAndSet(&lines[current.offset[i]/64], current.low[i], s.stamp[i]&r.period, s.oldest[i]&r.period)
		found <<= 1
		if seen {
			found |= 1
		}
		filled += more
	}
	return found, filled
}

// testAndSet looks up one element, whose stamp is now.
func (r *TimerRule) testAndSet(line *[8]uint64, pick, now, oldest uint64) (seen bool, filled uint64) {
	const tops = 0x8080808080808080 // which cellNone has
	var timers [layout.MaxCellK]uint64
	j, empty := 0, uint64(0)
	seen = true
	for rest := ^pick & tops; rest != 0; rest &= rest - 1 {
		e := bits.TrailingZeros64(rest) >> 3
		timer := line[e&7] >> (pick >> (8 * e) * r.bits & 63) & r.period
		if timer == 0 {
			empty++
		}
		seen = seen && timer != 0 && (now-timer)&r.period <= oldest
		timers[j&7] = timer
		j++
	}
	set := r.set[0]
	seen = seen && (r.equal < 2 || largestGroup(timers[:j]) >= r.equal)
	if !seen {
		set, filled = r.set[1], empty
	}
	for rest := ^pick & tops & set; rest != 0; rest &= rest - 1 {
		e := bits.TrailingZeros64(rest) >> 3
		shift := pick >> (8 * e) * r.bits & 63
		line[e&7] = line[e&7]&^(r.period<<shift) | now<<shift
	}
	return seen, filled
}

// largestGroup returns the size of the largest group of equal timers.
func largestGroup(timers []uint64) (largest uint64) {
	for i, a := range timers {
		equal := uint64(1)
		for _, b := range timers[i+1:] {
			if a == b {
				equal++
			}
		}
		largest = max(largest, equal)
	}
	return largest
}

// sweepTimersGeneric returns the number of timers it clears.
func sweepTimersGeneric(lines []layout.Line, tick uint64, r *TimerRule) (cleared uint64) {
	now := r.stamp(tick)
	oldest := r.oldest(now)
	for i := range lines {
		line := &lines[i]
		for w, word := range line {
			if word == 0 {
				continue
			}
			for shift := uint64(0); shift < 64; shift += r.bits {
				timer := word >> shift & r.period
				if timer != 0 && (now-timer)&r.period > oldest {
					word &^= r.period << shift
					cleared++
				}
			}
			line[w] = word
		}
	}
	return cleared
}
