package line

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/layout"
	"math/bits"
)

// StableMethod says which bits of its line an element clears before its own are set.
type StableMethod uint8

// The methods of bit lines. Each is a filter of bits for unbounded streams,
// brought into one line; engine/paper has them as they were published.
const (
	// StableSBF is the stable Bloom filter with cells of one bit: an element that is
	// not seen clears P adjacent bits of its line, from a random one on, going on
	// at bit 0 after bit 511.
	StableSBF StableMethod = iota
	// StableRSBF is the reservoir sampling based Bloom filter: seen or not, an
	// element is inserted with probability min(1, s/i), where i is its position
	// in the stream and s the number of bits of a part in all lines together. An
	// inserted element clears a random bit of each part. Others change nothing.
	StableRSBF
	// StableBSBF is the biased sampling based Bloom filter: an element that is not
	// seen clears a random bit of each part.
	StableBSBF
	// StableBSBFSD is StableBSBF with single deletion: one random bit of one random
	// part.
	StableBSBFSD
	// StableRLBSBF is StableBSBF with load balancing: the random bit of a part is
	// cleared only with a probability that equals the share of the part's bits
	// that are set.
	StableRLBSBF

	stableMethods = iota
)

// StableParams says how bit lines of an unbounded stream are used.
type StableParams struct {
	Method StableMethod
	// K is into how many parts a line is divided, 1 to MaxStableParts, and how many bits an
	// element has.
	K int
	// P is how many bits StableSBF clears, 1 to MaxStableRun. No other method reads it.
	P int
}

// StableCounts is what TestAndSetStable adds to.
type StableCounts struct {
	// Ones is the number of bits that are set in all lines. Over the bits of all
	// lines it is their fill, whose K-th power estimates the share of new
	// elements that are taken for seen.
	Ones uint64
}

// TestAndSetStable sets bit i of seen if element i is taken for one that came
// before, inserts it as the method says, and clears the bits of the others in
// the words that cover len(digests) elements. Elements are taken in order, so
// one of a call is seen by later equal ones of the same call.
//
// Element i lives in line floor(digests[i][1] * len(lines) / 2^64). It owns one
// bit of each part: bit floor(h * s / 2^16) of part j, where h is bits 16j to
// 16j+15 of digests[i][0]. It is seen if all of them are set. An element that is
// not seen (with StableRSBF: that is inserted) first clears the bits that its
// method chooses and then sets its own; one that is seen changes nothing. So the
// copies of a frequent element do not wear out its line, as they would if they
// cleared bits too.
//
// What is cleared comes of the element's random words r1 and r2, which come of position and
// order (see the package comment); StableRSBF counts a stream from 1 on. With s bits in a part:
//
//   - StableSBF: the first bit of the run is r1 >> 55;
//   - StableRSBF, StableBSBF, StableRLBSBF: the bit of each part comes from r1 as the
//     element's own do from the digest;
//   - StableBSBFSD: the bit is floor(r1 * K*s / 2^64);
//   - StableRSBF: the element is inserted if r2 times its position is below
//     len(lines)*s * 2^64, compared without rounding;
//   - StableRLBSBF: a part's bit is cleared if the bit of the same part is set that
//     r2 chooses as r1 does, which is so with the probability asked for.
//
// It takes constant time for each element, does not allocate, and panics if
// lines is empty, seen or order is too short, or p is not as StableParams asks.
func TestAndSetStable(lines []layout.Line, seen []uint64, digests []digest.Digest, position uint64, order []uint32, p StableParams, c *StableCounts) {
	p.check()
	checkArguments("TestAndSetStable", lines, seen, order, len(digests))
	testAndSetStable(lines, seen[:bitWords(len(digests))], digests, position, order, p, c)
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

// stableRule is StableParams as the kernels want them.
type stableRule struct {
	method StableMethod
	k      uint
	size   uint64 // bits of a part
	all    uint64 // bits of a part in all lines
	run    uint64 // what StableSBF and StableBSBFSD clear: P ones, or one
	span   uint64 // the number of bits that a run may begin at
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
	}
	if p.Method == StableSBF {
		r.run, r.span = ^uint64(0)>>((64-p.P)&63), layout.LineBits
	}
	return r
}

// testAndSetStable is TestAndSetStable after its checks.
func testAndSetStable(lines []layout.Line, seen []uint64, digests []digest.Digest, position uint64, order []uint32, p StableParams, c *StableCounts) {
	if len(digests) == 0 {
		return
	}
	k := newStableKernel(p, lines)
	var w pipeline
	w.elements = elements{kind: inLines, count: len(digests), digests: digests, position: position, order: order, random: true}
	w.begin(lines)
	for at := range seen {
		current, ahead, n := w.next()
		var inserted uint64
		if p.Method == StableRSBF {
			first, part := partOf(position, order, 64*at, 64*at+n)
			inserted = k.rule.inserted(current, n, first, part)
		}
		missed, added := k.testAndSet(current, ahead, n, inserted)
		seen[at] = inOrder(^missed, n)
		c.Ones += added
	}
}

// inserted returns a bit for each element of a batch that StableRSBF inserts.
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
