package engine

import "github.com/flowdedup/flowdedup/asm"

// slidingHeld is how many elements set the clock.
const slidingHeld = 32

// slidingTimes bounds times, as the years 1824 and 2115 do, so that sums of them and a window fit.
const slidingTimes = 1 << 62

// clock takes an element that time may go on with.
func (s *Sliding) clock(m marks, d *asm.Digest, t int64, place int) {
	if t < -slidingTimes || t > slidingTimes {
		s.ignored++
		return
	}
	step := floorDiv(t, s.step)
	if !s.started {
		s.start(step)
	}
	ahead := step - s.front
	if ahead > s.steps || ahead < -s.steps {
		s.hold(m, d, t)
		return
	}
	if len(s.held) > 0 {
		if s.votes--; s.votes <= 0 {
			s.ignored += uint64(len(s.held))
			s.drop()
		}
	}
	if ahead > 0 {
		s.flush(m) // what waits came before
		s.advance(step)
	}
	s.latest = max(s.latest, t)
	s.enter(m, d, step, place)
}

// floorDiv returns the greatest multiple of by that is not above t, divided by it.
func floorDiv(t, by int64) int64 {
	q := t / by
	if t%by < 0 {
		q--
	}
	return q
}

// start begins time with a step.
func (s *Sliding) start(step int64) {
	s.started, s.front, s.opened, s.latest = true, step, step*s.step, step*s.step
	s.leveled = step
	for i := range s.levels {
		s.levels[i] = uint8(s.level)
	}
}

// hold keeps an element whose time is far from all others. It has no window in common with
// one that is far from its own time.
func (s *Sliding) hold(m marks, d *asm.Digest, t int64) {
	if n := len(s.held); n > 0 && max(t, s.held[n-1].time)-min(t, s.held[n-1].time) > s.window {
		s.drop()
	}
	s.held = append(s.held, slidingElement{*d, t})
	s.votes++
	if len(s.held) == slidingHeld {
		s.flush(m)
		s.believe()
	}
}

// drop forgets the elements that are held.
func (s *Sliding) drop() {
	s.held, s.votes = s.held[:0], 0
}

// believe sets the clock to that of the elements that are held, and enters them. Some may
// be held again, if they are more than a window away from the first.
func (s *Sliding) believe() {
	var held [slidingHeld]slidingElement
	copy(held[:], s.held)
	s.held, s.votes = s.held[:0], 0
	s.empty()
	s.start(floorDiv(held[0].time, s.step))
	for i := range held {
		s.clock(marks{}, &held[i].digest, held[i].time, 0)
	}
	s.flush(marks{})
}

// advance makes a later step the running one, at most a window ahead.
func (s *Sliding) advance(step int64) {
	by := step - s.front
	mask := int64(len(s.counts) - 1)
	if s.level > 0 && !s.rows.thinning && s.taken < s.limit()/4 && s.front-s.leveled > s.steps {
		s.level, s.leveled = s.level-1, s.front
	}
	for i := s.front + 1; i <= step; i++ {
		s.counts[i&mask], s.levels[i&mask] = 0, uint8(s.level)
		if s.rows.thinning {
			s.thinned[i&mask] = 0
		}
	}
	s.front, s.opened = step, step*s.step
	s.forgetRecent()
	s.sweep(by)
}

// Advance tells the counter that time has gone on to now without elements, as the caller
// knows for sure: memory of what left the window is free for others. Clocks that are
// held are forgotten. It does nothing if now is not later than all elements.
func (s *Sliding) Advance(now int64) {
	checkOpen("Sliding.Advance", s.rows.table.arena)
	step := floorDiv(min(now, slidingTimes), s.step)
	if !s.started || step <= s.front {
		return
	}
	s.drop()
	if step-s.front <= s.steps {
		s.advance(step)
		return
	}
	s.empty()
	s.start(step)
}
