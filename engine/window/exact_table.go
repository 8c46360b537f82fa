// SPDX-License-Identifier: Apache-2.0

package window

import (
	"math/bits"
	"unsafe"

	"github.com/flowdedup/flowdedup/asm/digest"
)

// exactTable maps digests to elements. Elements lie in chunks in the order of their first
// entry, so growth copies none of them. An index of open addressing leads to them: as digests are as
// good as random, their low bits are both home and tag.
type exactTable struct {
	chunks [][]exactElement
	len    int
	// index has the tagBits lowest bits of each digest over the number of its element from 1; 0 is empty.
	// Its length is a power of two, of which 3/4 are in use at most. As long as tags have all bits of a
	// home, growth reads the old index alone, and writes in two places at a time.
	index []uint64
	loads uint64 // scratch of touch
}

type exactElement struct {
	digest digest.Digest
	keptElement
}

const (
	exactChunk = 1 << 10
	tagBits    = 30
	numberBits = 64 - tagBits // 690 GB of elements
	leastIndex = 1 << 8
)

// exactSlots returns the size of the index of n elements.
func exactSlots(n int) int { return max(leastIndex, 1<<bits.Len(uint(n+n/3))) }

// exactBytes returns the memory of n elements in whole chunks.
func exactBytes(n int) int {
	return (n+exactChunk-1)/exactChunk*exactChunk*int(unsafe.Sizeof(exactElement{})) + 8*exactSlots(n)
}

func (t *exactTable) at(i int) *exactElement { return &t.chunks[i/exactChunk][i%exactChunk] }

// touch loads the homes of digests, so that their cache misses overlap.
func (t *exactTable) touch(d []digest.Digest) {
	if len(t.index) > 0 {
		for i := range d {
			t.loads += t.index[d[i][0]&uint64(len(t.index)-1)]
		}
	}
}

// find returns the element of a digest, or nil.
func (t *exactTable) find(d digest.Digest) *keptElement {
	if t.len == 0 {
		return nil
	}
	mask := uint64(len(t.index) - 1)
	for i := d[0] & mask; t.index[i] != 0; i = (i + 1) & mask {
		if word := t.index[i]; (word>>numberBits^d[0])<<numberBits == 0 {
			if e := t.at(numberOf(word)); e.digest == d {
				return &e.keptElement
			}
		}
	}
	return nil
}

// add adds the element of a digest that has none.
func (t *exactTable) add(d digest.Digest, k keptElement) {
	if t.len == len(t.chunks)*exactChunk {
		t.chunks = append(t.chunks, make([]exactElement, exactChunk))
	}
	*t.at(t.len) = exactElement{d, k}
	t.len++
	if slots := exactSlots(t.len); slots > len(t.index) {
		old := t.index
		t.index = make([]uint64, slots)
		for _, word := range old {
			if word != 0 {
				t.enter(word)
			}
		}
	}
	t.enter(d[0]<<numberBits | uint64(t.len))
}

// numberOf returns the number, from 0, of the element of a word of the index.
func numberOf(word uint64) int { return int(word&(1<<numberBits-1)) - 1 }

// enter enters a word in the index.
func (t *exactTable) enter(word uint64) {
	i, mask := word>>numberBits, uint64(len(t.index)-1)
	if mask>>tagBits != 0 {
		i = t.at(numberOf(word)).digest[0]
	}
	for i &= mask; t.index[i] != 0; i = (i + 1) & mask {
	}
	t.index[i] = word
}

// remove removes the elements for which out returns true.
func (t *exactTable) remove(out func(*keptElement) bool) {
	kept := 0
	for i := range t.len {
		if e := t.at(i); !out(&e.keptElement) {
			*t.at(kept) = *e
			kept++
		}
	}
	t.len = kept
	used := (kept + exactChunk - 1) / exactChunk
	clear(t.chunks[used:])
	t.chunks = t.chunks[:used]
	t.index = make([]uint64, exactSlots(kept))
	for n := range kept {
		t.enter(t.at(n).digest[0]<<numberBits | uint64(n+1))
	}
}
