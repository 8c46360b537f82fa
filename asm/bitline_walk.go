package asm

import "math/bits"

// bitLineRule is BitLineParams as the kernels want them.
type bitLineRule struct {
	method BitMethod
	k      uint
	size   uint64 // bits of a part
	all    uint64 // bits of a part in all lines
	run    uint64 // what BitsSBF and BitsBSBFSD clear: P ones, or one
	span   uint64 // the number of bits that a run may begin at
}

func newBitLineRule(p BitLineParams, lines int) bitLineRule {
	size := uint64(lineBits / p.K)
	r := bitLineRule{
		method: p.Method,
		k:      uint(p.K),
		size:   size,
		all:    size * uint64(lines),
		run:    1,
		span:   size * uint64(p.K),
	}
	if p.Method == BitsSBF {
		r.run, r.span = ^uint64(0)>>((64-p.P)&63), lineBits
	}
	return r
}

// testAndSetBitLines is TestAndSetBitLines after its checks.
func testAndSetBitLines(lines [][8]uint64, seen []uint64, digests []Digest, position uint64, order []uint32, p BitLineParams, c *BitLineCounts) {
	if len(digests) == 0 {
		return
	}
	k := newBitLineKernel(p, lines)
	var w lineWalk
	w.begin(lines, digests, position, order, true)
	for at := range seen {
		block, ahead, n := w.next()
		var inserted uint64
		if p.Method == BitsRSBF {
			inserted = k.rule.inserted(block, n, position, order)
			if order == nil {
				position += 64
			} else {
				order = order[n:]
			}
		}
		missed, added := k.testAndSet(block, ahead, n, inserted)
		seen[at] = ^bits.Reverse64(missed) >> (64 - n)
		c.Ones += added
	}
}

// inserted returns a bit for each element of a block that BitsRSBF inserts.
func (r *bitLineRule) inserted(b *lineBlock, n int, position uint64, order []uint32) (inserted uint64) {
	done, inserted := insertedVectors(b, n, position, order, r.all)
	for i := done; i < n; i++ {
		s := position + uint64(i)
		if order != nil {
			s = position + uint64(order[i])
		}
		chance, _ := bits.Mul64(drawNext(b.draw[i&63]), s)
		_, is := bits.Sub64(chance, r.all, 0)
		inserted |= is << (i & 63)
	}
	return inserted
}
