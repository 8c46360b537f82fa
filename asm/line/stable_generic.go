// SPDX-License-Identifier: Apache-2.0

package line

import "math/bits"

// testAndSetGeneric looks up the n elements of current. It returns those that it misses,
// shifted in from below, so that the last one is bit 0, and the change of the number of
// bits that are set, modulo 2^64.
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

// clearByLoad clears the bit of each part that r1 chooses if the one that r2 chooses is
// set.
func (r *stableRule) clearByLoad(line *[8]uint64, r1 uint64) (cleared uint64) {
	r2 := prngNext(r1)
	for j := range r.k {
		other := r.at(r2, j)
		cleared += clearBit(line, r.at(r1, j), line[other/64&7]>>(other&63)&1)
	}
	return cleared
}

// clearBit clears a bit if really is 1, and returns how many bits were set and are not
// any more.
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
