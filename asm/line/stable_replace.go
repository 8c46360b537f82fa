// SPDX-License-Identifier: Apache-2.0

package line

import "math/bits"

// replaced returns a bit for each of n elements of a batch from whose position on
// StableRSBF replaces. Most streams are shorter, so it looks at single elements only
// where some may be that late.
func (r *stableRule) replaced(n int, position uint64) (replaced uint64) {
	last := position + uint64(n-1)
	if r.replace == 0 || position <= last && last < r.replace {
		return 0
	}
	for i := range n {
		_, early := bits.Sub64(position+uint64(i), r.replace, 0)
		replaced |= (early ^ 1) << (i & 63)
	}
	return replaced
}

// testAndSetReplacing is testAndSetGeneric for batches of StableRSBF with elements that
// replace. It is the only kernel of these: an element that replaces counts the bits of
// each part of its line, and most elements look seen and do not.
func (r *stableRule) testAndSetReplacing(lines [][8]uint64, current, ahead *batch, n int, inserted, replaced uint64) (missed, added uint64) {
	if ahead != current {
		touchLines(lines, ahead.offset[:])
	}
	for i := range n {
		line, low, r1 := &lines[current.offset[i&63]/64], current.low[i&63], current.random[i&63]
		miss := r.misses(line, low)
		missed = missed<<1 | miss
		switch bit := uint64(1) << (i & 63); {
		case replaced&bit != 0 && miss != 0:
			added += r.replaceBits(line, low, r1)
		case inserted&bit&^replaced != 0:
			added -= r.evict(line, r1)
			added += r.set(line, low)
		}
	}
	return missed, added
}

// replaceBits sets an element's clear bits, and clears for each one that is set in the
// same part. It returns how many of the parts had none. Branches on what the parts hold
// would often be mispredicted.
func (r *stableRule) replaceBits(line *[8]uint64, low, r1 uint64) (added uint64) {
	for j := range r.k {
		at := r.at(low, j)
		clear := ^line[at/64&7] >> (at & 63) & 1
		word, bit := r.chooseSet(line, r1>>(16*j&63)&0xffff, j)
		line[word&7] ^= bit & -clear
		line[at/64&7] |= 1 << (at & 63)
		_, none := bits.Sub64(bit, 1, 0)
		added += none & clear
	}
	return added
}

// chooseSet returns one of the bits of part j that are set, which h of 16 bits chooses, and
// the number of its word in the line. The bit is 0 if there is none.
func (r *stableRule) chooseSet(line *[8]uint64, h uint64, j uint) (word, bit uint64) {
	first, end := uint64(j)*r.size, uint64(j+1)*r.size
	var upto [8]uint64 // bits that are set up to the end of a word
	ones := uint64(0)
	for w := first / 64; 64*w < end; w++ {
		ones += uint64(bits.OnesCount64(line[w&7] & bitsBetween(w, first, end)))
		upto[w&7] = ones
	}
	rank, below := h*ones>>16, uint64(0)
	word = first / 64
	for w := first / 64; 64*w < end-64; w++ { // all but the last
		_, before := bits.Sub64(rank, upto[w&7], 0)
		word += 1 - before
		below += (upto[w&7] - below) & (before - 1)
	}
	return word, spreadBits(1<<((rank-below)&63), line[word&7]&bitsBetween(word, first, end))
}

// bitsBetween returns the bits of word w of a line that are bits first to end-1 of the
// line, of which the word has some.
func bitsBetween(w, first, end uint64) uint64 {
	low, high := max(first, 64*w)-64*w, min(end, 64*w+64)-64*w
	return ^uint64(0) << (low & 63) & (^uint64(0) >> ((64 - high) & 63))
}
