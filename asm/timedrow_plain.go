//go:build !amd64 || purego

package asm

func testAndSetTimed(lines [][8]uint64, seen []uint64, digests []Digest, ticks []int64, points []uint32, p *TimedParams, c *TimedCounts) {
	testAndSetTimedGeneric(lines, seen, digests, ticks, points, p, c)
}
