//go:build amd64 && !purego

package asm

func testAndSetExact32(lines [][8]uint64, seen []uint64, permuted, spill []uint32) int {
	if level < levelAVX512 || len(permuted) == 0 {
		return testAndSetExact32Generic(lines, seen, permuted, spill)
	}
	shift := int(exactShift(len(lines)))
	return testAndSetExact32AVX512(&lines[0], shift, &seen[0], &permuted[0], len(permuted), &spill[0])
}

func testAndSetExact16(lines [][8]uint64, seen []uint64, permuted, spill []uint32) int {
	if level < levelAVX512 || len(permuted) == 0 {
		return testAndSetExact16Generic(lines, seen, permuted, spill)
	}
	shift := int(exactShift(len(lines)))
	return testAndSetExact16AVX512(&lines[0], shift, &seen[0], &permuted[0], len(permuted), &spill[0])
}

//go:noescape
func testAndSetExact32AVX512(lines *[8]uint64, shift int, seen *uint64, permuted *uint32, n int, spill *uint32) (spilled int)

//go:noescape
func testAndSetExact16AVX512(lines *[8]uint64, shift int, seen *uint64, permuted *uint32, n int, spill *uint32) (spilled int)
