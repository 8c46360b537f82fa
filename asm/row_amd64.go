//go:build amd64 && !purego

package asm

import (
	"unsafe"
)

// locateRows sets what it can of the block's offsets and patterns, and returns how
// many, counted from the first.
func locateRows(b *rowBlock, digests []Digest, g *rowGeometry) (done int) {
	groups := len(digests) / 8
	switch {
	case level == levelGeneric || groups == 0 || g.rows > 1<<32-1:
		return 0
	case level == levelAVX512:
		locateRowsAVX512(b, &digests[0], groups, g)
	default:
		locateRowsAVX2(b, &digests[0], 2*groups, g)
	}
	return 8 * groups
}

// locateVictims does for the cells that random evictions take what locateRows does
// for the rest.
func locateVictims(b *rowBlock, digests []Digest, position uint64, order []uint32, shift int) (done int) {
	groups := len(digests) / 8
	switch {
	case level == levelGeneric || groups == 0:
		return 0
	case level == levelAVX512:
		chooseVictimsAVX512(b, &digests[0], groups, position, unsafe.SliceData(order), shift)
	default:
		chooseVictimsAVX2(b, &digests[0], 2*groups, position, unsafe.SliceData(order), shift)
	}
	return 8 * groups
}

// testAndSetBlock runs a kernel.
func testAndSetBlock(lines [][8]uint64, block, next *rowBlock, n int, g *rowGeometry, p RowParams) (missed, filled uint64) {
	if level == levelGeneric {
		return testAndSetBlockGeneric(lines, block, next, n, g, p)
	}
	vector := level == levelAVX512
	switch {
	case p.Shape == Rows8x8 && vector:
		return words8x8AVX512(&lines[0], block, next, n, p.Eviction)
	case p.Shape == Rows8x8:
		return words8x8BMI(&lines[0], block, next, n, p.Eviction)
	case p.Shape == Rows4x16 && vector:
		return words4x16AVX512(&lines[0], block, next, n, p.Eviction)
	case p.Shape == Rows4x16:
		return words4x16BMI(&lines[0], block, next, n, p.Eviction)
	case p.Shape == Lines32x16 && vector:
		return lines32x16AVX512(&lines[0], block, next, n, p.Eviction)
	case p.Shape == Lines32x16:
		return lines32x16AVX2(&lines[0], block, next, n, p.Eviction)
	case p.Shape == Lines16x32 && vector:
		return lines16x32AVX512(&lines[0], block, next, n, p.Eviction)
	case p.Shape == Lines16x32:
		return lines16x32AVX2(&lines[0], block, next, n, p.Eviction)
	case vector:
		return lines8x64AVX512(&lines[0], block, next, n, p.Eviction)
	default:
		return lines8x64AVX2(&lines[0], block, next, n, p.Eviction)
	}
}

//go:noescape
func chooseVictimsAVX2(block *rowBlock, digests *Digest, groups int, position uint64, order *uint32, shift int)

//go:noescape
func chooseVictimsAVX512(block *rowBlock, digests *Digest, groups int, position uint64, order *uint32, shift int)

//go:noescape
func words8x8BMI(lines *[8]uint64, block, next *rowBlock, n int, eviction Eviction) (missed, filled uint64)

//go:noescape
func words4x16BMI(lines *[8]uint64, block, next *rowBlock, n int, eviction Eviction) (missed, filled uint64)

//go:noescape
func lines32x16AVX2(lines *[8]uint64, block, next *rowBlock, n int, eviction Eviction) (missed, filled uint64)

//go:noescape
func lines16x32AVX2(lines *[8]uint64, block, next *rowBlock, n int, eviction Eviction) (missed, filled uint64)

//go:noescape
func lines8x64AVX2(lines *[8]uint64, block, next *rowBlock, n int, eviction Eviction) (missed, filled uint64)

//go:noescape
func words4x16AVX512(lines *[8]uint64, block, next *rowBlock, n int, eviction Eviction) (missed, filled uint64)

//go:noescape
func words8x8AVX512(lines *[8]uint64, block, next *rowBlock, n int, eviction Eviction) (missed, filled uint64)

//go:noescape
func lines32x16AVX512(lines *[8]uint64, block, next *rowBlock, n int, eviction Eviction) (missed, filled uint64)

//go:noescape
func lines16x32AVX512(lines *[8]uint64, block, next *rowBlock, n int, eviction Eviction) (missed, filled uint64)

//go:noescape
func lines8x64AVX512(lines *[8]uint64, block, next *rowBlock, n int, eviction Eviction) (missed, filled uint64)

//go:noescape
func locateRowsAVX2(block *rowBlock, digests *Digest, groups int, geometry *rowGeometry)

//go:noescape
func locateRowsAVX512(block *rowBlock, digests *Digest, groups int, geometry *rowGeometry)
