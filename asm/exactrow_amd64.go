//go:build amd64 && !purego

package asm

// fillExactVectors does what fillExact does for as many words as fit whole vectors, and
// returns how many, counted from the first.
func (b *lineBlock) fillExactVectors(words []uint32, shift uint, g *rowGeometry) (done int) {
	groups := len(words) / 8
	switch {
	case level == levelGeneric || groups == 0:
		return 0
	case level == levelAVX512:
		fillExactAVX512(b, &words[0], groups, shift, g)
	default:
		fillExactAVX2(b, &words[0], 2*groups, shift, g)
	}
	return 8 * groups
}

// fillExact64Vectors does what fillExact64 does for as many digests as fit whole vectors,
// and returns how many, counted from the first.
func (b *lineBlock) fillExact64Vectors(digests []Digest, shift uint) (done int) {
	groups := len(digests) / 8
	switch {
	case level == levelGeneric || groups == 0:
		return 0
	case level == levelAVX512:
		fillExact64AVX512(b, &digests[0], groups, shift)
	default:
		fillExact64AVX2(b, &digests[0], 2*groups, shift)
	}
	return 8 * groups
}

// testAndSetExactBits runs a kernel, the same for all vectors: it needs none.
func testAndSetExactBits(lines [][8]uint64, seen []uint64, permuted []uint32) {
	if level == levelGeneric || len(permuted) == 0 {
		testAndSetExactBitsGeneric(lines, seen, permuted)
		return
	}
	testAndSetExactBitsBMI(&lines[0], &seen[0], &permuted[0], len(permuted))
}

// fillExactAVX512 takes groups of eight words.
//
//go:noescape
func fillExactAVX512(b *lineBlock, words *uint32, groups int, shift uint, geometry *rowGeometry)

// fillExactAVX2 takes groups of four words.
//
//go:noescape
func fillExactAVX2(b *lineBlock, words *uint32, groups int, shift uint, geometry *rowGeometry)

// fillExact64AVX512 takes groups of eight digests.
//
//go:noescape
func fillExact64AVX512(b *lineBlock, digests *Digest, groups int, shift uint)

// fillExact64AVX2 takes groups of four digests.
//
//go:noescape
func fillExact64AVX2(b *lineBlock, digests *Digest, groups int, shift uint)

//go:noescape
func testAndSetExactBitsBMI(lines *[8]uint64, seen *uint64, permuted *uint32, n int)
