package paper

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"math/bits"
)

// BitVector is the exact solution of paper "Duplicate Detection in Click Streams"
// (Metwally, Agrawal, El Abbadi, WWW 2005), section 4, Figure 2: one bit for every
// element of the alphabet. It makes no error and takes 2^b bits for IDs of b bits,
// so it ends where IDs are long: the paper's clicks would need 2^512.
//
// Readings taken: the ID is the low b bits of the digest, whose low half is d[0], as
// no other part of [Filter] carries one. So elements that are numbers below 2^b are
// to be given as digest.Digest{element, 0}; of hashed ones those are taken for the same
// that agree in b bits. The bits are kept for one landmark window, to which section 4
// limits itself.
type BitVector struct {
	flags  cells
	idBits int // b
}

var _ Filter = (*BitVector)(nil)

// NewBitVector returns an empty vector for IDs of idBits bits, from 1 to 38 (30 where
// an int has 32 bits). Errors wrap [ErrParameter].
func NewBitVector(idBits int) (*BitVector, error) {
	most := bits.Len(maxBits) - 1
	if err := requireRange("ID bits", idBits, 1, most); err != nil {
		return nil, err
	}
	return &BitVector{flags: newCells(1<<idBits, 1), idBits: idBits}, nil
}

// TestAndSet implements [Filter].
func (v *BitVector) TestAndSet(d digest.Digest) (seen bool) {
	i := substring(d, 0, v.idBits)
	seen = v.flags.get(i) == 1
	v.flags.put(i, 1)
	return seen
}

// Bits implements [Filter].
func (v *BitVector) Bits() int { return 1 << v.idBits }
