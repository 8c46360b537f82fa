//go:build amd64 && !purego

package asm

// topVictims tells whether the kernels of rows that are words want the top bit of the cell
// that a random eviction takes.
func topVictims() bool { return level != levelAVX512 }

// fingerprintVectors does what fingerprint does, if the CPU can: to eight elements at a
// time, or four, the ones behind the last included.
func (b *lineBlock) fingerprintVectors(n int, g *rowGeometry, victims bool) bool {
	switch level {
	case levelGeneric:
		return false
	case levelAVX512:
		fingerprintAVX512(b, (n+7)/8, g, victims)
	default:
		fingerprintAVX2(b, (n+3)/4, g, victims)
	}
	return true
}

// testAndSetBlock runs a kernel.
func testAndSetBlock(lines [][8]uint64, block, ahead *lineBlock, n int, g *rowGeometry, p RowParams) (missed, filled uint64) {
	if level == levelGeneric {
		return testAndSetBlockGeneric(lines, block, ahead, n, g, p)
	}
	vector := level == levelAVX512
	switch {
	case p.Shape == Rows8x8 && vector:
		return words8x8AVX512(&lines[0], block, ahead, n, p.Eviction)
	case p.Shape == Rows8x8:
		return words8x8BMI(&lines[0], block, ahead, n, p.Eviction)
	case p.Shape == Rows4x16 && vector:
		return words4x16AVX512(&lines[0], block, ahead, n, p.Eviction)
	case p.Shape == Rows4x16:
		return words4x16BMI(&lines[0], block, ahead, n, p.Eviction)
	case p.Shape == Lines32x16 && vector:
		return lines32x16AVX512(&lines[0], block, ahead, n, p.Eviction)
	case p.Shape == Lines32x16:
		return lines32x16AVX2(&lines[0], block, ahead, n, p.Eviction)
	case p.Shape == Lines16x32 && vector:
		return lines16x32AVX512(&lines[0], block, ahead, n, p.Eviction)
	case p.Shape == Lines16x32:
		return lines16x32AVX2(&lines[0], block, ahead, n, p.Eviction)
	case vector:
		return lines8x64AVX512(&lines[0], block, ahead, n, p.Eviction)
	default:
		return lines8x64AVX2(&lines[0], block, ahead, n, p.Eviction)
	}
}

//go:noescape
func words8x8BMI(lines *[8]uint64, block, ahead *lineBlock, n int, eviction Eviction) (missed, filled uint64)

//go:noescape
func words4x16BMI(lines *[8]uint64, block, ahead *lineBlock, n int, eviction Eviction) (missed, filled uint64)

//go:noescape
func lines32x16AVX2(lines *[8]uint64, block, ahead *lineBlock, n int, eviction Eviction) (missed, filled uint64)

//go:noescape
func lines16x32AVX2(lines *[8]uint64, block, ahead *lineBlock, n int, eviction Eviction) (missed, filled uint64)

//go:noescape
func lines8x64AVX2(lines *[8]uint64, block, ahead *lineBlock, n int, eviction Eviction) (missed, filled uint64)

//go:noescape
func words4x16AVX512(lines *[8]uint64, block, ahead *lineBlock, n int, eviction Eviction) (missed, filled uint64)

//go:noescape
func words8x8AVX512(lines *[8]uint64, block, ahead *lineBlock, n int, eviction Eviction) (missed, filled uint64)

//go:noescape
func lines32x16AVX512(lines *[8]uint64, block, ahead *lineBlock, n int, eviction Eviction) (missed, filled uint64)

//go:noescape
func lines16x32AVX512(lines *[8]uint64, block, ahead *lineBlock, n int, eviction Eviction) (missed, filled uint64)

//go:noescape
func lines8x64AVX512(lines *[8]uint64, block, ahead *lineBlock, n int, eviction Eviction) (missed, filled uint64)

//go:noescape
func fingerprintAVX2(b *lineBlock, groups int, geometry *rowGeometry, victims bool)

//go:noescape
func fingerprintAVX512(b *lineBlock, groups int, geometry *rowGeometry, victims bool)
