//go:build arm64 && !purego

package asm

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

// testAndSet does what testAndSetGeneric does. It first makes of the words in the block
// what the kernels look for in a line.
func (k *bitLineKernel) testAndSet(block, ahead *lineBlock, n int, inserted uint64) (missed, added uint64) {
	if level == levelGeneric {
		return k.rule.testAndSetGeneric(k.lines, block, ahead, n, inserted)
	}
	lanes := &bitLanesOf[k.rule.k]
	chooseBitsNEON(block, lanes)
	switch k.rule.method {
	case BitsSBF, BitsBSBFSD:
		return clearRunsNEON(&k.lines[0], block, ahead, n, lanes, &k.runs, k.rule.span)
	case BitsRSBF:
		return clearInsertedNEON(&k.lines[0], block, ahead, n, lanes, inserted)
	case BitsBSBF:
		return clearBitsNEON(&k.lines[0], block, ahead, n, lanes)
	default:
		for i, r1 := range block.draw[:n] {
			block.draw[i] = drawNext(r1)
		}
		chooseGatesNEON(block, lanes)
		return clearGatedNEON(&k.lines[0], block, ahead, n, lanes)
	}
}

// choiceOf returns the choice of one byte for all bytes of a lane: a shift looks at
// the lowest one only.
func choiceOf(lane, at int) uint64 { return uint64(lane%2*8+at) * 0x0101010101010101 }

// insertedVectors leaves all elements to its caller: vectors have no product of 64 bits.
func insertedVectors(*lineBlock, int, uint64, []uint32, uint64) (done int, inserted uint64) {
	return 0, 0
}

// chooseBitsNEON makes the bytes of bitLanes of the block's digests and random words,
// and puts them in the place of the former.
//
//go:noescape
func chooseBitsNEON(b *lineBlock, lanes *bitLanes)

// chooseGatesNEON puts in the place of a second random word where the bits are that it
// chooses: a byte of the line and the bit in that byte for each part.
//
//go:noescape
func chooseGatesNEON(b *lineBlock, lanes *bitLanes)

//go:noescape
func clearBitsNEON(lines *[8]uint64, block, ahead *lineBlock, n int, lanes *bitLanes) (missed, added uint64)

//go:noescape
func clearInsertedNEON(lines *[8]uint64, block, ahead *lineBlock, n int, lanes *bitLanes, inserted uint64) (missed, added uint64)

// clearRunsNEON clears the run from one of span bits on.
//
//go:noescape
func clearRunsNEON(lines *[8]uint64, block, ahead *lineBlock, n int, lanes *bitLanes, runs *bitRuns, span uint64) (missed, added uint64)

//go:noescape
func clearGatedNEON(lines *[8]uint64, block, ahead *lineBlock, n int, lanes *bitLanes) (missed, added uint64)
