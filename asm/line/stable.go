// SPDX-License-Identifier: Apache-2.0

package line

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/layout"
	"math/bits"
)

// StableMethod is the way an element clears bits of its line before it sets its own.
type StableMethod uint8

// The methods. Each is a published filter of bits for unbounded streams, confined to one
// line. engine/paper has them as printed.
const (
	// StableSBF is the stable Bloom filter with cells of one bit: an element that is
	// not seen clears P adjacent bits of its line from a random bit on, with bit 0
	// after bit 511.
	StableSBF StableMethod = iota
	// StableRSBF is the reservoir sampling based Bloom filter: it inserts an element,
	// seen or not, with probability min(1, s/i), where i is its position in the stream
	// and s the number of bits of a part in all lines. An inserted element clears a
	// random bit of each part. Others change nothing. From the position Replace on, an
	// element that is not seen replaces instead: in each part in which its bit is clear
	// it clears a random set bit, and sets its own. So the parts stay as full as they
	// are.
	StableRSBF
	// StableBSBF is the biased sampling based Bloom filter: an element that is not
	// seen clears a random bit of each part.
	StableBSBF
	// StableBSBFSD is StableBSBF with single deletion: one random bit of one random
	// part.
	StableBSBFSD
	// StableRLBSBF is StableBSBF with load balancing: it clears the random bit of a
	// part with a probability that equals the share of the part's bits that are set.
	StableRLBSBF

	stableMethods = iota
)

// StableParams configures the lines of a stable Bloom filter of bits.
type StableParams struct {
	Method StableMethod
	// K is the number of parts of a line, 1 to layout.MaxStableParts, and of bits of
	// an element.
	K int
	// P is the number of bits that StableSBF clears, 1 to layout.MaxStableRun. Other
	// methods do not read it.
	P int
	// Replace is the position in the stream from which on StableRSBF replaces, or 0 if
	// it never does. Other methods do not read it.
	Replace uint64
}

// StableCounts are the counts that TestAndSetStable adds to.
type StableCounts struct {
	// Ones is the number of bits that are set in all lines. The K-th power of the
	// share of bits that are set estimates the share of new elements that look seen.
	Ones uint64
}

// TestAndSetStable sets bit i of seen if element i looks like an earlier element, and inserts
// it according to the method. It clears the bits of the others in the words that cover
// len(digests) elements. It takes elements in order, so elements of one call find each
// other.
//
// Element i lives in line floor(digests[i][1] * len(lines) / 2^64). It owns one bit of
// each part: bit floor(h * s / 2^16) of part j of s bits, where h is bits 16j to 16j+15
// of digests[i][0]. It is seen if all of its bits are set. An element that is not seen
// (with StableRSBF: that is inserted) first clears the bits that its method chooses and
// then sets its own. An element that is seen changes nothing. So the copies of a frequent
// element do not wear out its line.
//
// The random words r1 and r2 of the element (see the package comment) choose the bits to
// clear. StableRSBF counts a stream from 1 on. With s bits in a part:
//
//   - StableSBF: the first bit of the run is r1 >> 55;
//   - StableRSBF, StableBSBF, StableRLBSBF: r1 chooses a bit of each part, as the low half of
//     the digest chooses the element's own;
//   - StableRSBF, where it replaces: of the n bits of part j that are set, number floor(h *
//     n / 2^16) from the lowest on, which is 0, where h is bits 16j to 16j+15 of r1;
//   - StableBSBFSD: the bit is floor(r1 * K*s / 2^64);
//   - StableRSBF: the element is inserted if r2 times its position is below
//     len(lines)*s * 2^64, compared without rounding;
//   - StableRLBSBF: the bit is cleared if the bit of the same part that r2 chooses is set, which
//     has the right probability.
//
// It takes constant time for each element and does not allocate. It panics if lines is
// empty, seen is too short, or p violates StableParams.
func TestAndSetStable(lines []layout.Line, seen []uint64, digests []digest.Digest, position uint64, p StableParams, c *StableCounts) {
	p.check()
	checkArguments("TestAndSetStable", lines, seen, len(digests))
	testAndSetStable(lines, seen[:bitWords(len(digests))], digests, position, p, c)
}

func (p StableParams) check() {
	switch {
	case p.Method >= stableMethods:
		panic("line: TestAndSetStable: unknown method")
	case p.K < 1 || p.K > layout.MaxStableParts:
		panic("line: TestAndSetStable: parts out of range")
	case p.Method == StableSBF && (p.P < 1 || p.P > layout.MaxStableRun):
		panic("line: TestAndSetStable: run out of range")
	}
}

// stableRule is StableParams prepared for the kernels.
type stableRule struct {
	method StableMethod
	k      uint
	size   uint64 // bits of a part
	all    uint64 // bits of a part in all lines
	run    uint64 // the run that StableSBF (P ones) and StableBSBFSD (one) clear
	span   uint64 // the number of bits at which a run can begin

	replace uint64 // as in StableParams
}

func newStableRule(p StableParams, lines int) stableRule {
	size := uint64(layout.LineBits / p.K)
	r := stableRule{
		method: p.Method,
		k:      uint(p.K),
		size:   size,
		all:    size * uint64(lines),
		run:    1,
		span:   size * uint64(p.K),

		replace: p.Replace,
	}
	if p.Method == StableSBF {
		r.run, r.span = ^uint64(0)>>((64-p.P)&63), layout.LineBits
	}
	return r
}

// testAndSetStable is TestAndSetStable after its checks.
func testAndSetStable(lines []layout.Line, seen []uint64, digests []digest.Digest, position uint64, p StableParams, c *StableCounts) {
	if len(digests) == 0 {
		return
	}
	k := newStableKernel(p, lines)
	var w pipeline
	w.elements = elements{kind: inLines, count: len(digests), digests: digests, position: position, random: true}
	w.begin(lines)
	for at := range seen {
		current, ahead, n := w.next()
		var inserted, replaced uint64
		if p.Method == StableRSBF {
			first := position + uint64(64*at)
			inserted, replaced = k.rule.inserted(current, n, first), k.rule.replaced(n, first)
		}
		var missed, added uint64
		if replaced != 0 {
			missed, added = k.rule.testAndSetReplacing(lines, current, ahead, n, inserted, replaced)
		} else {
			missed, added = k.testAndSet(current, ahead, n, inserted)
		}
		seen[at] = inOrder(^missed, n)
		c.Ones += added
	}
}

// inserted returns a bit for each element of a batch that StableRSBF inserts.
func (r *stableRule) inserted(b *batch, n int, position uint64) (inserted uint64) {
	done, inserted := insertedVectors(b, n, position, r.all)
	for i := done; i < n; i++ {
		chance, _ := bits.Mul64(prngNext(b.random[i&63]), position+uint64(i))
		_, is := bits.Sub64(chance, r.all, 0)
		inserted |= is << (i & 63)
	}
	return inserted
}
