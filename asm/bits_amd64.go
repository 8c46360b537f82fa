//go:build amd64 && !purego

package asm

func testBits(lines [][8]uint64, seen []uint64, digests []Digest, rounds int) {
	if level < levelAVX512 || len(digests) == 0 {
		testBitsGeneric(lines, seen, digests, rounds)
		return
	}
	testBitsAVX512(&lines[0], len(lines), &seen[0], &digests[0], len(digests), &bitSalts[0], rounds)
}

func testAndSetBits(lines [][8]uint64, seen []uint64, digests []Digest, rounds int) (added uint64) {
	if level < levelAVX512 || len(digests) == 0 {
		return testAndSetBitsGeneric(lines, seen, digests, rounds)
	}
	return testAndSetBitsAVX512(&lines[0], len(lines), &seen[0], &digests[0], len(digests), &bitSalts[0], rounds)
}

//go:noescape
func testBitsAVX512(lines *[8]uint64, count int, seen *uint64, digests *Digest, n int, salts *uint64, rounds int)

//go:noescape
func testAndSetBitsAVX512(lines *[8]uint64, count int, seen *uint64, digests *Digest, n int, salts *uint64, rounds int) (added uint64)
