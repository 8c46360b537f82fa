package asm

import "math/bits"

func testBitsGeneric(lines [][8]uint64, seen []uint64, digests []Digest, rounds int) {
	salts := bitSalts[:8*rounds]
	for base := 0; base < len(digests); base += 64 {
		hits := seen[base/64]
		block := digests[base:min(base+64, len(digests))]
		for i := range block {
			if hits>>i&1 == 0 && holdsBits(bitLine(lines, &block[i]), block[i][0], salts) {
				hits |= 1 << i
			}
		}
		seen[base/64] = hits
	}
}

// holdsBits stops at the first missing bit: in a filter that is worth its
// memory most elements that are not there miss one of the first two.
func holdsBits(line *[8]uint64, low uint64, salts []uint64) bool {
	for s, salt := range salts {
		if line[s%8]>>(low*salt>>58)&1 == 0 {
			return false
		}
	}
	return true
}

func testAndSetBitsGeneric(lines [][8]uint64, seen []uint64, digests []Digest, rounds int) (added uint64) {
	salts := bitSalts[:8*rounds]
	for base := 0; base < len(digests); base += 64 {
		hits := seen[base/64]
		block := digests[base:min(base+64, len(digests))]
		for i := range block {
			if hits>>i&1 != 0 {
				continue
			}
			fresh := setBits(bitLine(lines, &block[i]), block[i][0], salts)
			if fresh == 0 {
				hits |= 1 << i
			}
			added += fresh
		}
		seen[base/64] = hits
	}
	return added
}

// setBits sets an element's bits in its line and returns how many were clear. It
// gathers the bits of a word first: a store for each would wait for the last.
func setBits(line *[8]uint64, low uint64, salts []uint64) (fresh uint64) {
	first := (*[8]uint64)(salts)
	for w := range line {
		mask := uint64(1) << (low * first[w] >> 58)
		for s := w + 8; s < len(salts); s += 8 {
			mask |= 1 << (low * salts[s] >> 58)
		}
		fresh += uint64(bits.OnesCount64(mask &^ line[w]))
		line[w] |= mask
	}
	return fresh
}
