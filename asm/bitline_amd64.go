//go:build amd64 && !purego

package asm

import "unsafe"

// bitLineKernel is what a call knows of its lines.
type bitLineKernel struct {
	rule  bitLineRule
	lines [][8]uint64
	runs  bitRuns
}

func newBitLineKernel(p BitLineParams, lines [][8]uint64) (k bitLineKernel) {
	k.rule, k.lines = newBitLineRule(p, len(lines)), lines
	k.runs.fill(k.rule.run)
	return k
}

// testAndSet does what testAndSetGeneric does.
func (k *bitLineKernel) testAndSet(block, ahead *lineBlock, n int, inserted uint64) (missed, added uint64) {
	switch level {
	case levelGeneric:
		return k.rule.testAndSetGeneric(k.lines, block, ahead, n, inserted)
	case levelAVX2:
		return k.testAndSetAVX2(block, ahead, n, inserted)
	}
	return k.testAndSetAVX512(block, ahead, n, inserted)
}

// testAndSetAVX512 first makes of the words in the block what the kernels look for in a
// line.
func (k *bitLineKernel) testAndSetAVX512(block, ahead *lineBlock, n int, inserted uint64) (missed, added uint64) {
	lanes := &bitLanesOf[k.rule.k]
	switch k.rule.method {
	case BitsSBF, BitsBSBFSD:
		chooseRunsAVX512(block, lanes, k.rule.span)
		return clearRunsAVX512(&k.lines[0], block, ahead, n, lanes, &k.runs)
	case BitsRSBF:
		chooseBitsAVX512(block, lanes)
		return clearInsertedAVX512(&k.lines[0], block, ahead, n, lanes, inserted)
	case BitsBSBF:
		chooseBitsAVX512(block, lanes)
		return clearBitsAVX512(&k.lines[0], block, ahead, n, lanes)
	default:
		chooseGatesAVX512(block, lanes)
		return clearGatedAVX512(&k.lines[0], block, ahead, n, lanes)
	}
}

// testAndSetAVX2 does what testAndSetAVX512 does.
func (k *bitLineKernel) testAndSetAVX2(block, ahead *lineBlock, n int, inserted uint64) (missed, added uint64) {
	lanes := &bitLanesOf[k.rule.k]
	switch k.rule.method {
	case BitsSBF, BitsBSBFSD:
		chooseRunsAVX2(block, lanes, k.rule.span)
		return clearRunsAVX2(&k.lines[0], block, ahead, n, lanes, &k.runs)
	case BitsRSBF:
		chooseBitsAVX2(block, lanes)
		return clearInsertedAVX2(&k.lines[0], block, ahead, n, lanes, inserted)
	case BitsBSBF:
		chooseBitsAVX2(block, lanes)
		return clearBitsAVX2(&k.lines[0], block, ahead, n, lanes)
	default:
		chooseGatesAVX2(block, lanes)
		return clearGatedAVX2(&k.lines[0], block, ahead, n, lanes)
	}
}

// choiceOf returns the choice of bytes that extends one byte of a lane to the whole
// lane.
func choiceOf(lane, at int) uint64 {
	const zeros = 0x8080808080808000
	return zeros | uint64(lane%2*8+at)
}

// insertedVectors does what inserted does for as many elements as fit whole vectors,
// and returns how many, counted from the first.
func insertedVectors(b *lineBlock, n int, position uint64, order []uint32, all uint64) (done int, inserted uint64) {
	groups := n / 8
	switch {
	case level == levelGeneric || groups == 0:
		return 0, 0
	case level == levelAVX2:
		return 8 * groups, insertedAVX2(b, 2*groups, position, unsafe.SliceData(order), all)
	}
	return 8 * groups, insertedAVX512(b, groups, position, unsafe.SliceData(order), all)
}

// chooseBitsAVX512 makes the bytes of bitLanes of the block's digests and random words,
// and puts them in the place of the former.
//
//go:noescape
func chooseBitsAVX512(b *lineBlock, lanes *bitLanes)

// chooseGatesAVX512 does so too, and puts in the place of a random word where the bits
// are that the second one chooses: the number in its lane and its lane for each part.
//
//go:noescape
func chooseGatesAVX512(b *lineBlock, lanes *bitLanes)

// chooseRunsAVX512 does as chooseBitsAVX512 does, and puts in the place of a random
// word where the run from one of span bits on is in bitRuns.
//
//go:noescape
func chooseRunsAVX512(b *lineBlock, lanes *bitLanes, span uint64)

// insertedAVX512 takes groups of eight elements.
//
//go:noescape
func insertedAVX512(b *lineBlock, groups int, position uint64, order *uint32, all uint64) (inserted uint64)

//go:noescape
func clearBitsAVX512(lines *[8]uint64, block, ahead *lineBlock, n int, lanes *bitLanes) (missed, added uint64)

//go:noescape
func clearInsertedAVX512(lines *[8]uint64, block, ahead *lineBlock, n int, lanes *bitLanes, inserted uint64) (missed, added uint64)

//go:noescape
func clearRunsAVX512(lines *[8]uint64, block, ahead *lineBlock, n int, lanes *bitLanes, runs *bitRuns) (missed, added uint64)

//go:noescape
func clearGatedAVX512(lines *[8]uint64, block, ahead *lineBlock, n int, lanes *bitLanes) (missed, added uint64)

// The AVX2 kernels do the same, four elements at a time.

//go:noescape
func chooseBitsAVX2(b *lineBlock, lanes *bitLanes)

//go:noescape
func chooseGatesAVX2(b *lineBlock, lanes *bitLanes)

//go:noescape
func chooseRunsAVX2(b *lineBlock, lanes *bitLanes, span uint64)

// insertedAVX2 takes groups of four elements.
//
//go:noescape
func insertedAVX2(b *lineBlock, groups int, position uint64, order *uint32, all uint64) (inserted uint64)

//go:noescape
func clearBitsAVX2(lines *[8]uint64, block, ahead *lineBlock, n int, lanes *bitLanes) (missed, added uint64)

//go:noescape
func clearInsertedAVX2(lines *[8]uint64, block, ahead *lineBlock, n int, lanes *bitLanes, inserted uint64) (missed, added uint64)

//go:noescape
func clearRunsAVX2(lines *[8]uint64, block, ahead *lineBlock, n int, lanes *bitLanes, runs *bitRuns) (missed, added uint64)

//go:noescape
func clearGatedAVX2(lines *[8]uint64, block, ahead *lineBlock, n int, lanes *bitLanes) (missed, added uint64)
