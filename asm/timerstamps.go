package asm

// timerStamps is what the kernels of timer lines know of the ticks of a block, in all
// timers of a word each. They know its layout.
type timerStamps struct {
	stamp  [64]uint64 // of the element's tick
	oldest [64]uint64 // the largest difference of a live timer to it; see TimerRule.oldest
}

// fill makes the stamps of 1 to 64 ticks.
func (s *timerStamps) fill(ticks []uint64, r *TimerRule) {
	done := s.fillVectors(ticks, r)
	if done == len(ticks) {
		return
	}
	last := ticks[done]
	stamp := r.stamp(last)
	for i, tick := range ticks[done:] {
		if tick != last {
			last, stamp = tick, r.stamp(tick)
		}
		s.stamp[(done+i)&63] = stamp * r.ones
		s.oldest[(done+i)&63] = r.oldest(stamp) * r.ones
	}
}
