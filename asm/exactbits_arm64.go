//go:build arm64 && !purego

package asm

// testAndSetExactBits runs a kernel.
func testAndSetExactBits(lines [][8]uint64, seen []uint64, permuted []uint32) {
	if level == levelGeneric || len(permuted) == 0 {
		testAndSetExactBitsGeneric(lines, seen, permuted)
		return
	}
	testAndSetExactBitsARM64(&lines[0], &seen[0], &permuted[0], len(permuted))
}

//go:noescape
func testAndSetExactBitsARM64(lines *[8]uint64, seen *uint64, permuted *uint32, n int)
