// SPDX-License-Identifier: Apache-2.0

package sizing

import (
	"math"
	"math/bits"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/layout"
)

// mapLines is about how many cache lines a lookup in a Go map touches: a group's control
// bytes, and its keys and values.
const mapLines = 2

// exactRows is distinct.IPv4Rows with as many lines as the window's addresses need. A
// hash table holds the addresses that do not fit, up to a twentieth more. During growth
// the old lines need memory in addition to the new ones.
func exactRows(r *Request, memory int) (Design, error) {
	lines := exactLines(r.Window)
	if memory < lines*lineBits {
		return Design{}, errMemory
	}
	cells := layout.ExactCells(min(lines, layout.MaxExactLines))
	parameters := map[string]int{"lines": lines, "cells": cells, "cell bits": lineBits / cells}
	if lines == layout.BitmapLines {
		parameters = map[string]int{"lines": lines, "cell bits": 1}
	}
	return r.Complete(Design{Parameters: parameters, Bits: lines * lineBits, Lines: 1}), nil
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
func digestRows(r *Request, memory int) (Design, error) {
	return splittingRows(r, memory, r.Window, math.Ldexp(r.Window, -64))
}

// slidingRows is sliding.Rows. Its lines hold the window, and about a thirtieth of a
// window more until they are swept. With less memory it would count a sample.
func slidingRows(r *Request, memory int) (Design, error) {
	return splittingRows(r, memory, r.DistinctIn(r.Elements*33/32), math.Ldexp(r.Window, -58))
}

// splittingRows is a design of lines whose number doubles until they hold the given
// number of elements.
func splittingRows(r *Request, memory int, elements, fpr float64) (Design, error) {
	const least, load = 1024, 5 // lines at the start; elements of a line when it splits
	lines := least
	for float64(lines)*load < elements && lines < math.MaxInt/2/lineBits {
		lines *= 2
	}
	if memory < lines*lineBits {
		return Design{}, errMemory
	}
	return r.Complete(Design{
		Parameters: map[string]int{"lines": lines, "cells": lineBits / 64, "cell bits": 64},
		Bits:       lines * lineBits, FPR: fpr, Lines: 1,
	}), nil
}

// exactMap is the map of method exact.
func exactMap(r *Request, memory int) (Design, error) {
	elements, bytes := r.exactEntries()
	need := bytes * 8
	if need > float64(memory) {
		return Design{}, errMemory
	}
	return r.Complete(Design{
		Parameters: map[string]int{"elements": int(elements)},
		Bits:       int(need), Lines: mapLines,
	}), nil
}

// exactEntries returns the greatest number of entries of the map, and its bytes. In windows
// of time window.Exact has more of them while they fit into layout.MemoryBudget.
func (r *Request) exactEntries() (entries, bytes float64) {
	const digest, word = 8 * len(digest.Digest{}), 8
	switch {
	case r.Kind == Landmark && r.Key == IPv4: // addresses that begin alike share an entry
		entries = math.Min(r.Window, ipv4Addresses/64)
		return entries, mapBytes(entries, 2*word)
	case r.Kind == Landmark: // a value of no size takes the bytes that align the next key
		return r.Window, mapBytes(r.Window, digest+word)
	case r.Key != Packets: // sliding.Map has times
		return r.Window, mapBytes(r.Window, digest+word)
	}
	const sampled, pruned = 1 << 17, 1 << 18 // when window.Exact prunes, and what it samples
	entries = r.Window
	if r.Kind == Sliding {
		entries = r.DistinctIn(2*r.Elements + sampled)
	}
	entries = math.Max(2*entries, pruned)
	if r.Length > 0 {
		entries = math.Min(entries, r.DistinctIn(r.Length))
	}
	// Chunks of elements with time, position and point, and an index that doubles when more than 3 of 4
	// slots are taken.
	const chunk = 1 << 10
	n := uint64(entries)
	return entries, math.Ceil(entries/chunk)*chunk*float64(digest+2*word) + word*math.Exp2(float64(bits.Len64(n+n/3)))
}

// mapBytes estimates the bytes of a Go map of n entries: each slot has a control byte,
// and the slots double when more than 7 of 8 are taken.
func mapBytes(n float64, entry int) float64 {
	slots := math.Exp2(float64(bits.Len64(uint64(math.Max(7, n*8/7)))))
	return slots * float64(entry+1)
}
