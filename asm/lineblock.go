package asm

import "math/bits"

// lineBlock is what the kernels of lines know of up to 64 elements. It is made for
// all of them before the first one is looked up, so that this work can be done on
// vectors. The kernels in assembly know its layout.
type lineBlock struct {
	offset [64]uint64 // of the element's line, or its word, in bytes from the first line
	low    [64]uint64 // the low half of its digest
	draw   [64]uint64 // its random word (see draw), if the kernel wants one
}

// lineWalk goes through the elements of a call, 64 at a time, and is always one
// block ahead: a kernel fetches the lines of the block after the one that it works
// on. It does not allocate.
type lineWalk struct {
	words    bool // offsets are of words, not of lines; set before begin
	lines    int
	digests  []Digest // behind those of the last block that was made
	position uint64   // of digests[0]
	order    []uint32
	draws    bool
	at       int // the block that next returns
	size     [2]int
	blocks   [2]lineBlock
}

// begin makes the first block. Element i has the position position + i, or position
// + order[i] if order is not nil. Without draws neither is read.
func (w *lineWalk) begin(lines [][8]uint64, digests []Digest, position uint64, order []uint32, draws bool) {
	w.lines, w.digests, w.position, w.order, w.draws, w.at = len(lines), digests, position, order, draws, 0
	w.fill(0)
	touchBlock(lines, w.blocks[0].offset[:32])
}

// next returns a block of n elements, 1 to 64, and the one after it, whose lines are to be
// fetched meanwhile. The last block is its own successor.
func (w *lineWalk) next() (block, ahead *lineBlock, n int) {
	at := w.at & 1
	block, ahead, n = &w.blocks[at], &w.blocks[at], w.size[at]
	if len(w.digests) > 0 {
		w.fill(at ^ 1)
		ahead = &w.blocks[at^1]
	}
	w.at ^= 1
	return block, ahead, n
}

// fill makes block at of the next elements.
func (w *lineWalk) fill(at int) {
	n := min(64, len(w.digests))
	w.blocks[at].fill(w.digests[:n], w.lines, w.words, w.position, w.order, w.draws)
	w.size[at] = n
	w.digests = w.digests[n:]
	if w.order == nil {
		w.position += uint64(n)
	} else if w.draws {
		w.order = w.order[n:]
	}
}

// fill makes the block of 1 to 64 digests. With words, an element has one of the words
// of all lines, else a line: the first bits of the product that chooses the line.
func (b *lineBlock) fill(digests []Digest, lines int, words bool, position uint64, order []uint32, draws bool) {
	within := uint64(0) // the bits of an offset that lie in a line
	if words {
		within = 64 - 8
	}
	done := b.fillVectors(digests, lines, within, position, order, draws)
	for i := done; i < len(digests); i++ {
		d := &digests[i]
		line, rest := bits.Mul64(d[1], uint64(lines))
		b.offset[i&63] = line*64 | rest>>58&within
		b.low[i&63] = d[0]
		if draws {
			s := uint64(i)
			if order != nil {
				s = uint64(order[i])
			}
			b.draw[i&63] = draw(d[0], position+s)
		}
	}
	b.repeatFirst(len(digests))
}

// repeatFirst gives the places from n on the line of the first element: they are fetched
// ahead with the others, and lines of other elements may be in use by other workers.
func (b *lineBlock) repeatFirst(n int) {
	for i := n; i < 64; i++ {
		b.offset[i&63] = b.offset[0]
	}
}

// touchBlock loads a word of the line of each offset, so that the cache misses of
// all of them run at the same time. It must stay a call: inlined, loads without a
// use would be left out.
//
//go:noinline
func touchBlock(lines [][8]uint64, offsets []uint64) (sum uint64) {
	for _, offset := range offsets {
		sum += lines[offset/64][0]
	}
	return sum
}
