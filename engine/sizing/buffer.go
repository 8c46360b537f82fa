// SPDX-License-Identifier: Apache-2.0

package sizing

import (
	"math"
	"math/bits"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/layout"
)

// elementBits is the memory of an element as Deng and Rafiei account for it.
const elementBits = 64

// mapLines is about how many cache lines a lookup in a Go map touches: a group's control
// bytes, and its keys and values.
const mapLines = 2

// lruBuffer keeps the most recently used elements themselves.
func lruBuffer(r *request, memory int) (design, error) {
	capacity := memory / elementBits
	if capacity < 1 {
		return design{}, tooSmall(memory, elementBits, "an element")
	}
	return r.finish(design{
		parameters: []Parameter{{"elements", capacity}},
		bits:       capacity * elementBits,
		lines:      2 * mapLines, // the list, too
	}, r.load.missesByDistinct(func(different float64) float64 {
		if different >= float64(capacity) {
			return 1
		}
		return 0
	})), nil
}

// aging is A2: two Bloom filters. When the newer has taken its capacity, the older is
// cleared and they swap. An element in the newer one is not inserted again. So it leaves
// after between one and two capacities of insertions, uniformly distributed.
func aging(r *request, memory int) (design, error) {
	m := memory / 2
	// f as FPR / (1 + sqrt(1-FPR)), which loses no digits when the FPR is small.
	f := r.FPR / (1 + math.Sqrt(1-r.FPR))
	k := r.Fixed.K
	if k == 0 {
		k = int(math.Max(1, math.Round(-math.Log2(f))))
	}
	if err := requireK(k, m, memory); err != nil {
		return design{}, err
	}
	set, sum := math.Pow(f, 1/float64(k)), 0.0
	for j := 1; j <= k; j++ {
		sum += math.Pow(set, float64(j)) / float64(j)
	}
	capacity := math.Max(1, math.Floor(float64(m)/float64(k)*sum))
	filling := f / float64(k+1) // mean FPR of a filter that is being filled
	rate := agingInsertions(r.load, capacity, filling)
	left := r.load.missesByGap(func(between float64) float64 {
		return clampShare(rate*between/capacity-1) * (1 - f) * (1 - filling)
	})
	return r.finish(design{
		parameters: []Parameter{{"K", k}, {"m of each", m}, {"capacity", int(capacity)}},
		bits:       2 * m, fpr: r.FPR, lines: float64(2 * k),
	}, left), nil
}

// agingInsertions is the share of elements that are inserted: the elements that the newer
// filter does not report. The share depends on itself and is found by iteration.
func agingInsertions(l *load, capacity, fpr float64) float64 {
	rate := 1.0
	for range 100 {
		left := l.missesByGap(func(between float64) float64 { return clampShare(rate * between / capacity) })
		rate = (l.fresh + (1-l.fresh)*l.fnr(left)) * (1 - fpr)
	}
	return rate
}

// clampShare bounds x to a probability.
func clampShare(x float64) float64 { return math.Min(1, math.Max(0, x)) }

// exactRows is distinct.IPv4Rows with as many lines as the window's addresses need. A
// hash table holds the addresses that do not fit, up to a twentieth more. During growth
// the old lines need memory in addition to the new ones.
func exactRows(r *request, memory int) (design, error) {
	lines := exactLines(r.window)
	if need := lines * lineBits; memory < need {
		return design{}, tooSmall(memory, need, "%.0f IPv4 addresses in exact rows", r.window)
	}
	cells := layout.ExactCells(min(lines, layout.MaxExactLines))
	parameters := []Parameter{{"lines", lines}, {"cells", cells}, {"cell bits", lineBits / cells}}
	if lines == layout.BitmapLines {
		parameters = []Parameter{{"lines", lines}, {"cell bits", 1}}
	}
	return r.complete(design{parameters: parameters, bits: lines * lineBits, lines: 1}), nil
}

// exactLines returns the smallest number of lines that the given addresses fill to three
// quarters at most.
func exactLines(addresses float64) int {
	const least = 64 // the smallest start of distinct.IPv4Rows
	for lines := least; lines <= layout.MaxExactLines; lines *= 2 {
		if addresses <= 0.75*float64(lines*layout.ExactCells(lines)) {
			return lines
		}
	}
	return layout.BitmapLines
}

// digestRows is distinct.DigestRows with as many lines as the window's elements need. A
// hash table holds the elements that do not fit, up to a twentieth more. During growth
// the old lines need memory in addition to the new ones.
func digestRows(r *request, memory int) (design, error) {
	return splittingRows(r, memory, r.window, math.Ldexp(r.window, -64))
}

// slidingRows is sliding.Rows. Its lines hold the window, and about a thirtieth of a
// window more until they are swept. With less memory it would count a sample.
func slidingRows(r *request, memory int) (design, error) {
	return splittingRows(r, memory, r.distinctIn(r.Elements*33/32), math.Ldexp(r.window, -58))
}

// splittingRows is a design of lines whose number doubles until they hold the given
// number of elements.
func splittingRows(r *request, memory int, elements, fpr float64) (design, error) {
	const least, load = 1024, 5 // lines at the start; elements of a line when it splits
	lines := least
	for float64(lines)*load < elements && lines < math.MaxInt/2/lineBits {
		lines *= 2
	}
	if need := lines * lineBits; memory < need {
		return design{}, tooSmall(memory, need, "%.0f elements in rows of digests", elements)
	}
	return r.complete(design{
		parameters: []Parameter{{"lines", lines}, {"cells", lineBits / 64}, {"cell bits", 64}},
		bits:       lines * lineBits, fpr: fpr, lines: 1,
	}), nil
}

// exactMap is the Go map of method exact.
func exactMap(r *request, memory int) (design, error) {
	if r.Kind == Unbounded {
		return design{}, impossible("an exact map of an unbounded stream needs unbounded memory")
	}
	elements, entry := r.exactEntries()
	need := mapBytes(elements, entry) * 8
	if need > float64(memory) {
		return design{}, impossible("%.0f elements in a map: %d bits of memory are too few, about %.3g are needed", elements, memory, need)
	}
	return r.complete(design{
		parameters: []Parameter{{"elements", int(elements)}},
		bits:       int(need), lines: mapLines,
	}), nil
}

// exactEntries returns the greatest number of entries of the map, and the bytes of one. In windows
// of time window.Exact has more of them while they fit into layout.MemoryBudget.
func (r *request) exactEntries() (entries float64, bytes int) {
	const digest, word = 8 * len(digest.Digest{}), 8
	switch {
	case r.Kind == Landmark && r.Key == IPv4: // addresses that begin alike share an entry
		return math.Min(r.window, ipv4Addresses/64), 2 * word
	case r.Kind == Landmark: // a value of no size takes the bytes that align the next key
		return r.window, digest + word
	case r.Key != Packets: // sliding.Map has times
		return r.window, digest + word
	}
	const sampled, pruned = 1 << 17, 1 << 18 // when window.Exact prunes, and what it samples
	entries = r.window
	if r.Kind == Sliding {
		entries = r.distinctIn(2*r.Elements + sampled)
	}
	entries = math.Max(2*entries, pruned)
	if r.Length > 0 {
		entries = math.Min(entries, r.distinctIn(r.Length))
	}
	return entries, digest + 3*word // time, position and point
}

// mapBytes estimates the bytes of a Go map of n entries: each slot has a control byte,
// and the slots double when more than 7 of 8 are taken.
func mapBytes(n float64, entry int) float64 {
	slots := math.Exp2(float64(bits.Len64(uint64(math.Max(7, n*8/7)))))
	return slots * float64(entry+1)
}
