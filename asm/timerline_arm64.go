//go:build arm64 && !purego

package asm

// fillVectors leaves all ticks to its caller: they are mostly those before them, which
// costs it less than remainders on vectors.
func (s *timerStamps) fillVectors([]uint64, *TimerRule) (done int) { return 0 }

// fallVectors leaves all ticks to its caller.
func fallVectors([]uint64) (done int, fell bool) { return 0, false }

// testAndSetTimers runs a kernel; see testAndSetTimersGeneric. Groups of equal timers are
// left to that: they are looked for one timer after the other anyway.
func testAndSetTimers(lines [][8]uint64, block, ahead *lineBlock, n int, s *timerStamps, r *TimerRule) (found, filled uint64) {
	switch {
	case level == levelGeneric || r.equal > 1:
		return testAndSetTimersGeneric(lines, block, ahead, n, s, r)
	case r.bits == 8:
		return timers8NEON(&lines[0], block, ahead, n, s, r)
	default:
		return timers16NEON(&lines[0], block, ahead, n, s, r)
	}
}

func sweepTimers(lines [][8]uint64, tick uint64, r *TimerRule) (cleared uint64) {
	if level == levelGeneric || len(lines) == 0 {
		return sweepTimersGeneric(lines, tick, r)
	}
	stamp := r.stamp(tick)
	now, oldest := stamp*r.ones, r.oldest(stamp)*r.ones
	if r.bits == 8 {
		return sweepTimers8NEON(&lines[0], len(lines), now, oldest)
	}
	return sweepTimers16NEON(&lines[0], len(lines), now, oldest)
}

//go:noescape
func timers8NEON(lines *[8]uint64, block, ahead *lineBlock, n int, s *timerStamps, r *TimerRule) (found, filled uint64)

//go:noescape
func timers16NEON(lines *[8]uint64, block, ahead *lineBlock, n int, s *timerStamps, r *TimerRule) (found, filled uint64)

// sweepTimers8NEON takes the present stamp and the largest difference of a live one to
// it, both in all timers of a word.
//
//go:noescape
func sweepTimers8NEON(lines *[8]uint64, count int, now, oldest uint64) (cleared uint64)

//go:noescape
func sweepTimers16NEON(lines *[8]uint64, count int, now, oldest uint64) (cleared uint64)
