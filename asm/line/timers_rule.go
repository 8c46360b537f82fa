package line

// TimerRule is TimerParams made ready for TestAndSetTimers. It does not change and may
// be shared.
type TimerRule struct {
	pick   cellPick
	bits   uint64 // of a timer
	period uint64 // 2^bits - 1, after which stamps come again
	window uint64
	k      uint64
	equal  uint64
	ones   uint64 // the lowest bit of every timer of a word
	// set has which timers an element sets that is found, and one that is not: none or
	// all.
	set [2]uint64
}

// NewTimerRule prepares p. Errors wrap ErrParams.
func NewTimerRule(p TimerParams) (*TimerRule, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	r := &TimerRule{
		pick:   newCellPick(512/p.Bits, p.K),
		bits:   uint64(p.Bits),
		period: 1<<p.Bits - 1,
		window: uint64(p.Window),
		k:      uint64(p.K),
		equal:  uint64(p.Equal),
		ones:   ^uint64(0) / (1<<p.Bits - 1),
		set:    [2]uint64{0, ^uint64(0)},
	}
	if p.Refresh {
		r.set[0] = ^uint64(0)
	}
	return r, nil
}

// stamp returns what a timer holds that is set at tick.
func (r *TimerRule) stamp(tick uint64) uint64 { return 1 + tick%r.period }

// oldest returns up to which difference to the stamp now, modulo 2^bits, a timer is
// live that is not zero. Differences are ages as long as stamps have not come
// again between, and one more than that if they have: then now is at most age, and a
// difference of window, which can be either an age of window or one less, is the
// latter.
func (r *TimerRule) oldest(now uint64) uint64 {
	if now < r.window {
		return r.window
	}
	return r.window - 1
}

// sweepWords returns the present stamp and the largest difference of a live one to it, both
// in all timers of a word.
func (r *TimerRule) sweepWords(tick uint64) (now, oldest uint64) {
	stamp := r.stamp(tick)
	return stamp * r.ones, r.oldest(stamp) * r.ones
}

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

// decreasing reports whether a tick is less than the one before it.
func decreasing(ticks []uint64) bool {
	done, fell := decreasingVectors(ticks)
	for i := done + 1; i < len(ticks); i++ {
		fell = fell || ticks[i] < ticks[i-1]
	}
	return fell
}
