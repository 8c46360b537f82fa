// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"math/bits"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
)

// Chooser sets bit i of chosen, counted from from, for each packet of from to to-1 of b
// that it chooses, and clears the other bits of these words. from is a multiple of 64.
// Several goroutines call it at once, each with a batch of its own.
type Chooser func(chosen []uint64, b *capture.Batch, from, to int)

// choose asks the choosers about the packets from to to-1.
func (p *BatchDetector) choose(b *capture.Batch, from, to int) {
	d := &p.detector.cfg
	if d.Only != nil {
		d.Only(p.only[from/64:], b, from, to)
	}
	if d.Protect != nil {
		d.Protect(p.protected[from/64:], b, from, to)
	}
}

// rank sets the ranks of packets that wait: the number of the first chooser of Prefer that
// chooses a packet, or else how many there are.
func (p *BatchDetector) rank(b *capture.Batch, from, to int) {
	prefer := p.detector.cfg.Prefer
	if len(prefer) == 0 {
		return
	}
	ranks := p.v.Ranks[from:to]
	for i := range ranks {
		ranks[i] = uint8(len(prefer))
	}
	for number := len(prefer) - 1; number >= 0; number-- {
		prefer[number](p.rankMemory, b, from, to)
		for i := range ranks {
			bit := uint8(p.rankMemory[i/64]>>(i%64)) & 1
			ranks[i] ^= (ranks[i] ^ uint8(number)) & -bit // without a branch
		}
	}
}

// chosen holds the packets of a batch that Only has chosen, without gaps.
type chosen struct {
	digests []digest.Digest
	times   []int64
	points  []uint32
	drop    []uint64
}

// gather copies the packets whose bit in only is set. points may be empty.
func (c *chosen) gather(only []uint64, digests []digest.Digest, times []int64, points []uint32) {
	c.digests, c.times, c.points = c.digests[:0], c.times[:0], c.points[:0]
	for w, word := range only {
		for ; word != 0; word &= word - 1 {
			i := w*64 + bits.TrailingZeros64(word)
			c.digests = append(c.digests, digests[i])
			c.times = append(c.times, times[i])
			if len(points) > 0 {
				c.points = append(c.points, points[i])
			}
		}
	}
	c.drop = capture.Resize(c.drop, (len(c.digests)+63)/64)
}

// scatter sets the bits of drop that the verdicts on the chosen packets set, and clears
// all others.
func (c *chosen) scatter(drop, only []uint64) {
	n := 0
	for w, word := range only {
		verdicts := uint64(0)
		for ; word != 0; word &= word - 1 {
			verdicts |= (c.drop[n/64] >> (n % 64) & 1) << bits.TrailingZeros64(word)
			n++
		}
		drop[w] = verdicts
	}
}

// judgeSorts judges fit and unfit packets: those whose bits are set in judged, all for nil. A hub
// then gets the digests that the filter has got, and so does the choice of copies where no pairs are
// found: a copy of a fit packet must not take the place of an unfit one.
func (p *BatchDetector) judgeSorts(judged []uint64) {
	d := p.detector
	p.unfit.turn(p.v.Digests)
	p.v.Paired = p.v.Paired[:0]
	switch {
	case d.pairs.searches(p):
		p.judgePairs(judged)
	case judged != nil:
		p.judgeChosen(judged)
	default:
		d.cfg.Filter.TestAndSet(p.v.Drop, p.v.Digests, p.v.Times, p.points)
	}
	if d.hub == nil && d.pairs != nil {
		p.unfit.turn(p.v.Digests)
	}
}

// judgeChosen judges the packets whose bit in judged is set.
func (p *BatchDetector) judgeChosen(judged []uint64) {
	c := &p.chosen
	c.gather(judged, p.v.Digests, p.v.Times, p.points)
	p.detector.cfg.Filter.TestAndSet(c.drop, c.digests, c.times, c.points)
	c.scatter(p.v.Drop, judged)
}

// judged returns the packets that Only has chosen and that can be judged, nil for all.
func (p *BatchDetector) judged() []uint64 {
	if !p.doubts.some {
		return p.only
	}
	return p.doubts.decidable(p.only, len(p.v.Digests))
}

// fix keeps the protected packets, and notes which packets were not judged or must stay.
func (p *BatchDetector) fix() {
	n := len(p.v.Digests)
	if p.v.Fixed = capture.Zeroed(p.v.Fixed, len(p.v.Drop)); p.detector.cfg.Only != nil {
		p.v.Fixed = capture.Complement(p.v.Fixed, p.only, n)
	}
	p.notJudged, p.protectedCopies = uint64(n)-capture.CountKept(p.v.Fixed, 0, n), 0
	p.doubts.fix(p.v.Fixed)
	p.v.Copies = capture.Resize(p.v.Copies, len(p.v.Drop))
	for w := range p.v.Copies {
		p.v.Copies[w] = p.v.Drop[w] | p.v.Fixed[w]
	}
	for w, word := range p.protected {
		p.protectedCopies += uint64(bits.OnesCount64(p.v.Drop[w] & word))
		p.v.Drop[w] &^= word
		p.v.Fixed[w] |= word
	}
}
