// SPDX-License-Identifier: Apache-2.0

package sliding

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// observe takes an element whose time may move the clock.
func (s *Rows) observe(m marks, d *digest.Digest, t int64, place int) {
	if !calendar.InRange(t) {
		s.ignored++
		return
	}
	verdict, dropped := s.clock.Observe(t)
	if dropped > 0 {
		s.ignored += uint64(dropped)
		s.quarantine = s.quarantine[:0]
	}
	if verdict == calendar.Believed {
		s.enqueue(m, d, s.advanceTo(m, t), place)
		return
	}
	s.quarantine = append(s.quarantine, datedElement{*d, t})
	if verdict == calendar.Adopted {
		s.flush(m)
		s.adoptClock()
	}
}

// advanceTo makes the step of t current if it is later, and returns it. The clock
// has believed t.
func (s *Rows) advanceTo(m marks, t int64) (step int64) {
	step = calendar.Index(t, s.step)
	switch {
	case !s.started:
		s.start(step)
	case step > s.current:
		s.flush(m) // pending elements came earlier
		s.advance(step)
	}
	return step
}

// start makes step the first step.
func (s *Rows) start(step int64) {
	s.started, s.current, s.currentStart = true, step, step*s.step
	s.levelStep = step
	for i := range s.levels {
		s.levels[i] = uint8(s.level)
	}
}

// adoptClock forgets the elements before the clock was set, and takes from the quarantine
// the elements within a window of the new time.
func (s *Rows) adoptClock() {
	held := s.quarantine
	s.quarantine = s.quarantine[:0]
	s.restartAt(s.clock.Latest())
	for i := range held {
		if t := held[i].time; s.clock.Near(t) {
			s.clock.Pass(t)
			s.enqueue(marks{}, &held[i].digest, s.advanceTo(marks{}, t), 0)
		}
	}
	s.flush(marks{})
}

// restartAt forgets all elements, and makes the step of t the first step.
func (s *Rows) restartAt(t int64) {
	s.empty()
	s.start(calendar.Index(t, s.step))
}

// advance makes a later step current, at most a window ahead.
func (s *Rows) advance(step int64) {
	by := step - s.current
	mask := int64(len(s.counts) - 1)
	if s.level > 0 && !s.rows.Thinning && s.taken < s.growAt()/4 && s.current-s.levelStep > s.steps {
		s.level, s.levelStep = s.level-1, s.current
	}
	for i := s.current + 1; i <= step; i++ {
		s.counts[i&mask], s.levels[i&mask] = 0, uint8(s.level)
		if s.rows.Thinning {
			s.thinned[i&mask] = 0
		}
	}
	s.current, s.currentStart = step, step*s.step
	s.forgetRecent()
	s.sweep(by)
}

// Advance moves the clock to now, which the caller knows to be right. Elements that left
// the window make room for others, and those in quarantine are forgotten. It does nothing
// if now is not later than all elements.
func (s *Rows) Advance(now int64) {
	s.rows.Table.Arena.CheckOpen("sliding: Rows.Advance")
	now = min(now, calendar.Farthest)
	if !s.started || calendar.Index(now, s.step) <= s.current {
		return
	}
	near := s.clock.Near(now)
	s.quarantine = s.quarantine[:0]
	s.clock.Set(now)
	if near {
		s.advanceTo(marks{}, now)
	} else {
		s.restartAt(now)
	}
}
