//go:build amd64 && !purego

package asm

// fillVectors does what fill does for as many ticks as fit whole vectors, and returns
// how many, counted from the first.
func (s *timerStamps) fillVectors(ticks []uint64, r *TimerRule) (done int) {
	groups := len(ticks) / 8
	switch {
	case level == levelGeneric || groups == 0:
		return 0
	case level == levelAVX512 && r.bits == 8:
		stamps8AVX512(s, &ticks[0], groups, r.window)
	case level == levelAVX512:
		stamps16AVX512(s, &ticks[0], groups, r.window)
	case r.bits == 8:
		stamps8AVX2(s, &ticks[0], 2*groups, r.window)
	default:
		stamps16AVX2(s, &ticks[0], 2*groups, r.window)
	}
	return 8 * groups
}

// fallVectors does what fall does for the first ticks, each with the one after it, and
// returns how many.
func fallVectors(ticks []uint64) (done int, fell bool) {
	groups := (len(ticks) - 1) / 8
	switch {
	case level == levelGeneric || groups < 1:
		return 0, false
	case level == levelAVX512:
		fell = fallAVX512(&ticks[0], groups)
	default:
		fell = fallAVX2(&ticks[0], 2*groups)
	}
	return 8 * groups, fell
}

// testAndSetTimers runs a kernel; see testAndSetTimersGeneric.
func testAndSetTimers(lines [][8]uint64, block, ahead *lineBlock, n int, s *timerStamps, r *TimerRule) (found, filled uint64) {
	switch {
	case level == levelGeneric:
		return testAndSetTimersGeneric(lines, block, ahead, n, s, r)
	case level == levelAVX512 && r.bits == 8:
		return timers8AVX512(&lines[0], block, ahead, n, s, r)
	case level == levelAVX512:
		return timers16AVX512(&lines[0], block, ahead, n, s, r)
	case r.bits == 8:
		return timers8AVX2(&lines[0], block, ahead, n, s, r)
	default:
		return timers16AVX2(&lines[0], block, ahead, n, s, r)
	}
}

func sweepTimers(lines [][8]uint64, tick uint64, r *TimerRule) (cleared uint64) {
	if level == levelGeneric || len(lines) == 0 {
		return sweepTimersGeneric(lines, tick, r)
	}
	stamp := r.stamp(tick)
	now, oldest := stamp*r.ones, r.oldest(stamp)*r.ones
	switch {
	case level == levelAVX512 && r.bits == 8:
		return sweepTimers8AVX512(&lines[0], len(lines), now, oldest)
	case level == levelAVX512:
		return sweepTimers16AVX512(&lines[0], len(lines), now, oldest)
	case r.bits == 8:
		return sweepTimers8AVX2(&lines[0], len(lines), now, oldest)
	default:
		return sweepTimers16AVX2(&lines[0], len(lines), now, oldest)
	}
}

// stamps8AVX512 takes groups of eight ticks, stamps8AVX2 of four.
//
//go:noescape
func stamps8AVX512(s *timerStamps, ticks *uint64, groups int, window uint64)

//go:noescape
func stamps16AVX512(s *timerStamps, ticks *uint64, groups int, window uint64)

//go:noescape
func stamps8AVX2(s *timerStamps, ticks *uint64, groups int, window uint64)

//go:noescape
func stamps16AVX2(s *timerStamps, ticks *uint64, groups int, window uint64)

// fallAVX512 reports whether one of groups of eight ticks is greater than the tick
// after it, fallAVX2 of four.
//
//go:noescape
func fallAVX512(ticks *uint64, groups int) (fell bool)

//go:noescape
func fallAVX2(ticks *uint64, groups int) (fell bool)

//go:noescape
func timers8AVX512(lines *[8]uint64, block, ahead *lineBlock, n int, s *timerStamps, r *TimerRule) (found, filled uint64)

//go:noescape
func timers16AVX512(lines *[8]uint64, block, ahead *lineBlock, n int, s *timerStamps, r *TimerRule) (found, filled uint64)

//go:noescape
func timers8AVX2(lines *[8]uint64, block, ahead *lineBlock, n int, s *timerStamps, r *TimerRule) (found, filled uint64)

//go:noescape
func timers16AVX2(lines *[8]uint64, block, ahead *lineBlock, n int, s *timerStamps, r *TimerRule) (found, filled uint64)

// sweepTimers8AVX512 takes the present stamp and the largest difference of a live
// one to it, both in all timers of a word.
//
//go:noescape
func sweepTimers8AVX512(lines *[8]uint64, count int, now, oldest uint64) (cleared uint64)

//go:noescape
func sweepTimers16AVX512(lines *[8]uint64, count int, now, oldest uint64) (cleared uint64)

//go:noescape
func sweepTimers8AVX2(lines *[8]uint64, count int, now, oldest uint64) (cleared uint64)

//go:noescape
func sweepTimers16AVX2(lines *[8]uint64, count int, now, oldest uint64) (cleared uint64)
