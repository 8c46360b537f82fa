package asm

// The multipliers of draw: 2^64 divided by the golden ratio, and that of Jon
// Maiga's mixer mx3.
const (
	drawStep = 0x9e3779b97f4a7c15
	drawMix  = 0xbea225f9eb34556d
)

// draw returns the random word r1 of an element: two rounds of multiplication and
// shift, which mx3 begins with, over the low half of its digest, digest[0], and its
// position in the stream:
//
//	x  = low ^ position * 0x9e3779b97f4a7c15
//	x  = (x ^ x>>32) * 0xbea225f9eb34556d
//	x  = (x ^ x>>29) * 0xbea225f9eb34556d
//	r1 = x ^ x>>32
//	r2 = r1 * 0xbea225f9eb34556d, r2 = r2 ^ r2>>29
//
// all modulo 2^64. All that filters leave to chance comes of it, so it depends on
// the stream alone: not on how it is cut into calls, nor on who takes an element,
// nor on the machine.
func draw(low, position uint64) uint64 {
	x := low ^ position*drawStep
	x = (x ^ x>>32) * drawMix
	x = (x ^ x>>29) * drawMix
	return x ^ x>>32
}

// drawNext returns r2 from r1: the third and last round of mx3.
func drawNext(r1 uint64) uint64 {
	x := r1 * drawMix
	return x ^ x>>29
}
