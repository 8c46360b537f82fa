//go:build amd64 && !purego

package asm

import (
	"math"
	"unsafe"
)

// fillVectors does what fill does for as many digests as fit whole vectors, and
// returns how many, counted from the first.
func (b *lineBlock) fillVectors(digests []Digest, lines int, within, position uint64, order []uint32, draws bool) (done int) {
	groups := len(digests) / 8
	switch {
	case level == levelGeneric || groups == 0 || uint64(lines) > math.MaxUint32:
		return 0
	case level == levelAVX512:
		fillBlockAVX512(b, &digests[0], groups, lines, within, position, unsafe.SliceData(order), draws)
	default:
		fillBlockAVX2(b, &digests[0], 2*groups, lines, within, position, unsafe.SliceData(order), draws)
	}
	return 8 * groups
}

// fillBlockAVX512 takes groups of eight digests, for up to 2^32 - 1 lines. Without
// order, positions go up by one.
//
//go:noescape
func fillBlockAVX512(b *lineBlock, digests *Digest, groups, lines int, within, position uint64, order *uint32, draws bool)

// fillBlockAVX2 takes groups of four digests.
//
//go:noescape
func fillBlockAVX2(b *lineBlock, digests *Digest, groups, lines int, within, position uint64, order *uint32, draws bool)
