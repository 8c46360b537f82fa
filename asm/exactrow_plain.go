//go:build !amd64 || purego

package asm

func testAndSetExact32(lines [][8]uint64, seen []uint64, permuted, spill []uint32) int {
	return testAndSetExact32Generic(lines, seen, permuted, spill)
}

func testAndSetExact16(lines [][8]uint64, seen []uint64, permuted, spill []uint32) int {
	return testAndSetExact16Generic(lines, seen, permuted, spill)
}
