package asm

import "math/bits"

// bitWalk goes through the elements of a call that are not seen yet, in blocks of up to
// 64, one for each word of seen. As lineWalk it is one block ahead.
type bitWalk struct {
	lines   int
	digests []Digest // behind those of the last block that was made
	seen    []uint64 // of digests
	at      int      // the block that next returns
	size    [2]int
	blocks  [2]lineBlock
	kept    [64]Digest
}

// next returns a block of n elements, 0 to 64, and the one after it, whose lines are to be
// fetched meanwhile. The last block is its own successor.
func (w *bitWalk) next() (block, ahead *lineBlock, n int) {
	at := w.at & 1
	block, ahead, n = &w.blocks[at], &w.blocks[at], w.size[at]
	if len(w.digests) > 0 {
		w.fill(at ^ 1)
		ahead = &w.blocks[at^1]
	}
	w.at ^= 1
	return block, ahead, n
}

// fill makes block at of those of the next 64 elements that are not seen.
func (w *bitWalk) fill(at int) {
	n := min(64, len(w.digests))
	digests, seen := w.digests[:n], w.seen[0]
	w.digests, w.seen = w.digests[n:], w.seen[1:]
	if seen<<(64-n) != 0 {
		digests = w.kept[:keep(&w.kept, digests, seen)]
	}
	w.blocks[at].fill(digests, w.lines, false, 0, nil, false)
	w.size[at] = len(digests)
}

// keep copies those digests whose bit in seen is clear, and returns how many they
// are. It makes no branches.
func keep(kept *[64]Digest, digests []Digest, seen uint64) (n int) {
	for i := range digests {
		kept[n&63] = digests[i]
		n += int(^seen >> (i & 63) & 1)
	}
	return n
}

// takeBits does TestBits, or TestAndSetBits if bits are to be set. Kernels return the
// elements that they miss, shifted in from below, so that the last one is bit 0.
func takeBits(lines [][8]uint64, seen []uint64, digests []Digest, rounds int, set bool) (added uint64) {
	words := (len(digests) + 63) / 64
	if words == 0 {
		return 0
	}
	w := bitWalk{lines: len(lines), digests: digests, seen: seen}
	w.fill(0)
	touchBlock(lines, w.blocks[0].offset[:32])
	for at := range seen[:words] {
		block, ahead, n := w.next()
		if n == 0 {
			continue
		}
		var missed, more uint64
		if set {
			missed, more = testAndSetBits(lines, block, ahead, n, rounds)
		} else {
			missed = testBits(lines, block, ahead, n, rounds)
		}
		added += more
		seen[at] |= spread(^bits.Reverse64(missed)>>(64-n), ^seen[at])
	}
	return added
}

// spread moves the lowest bits of x to where room has its ones, in their order.
func spread(x, room uint64) (moved uint64) {
	if room == ^uint64(0) {
		return x
	}
	return spreadBits(x, room)
}

func spreadBitsGeneric(x, room uint64) (moved uint64) {
	for ; x != 0 && room != 0; room &= room - 1 {
		moved |= room & -room & -(x & 1)
		x >>= 1
	}
	return moved
}
