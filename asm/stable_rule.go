package asm

import "math/bits"

// stableRule is BitLineParams as the kernels want them.
type stableRule struct {
	method BitMethod
	k      uint
	size   uint64 // bits of a part
	all    uint64 // bits of a part in all lines
	run    uint64 // what BitsSBF and BitsBSBFSD clear: P ones, or one
	span   uint64 // the number of bits that a run may begin at
}

func newStableRule(p BitLineParams, lines int) stableRule {
	size := uint64(LineBits / p.K)
	r := stableRule{
		method: p.Method,
		k:      uint(p.K),
		size:   size,
		all:    size * uint64(lines),
		run:    1,
		span:   size * uint64(p.K),
	}
	if p.Method == BitsSBF {
		r.run, r.span = ^uint64(0)>>((64-p.P)&63), LineBits
	}
	return r
}

// testAndSetStable is TestAndSetBitLines after its checks.
func testAndSetStable(lines [][8]uint64, seen []uint64, digests []Digest, position uint64, order []uint32, p BitLineParams, c *BitLineCounts) {
	if len(digests) == 0 {
		return
	}
	k := newStableKernel(p, lines)
	var w pipeline
	w.begin(lines, elements{kind: inLines, count: len(digests), digests: digests, position: position, order: order, random: true})
	for at := range seen {
		current, ahead, n := w.next()
		var inserted uint64
		if p.Method == BitsRSBF {
			first, part := partOf(position, order, 64*at, 64*at+n)
			inserted = k.rule.inserted(current, n, first, part)
		}
		missed, added := k.testAndSet(current, ahead, n, inserted)
		seen[at] = inOrder(^missed, n)
		c.Ones += added
	}
}

// inserted returns a bit for each element of a batch that BitsRSBF inserts.
func (r *stableRule) inserted(b *batch, n int, position uint64, order []uint32) (inserted uint64) {
	done, inserted := insertedVectors(b, n, position, order, r.all)
	for i := done; i < n; i++ {
		s := position + uint64(i)
		if order != nil {
			s = position + uint64(order[i])
		}
		chance, _ := bits.Mul64(prngNext(b.random[i&63]), s)
		_, is := bits.Sub64(chance, r.all, 0)
		inserted |= is << (i & 63)
	}
	return inserted
}
