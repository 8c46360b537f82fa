//go:build !amd64 || purego

package asm

func testBits(lines [][8]uint64, seen []uint64, digests []Digest, rounds int) {
	testBitsGeneric(lines, seen, digests, rounds)
}

func testAndSetBits(lines [][8]uint64, seen []uint64, digests []Digest, rounds int) (added uint64) {
	return testAndSetBitsGeneric(lines, seen, digests, rounds)
}
