//go:build (!amd64 && !arm64) || purego

package asm

// bitLineKernel is what a call knows of its lines.
type bitLineKernel struct {
	rule  bitLineRule
	lines [][8]uint64
}

func newBitLineKernel(p BitLineParams, lines [][8]uint64) bitLineKernel {
	return bitLineKernel{newBitLineRule(p, len(lines)), lines}
}

func (k *bitLineKernel) testAndSet(block, ahead *lineBlock, n int, inserted uint64) (missed, added uint64) {
	return k.rule.testAndSetGeneric(k.lines, block, ahead, n, inserted)
}

// insertedVectors leaves all elements to its caller.
func insertedVectors(*lineBlock, int, uint64, []uint32, uint64) (done int, inserted uint64) {
	return 0, 0
}
