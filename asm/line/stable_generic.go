// SPDX-License-Identifier: Apache-2.0

package line

import (
	"math/bits"
)

// testAndSetGeneric looks up the n elements of current. It returns the missed elements,
// shifted in from below, so that the last is bit 0, and the change of the number of
// set bits, modulo 2^64.
func (r *stableRule) testAndSetGeneric(lines [][8]uint64, current, ahead *batch, n int, inserted uint64) (missed, added uint64) {
	if ahead != current {
		touchLines(lines, ahead.offset[:])
	}
	for i := range n {
		line, low := &lines[current.offset[i&63]/64], current.low[i&63]
		miss := r.misses(line, low)
		missed = missed<<1 | miss
		// A branch that is often mispredicted costs less than this work for each
		// element.
		if r.method == StableRSBF {
			miss = inserted >> (i & 63)
		}
		if miss&1 != 0 {
			added -= r.evict(line, current.random[i&63])
			added += r.set(line, low)
		}
	}
	return missed, added
}

// at returns the bit of the line that a word chooses in part j.
func (r *stableRule) at(word uint64, j uint) uint64 {
	return uint64(j)*r.size + word>>(16*j&63)&0xffff*r.size>>16
}

// misses returns 1 if one of an element's bits is clear, else 0.
func (r *stableRule) misses(line *[8]uint64, low uint64) (miss uint64) {
	for j := range r.k {
		at := r.at(low, j)
		miss |= ^line[at/64&7] >> (at & 63)
	}
	return miss & 1
}

// set sets an element's bits and returns how many were clear.
func (r *stableRule) set(line *[8]uint64, low uint64) (added uint64) {
	for j := range r.k {
		at := r.at(low, j)
		added += ^line[at/64&7] >> (at & 63) & 1
		line[at/64&7] |= 1 << (at & 63)
	}
	return added
}

// evict clears the bits that the method chooses and returns how many were set.
func (r *stableRule) evict(line *[8]uint64, r1 uint64) (cleared uint64) {
	switch r.method {
	case StableSBF, StableBSBFSD:
		at, _ := bits.Mul64(r1, r.span)
		return clearRun(line, at, r.run)
	case StableRLBSBF:
		return r.clearByLoad(line, r1)
	}
	for j := range r.k {
		cleared += clearBit(line, r.at(r1, j), 1)
	}
	return cleared
}

// clearByLoad clears the bit of each part that r1 chooses if the bit that r2 chooses is
// set.
func (r *stableRule) clearByLoad(line *[8]uint64, r1 uint64) (cleared uint64) {
	r2 := prngNext(r1)
	for j := range r.k {
		other := r.at(r2, j)
		cleared += clearBit(line, r.at(r1, j), line[other/64&7]>>(other&63)&1)
	}
	return cleared
}

// clearBit clears a bit if really is 1, and returns the number of bits that it cleared.
func clearBit(line *[8]uint64, at, really uint64) (cleared uint64) {
	cleared = line[at/64&7] >> (at & 63) & really
	line[at/64&7] ^= cleared << (at & 63)
	return cleared
}

// clearRun clears the bits of run, which begins at bit at of the line, and returns how
// many were set.
func clearRun(line *[8]uint64, at, run uint64) (cleared uint64) {
	low, high := run<<(at&63), run>>1>>(63-at&63)
	first, second := &line[at/64&7], &line[(at/64+1)&7]
	cleared = uint64(bits.OnesCount64(*first&low) + bits.OnesCount64(*second&high))
	*first &^= low
	*second &^= high
	return cleared
}

// replaced returns a bit for each of n elements of a batch, 1 if StableRSBF replaces at
// its position. Most streams are shorter, so it looks at single elements only where some
// may be that late.
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
// replace. It is the only kernel for them: an element that replaces counts the bits of
// each part of its line, and most elements look seen and do not replace.
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

// replaceBits sets an element's clear bits, and for each of them clears a set bit of the
// same part. It returns the number of parts that had none. Branches on the contents of
// the parts would often be mispredicted.
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

// chooseSet returns one of the set bits of part j, chosen by h of 16 bits, and the number
// of its word in the line. The bit is 0 if there is none.
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

// bitsBetween returns the bits of word w of a line that are among bits first to end-1 of
// the line; the word has some.
func bitsBetween(w, first, end uint64) uint64 {
	low, high := max(first, 64*w)-64*w, min(end, 64*w+64)-64*w
	return ^uint64(0) << (low & 63) & (^uint64(0) >> ((64 - high) & 63))
}
