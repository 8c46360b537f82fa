//go:build amd64 && !purego

package asm

import "github.com/klauspost/cpuid/v2"

// The implementations of fingerprint rows on this architecture, from the plainest
// to the fastest.
const (
	rowGeneric = iota
	rowAVX512
)

// rowLevels returns the implementations that the CPU can run, the fastest last.
func rowLevels() []int {
	levels := []int{rowGeneric}
	if cpuid.CPU.Supports(cpuid.AVX512F, cpuid.AVX512DQ, cpuid.AVX512BW, cpuid.AVX512VL, cpuid.BMI1, cpuid.BMI2) {
		levels = append(levels, rowAVX512)
	}
	return levels
}

// locateRows sets what it can of the block's offsets and patterns, and returns how
// many, counted from the first.
func locateRows(b *rowBlock, digests []Digest, g *rowGeometry) (done int) {
	groups := len(digests) / 8
	if rowLevel != rowAVX512 || groups == 0 || g.rows > 1<<32-1 {
		return 0
	}
	locateRowsAVX512(b, &digests[0], groups, g)
	return 8 * groups
}

func testAndSetBlock(lines [][8]uint64, block, next *rowBlock, n int, g *rowGeometry, p RowParams) (found, filled uint64) {
	if rowLevel == rowGeneric {
		return testAndSetBlockGeneric(lines, block, next, n, g, p)
	}
	switch p.Shape {
	case Rows8x8:
		return words8x8BMI(&lines[0], block, next, n, p.Eviction)
	case Rows4x16:
		return words4x16BMI(&lines[0], block, next, n, p.Eviction)
	case Lines32x16:
		return lines32x16AVX512(&lines[0], block, next, n, p.Eviction)
	case Lines16x32:
		return lines16x32AVX512(&lines[0], block, next, n, p.Eviction)
	default:
		return lines8x64AVX512(&lines[0], block, next, n, p.Eviction)
	}
}

//go:noescape
func locateRowsAVX512(block *rowBlock, digests *Digest, groups int, geometry *rowGeometry)

//go:noescape
func words8x8BMI(lines *[8]uint64, block, next *rowBlock, n int, eviction Eviction) (found, filled uint64)

//go:noescape
func words4x16BMI(lines *[8]uint64, block, next *rowBlock, n int, eviction Eviction) (found, filled uint64)

//go:noescape
func lines32x16AVX512(lines *[8]uint64, block, next *rowBlock, n int, eviction Eviction) (found, filled uint64)

//go:noescape
func lines16x32AVX512(lines *[8]uint64, block, next *rowBlock, n int, eviction Eviction) (found, filled uint64)

//go:noescape
func lines8x64AVX512(lines *[8]uint64, block, next *rowBlock, n int, eviction Eviction) (found, filled uint64)
