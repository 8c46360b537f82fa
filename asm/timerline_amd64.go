//go:build amd64 && !purego

package asm

func testAndSetTimers(lines [][8]uint64, seen []uint64, digests []Digest, ticks []uint64, r *TimerRule, c *TimerCounts) {
	switch n := len(digests); {
	case level < levelAVX512 || n == 0:
		testAndSetTimersGeneric(lines, seen, digests, ticks, r, c)
	case r.bits == 8:
		testAndSetTimers8AVX512(&lines[0], len(lines), &seen[0], &digests[0], &ticks[0], n, &bitSalts[0], r, c)
	default:
		testAndSetTimers16AVX512(&lines[0], len(lines), &seen[0], &digests[0], &ticks[0], n, &bitSalts[0], r, c)
	}
}

func sweepTimers(lines [][8]uint64, tick uint64, r *TimerRule) (cleared uint64) {
	if level < levelAVX512 || len(lines) == 0 {
		return sweepTimersGeneric(lines, tick, r)
	}
	now := r.stamp(tick)
	if r.bits == 8 {
		return sweepTimers8AVX512(&lines[0], len(lines), now*r.ones, r.oldest(now)*r.ones)
	}
	return sweepTimers16AVX512(&lines[0], len(lines), now*r.ones, r.oldest(now)*r.ones)
}

//go:noescape
func testAndSetTimers8AVX512(lines *[8]uint64, count int, seen *uint64, digests *Digest, ticks *uint64, n int, salts *uint64, r *TimerRule, c *TimerCounts)

//go:noescape
func testAndSetTimers16AVX512(lines *[8]uint64, count int, seen *uint64, digests *Digest, ticks *uint64, n int, salts *uint64, r *TimerRule, c *TimerCounts)

// sweepTimers8AVX512 takes the present stamp and the largest difference of a live
// one to it, both in all timers of a word.
//
//go:noescape
func sweepTimers8AVX512(lines *[8]uint64, count int, now, oldest uint64) (cleared uint64)

//go:noescape
func sweepTimers16AVX512(lines *[8]uint64, count int, now, oldest uint64) (cleared uint64)
