package asm

// timerStamps is what the kernels of timers know of the ticks of a batch, in all
// timers of a word each. They know its layout.
type timerStamps struct {
	stamp  [64]uint64 // of the element's tick
	oldest [64]uint64 // the largest difference of a live timer to it; see TimerRule.oldest
	// tick is that of all 64 stamps if uniform is set.
	tick    uint64
	uniform bool
}

// fill makes the stamps of 1 to 64 ticks, which do not fall. Mostly all of them are
// what those of the last batch were, and nothing is to be done.
func (s *timerStamps) fill(ticks []uint64, r *TimerRule) {
	first, same := ticks[0], ticks[0] == ticks[len(ticks)-1]
	if s.uniform && same && first == s.tick {
		return
	}
	s.tick, s.uniform = first, same && len(ticks) == 64
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

// fall reports whether a tick is less than the one before it.
func fall(ticks []uint64) bool {
	done, fell := fallVectors(ticks)
	for i := done + 1; i < len(ticks); i++ {
		fell = fell || ticks[i] < ticks[i-1]
	}
	return fell
}
