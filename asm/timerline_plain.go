//go:build !amd64 || purego

package asm

func testAndSetTimers(lines [][8]uint64, seen []uint64, digests []Digest, ticks []uint64, r *TimerRule, c *TimerCounts) {
	testAndSetTimersGeneric(lines, seen, digests, ticks, r, c)
}

func sweepTimers(lines [][8]uint64, tick uint64, r *TimerRule) (cleared uint64) {
	return sweepTimersGeneric(lines, tick, r)
}
