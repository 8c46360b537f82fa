// SPDX-License-Identifier: Apache-2.0

package digest

import "encoding/binary"

// polyvalKey evaluates polynomials over GF(2^128) at a secret point H, as POLYVAL does
// (RFC 8452, section 3). An element of the field is a Digest: bit j of word i is the
// coefficient of x^(64i+j). The modulus is x^128 + x^127 + x^126 + x^121 + 1. A product
// of two elements, and so a power, is the RFC's, a*b*x^-128.
type polyvalKey struct {
	// powers has H, H^2 and so on. The kernels know its layout.
	powers [polyvalBlocks]polyvalPower
	// descending has the powers from H^polyvalLongest down to H for the kernels of VAES,
	// and zeros: they read up to four powers at once, also for the last block.
	descending [polyvalLongest + 4]Digest
	// descendingSums has the sum of the words of each of these powers, twice, for the
	// kernel of VAES256.
	descendingSums [polyvalLongest + 4]Digest
}

// polyvalPower is a power of H, and twice the sum of its words: two products of words and
// one of sums make a product of elements (Karatsuba).
type polyvalPower struct{ power, sums Digest }

// polyvalBlocks is the number of blocks that kernels multiply by powers of H before they
// reduce the sum of the products.
const polyvalBlocks = 16

// polyvalLongest is the same for the kernels of VAES. Packets of Ethernet have at most as many.
const polyvalLongest = 96

// newPolyvalKey returns the key for the point h. No place that it reads depends on h.
func newPolyvalKey(h Digest) *polyvalKey {
	k, low, high := new(polyvalKey), h[0], h[1]
	for range 16 {
		h[0], h[1] = overX8(h[0], h[1])
	}
	for i := range polyvalLongest {
		k.descending[polyvalLongest-1-i] = Digest{low, high}
		k.descendingSums[polyvalLongest-1-i] = Digest{low ^ high, low ^ high}
		if i < polyvalBlocks {
			k.powers[i] = polyvalPower{Digest{low, high}, Digest{low ^ high, low ^ high}}
		}
		low, high = polyvalTimes(h, low, high)
	}
	return k
}

// polyvalTimes multiplies by H, of which h is the product with x^-128.
func polyvalTimes(h Digest, low, high uint64) (productLow, productHigh uint64) {
	for range 128 {
		productLow, productHigh = productLow^h[0]&-(low&1), productHigh^h[1]&-(low&1)
		low, high = low>>1|high<<63, high>>1
		h[0], h[1] = polyvalTimesX(h[0], h[1])
	}
	return productLow, productHigh
}

// polyvalTables multiplies by H without instructions for products of polynomials. Table i has the
// product of H and each byte i of an element.
//
// Which entries are read depends on what was read before and on H. A program on the same CPU that
// measures its caches could find H in long observation.
type polyvalTables [16][256]Digest

func newPolyvalTables(h Digest) *polyvalTables {
	t := new(polyvalTables)
	low, high := h[0], h[1]
	for range t {
		low, high = overX8(low, high)
	}
	for i := range t {
		for bit := 1; bit < len(t[i]); bit *= 2 {
			for b := range bit {
				t[i][bit+b] = Digest{t[i][b][0] ^ low, t[i][b][1] ^ high}
			}
			low, high = polyvalTimesX(low, high)
		}
	}
	return t
}

// polyvalTimesX multiplies by x.
func polyvalTimesX(low, high uint64) (uint64, uint64) {
	carry := -(high >> 63)
	return low<<1 ^ carry&1, high<<1 ^ low>>63 ^ carry&(1<<63|1<<62|1<<57)
}

// overX8 divides by x^8. A multiple of the modulus makes the last eight coefficients zero
// before: it moves them up by 121, 126, 127 and 128.
func overX8(low, high uint64) (uint64, uint64) {
	end := low & 0xff
	return low>>8 | high<<56, high>>8 ^ end<<49 ^ end<<54 ^ end<<55 ^ end<<56
}

// times multiplies by H.
func (t *polyvalTables) times(low, high uint64) (productLow, productHigh uint64) {
	for i := range 8 {
		a, b := &t[i][low&0xff], &t[8+i][high&0xff]
		productLow, productHigh = productLow^a[0]^b[0], productHigh^a[1]^b[1]
		low, high = low>>8, high>>8
	}
	return productLow, productHigh
}

// sum returns POLYVAL of p, padded with zeros to whole blocks.
func (t *polyvalTables) sum(p []byte) Digest {
	var low, high uint64
	for ; len(p) >= 16; p = p[16:] {
		low, high = t.times(low^binary.LittleEndian.Uint64(p), high^binary.LittleEndian.Uint64(p[8:]))
	}
	if len(p) > 0 {
		var last [16]byte
		copy(last[:], p)
		low, high = t.times(low^binary.LittleEndian.Uint64(last[:]), high^binary.LittleEndian.Uint64(last[8:]))
	}
	return Digest{low, high}
}
