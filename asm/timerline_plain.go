//go:build (!amd64 && !arm64) || purego

package asm

// fillVectors leaves all ticks to its caller.
func (s *timerStamps) fillVectors([]uint64, *TimerRule) (done int) { return 0 }

// fallVectors leaves all ticks to its caller.
func fallVectors([]uint64) (done int, fell bool) { return 0, false }

func testAndSetTimers(lines [][8]uint64, block, ahead *lineBlock, n int, s *timerStamps, r *TimerRule) (found, filled uint64) {
	return testAndSetTimersGeneric(lines, block, ahead, n, s, r)
}

func sweepTimers(lines [][8]uint64, tick uint64, r *TimerRule) (cleared uint64) {
	return sweepTimersGeneric(lines, tick, r)
}
