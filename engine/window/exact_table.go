// SPDX-License-Identifier: Apache-2.0

package window

import (
	"math/bits"
	"unsafe"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/layout"
)

// exactTable maps digests to elements. Elements lie in chunks, so growth copies none of them. An index
// of open addressing leads to those that are not set aside: as digests are as good as random, their low
// bits are both home and tag.
type exactTable struct {
	chunks [][]exactElement
	len    int
	// index has the tagBits lowest bits of each digest over the number of its element from 1; 0 is empty.
	// Its length is a power of two, of which 3/4 are in use at most. As long as tags have all bits of a
	// home, growth reads the old index alone, and writes in two places at a time.
	index []uint64
	loads uint64 // scratch of touch
	exactAside
}

// exactElement describes the last element kept for a digest.
type exactElement struct {
	digest   digest.Digest
	time     int64  // in count windows: the position
	position uint32 // modulo 1<<32
	point    uint32
}

const (
	exactChunk = 1 << 10
	tagBits    = 30
	numberBits = 64 - tagBits // 690 GB of elements
	leastIndex = 1 << 8
)

// exactSlots returns the size of the index of n elements.
func exactSlots(n int) int { return max(leastIndex, 1<<bits.Len(uint(n+n/3))) }

// exactBytes returns the memory of n elements in whole chunks, and of their index.
func exactBytes(n, slots int) int {
	return (n+exactChunk-1)/exactChunk*exactChunk*int(unsafe.Sizeof(exactElement{})) + 8*slots
}

func (t *exactTable) bytes() int { return exactBytes(t.len, len(t.index)) }

func (t *exactTable) at(i int) *exactElement {
	return &t.chunks[uint(i)/exactChunk][uint(i)%exactChunk]
}

// touch loads the homes of digests, so that their cache misses overlap.
func (t *exactTable) touch(d []digest.Digest) {
	sum, index := t.loads, t.index
	for i := range d {
		sum += index[d[i][0]&uint64(len(index)-1)]
	}
	t.loads = sum
}

// full reports whether the index has no room for a further element.
func (t *exactTable) full() bool { return 4*(t.len-t.first+1) >= 3*len(t.index) }

// element returns the element of a digest. If the index has none, it adds an element with the digest
// alone, for which there must be room.
func (t *exactTable) element(d *digest.Digest) (e *exactElement, added bool) {
	index, first, mask := t.index, d[0], uint64(len(t.index)-1)
	i := first & mask
	for ; index[i] != 0; i = (i + 1) & mask {
		if word := index[i]; (word>>numberBits^first)<<numberBits == 0 {
			if e := t.at(numberOf(word)); e.digest == *d {
				return e, false
			}
		}
	}
	if t.len == len(t.chunks)*exactChunk {
		t.addChunks()
	}
	e = t.at(t.len)
	e.digest = *d
	t.len++
	index[i] = first<<numberBits | uint64(t.len)
	return e, true
}

// addChunks adds an eighth as many chunks as there are. Those without elements take no memory yet.
func (t *exactTable) addChunks() {
	all := make([]exactElement, (len(t.chunks)/8+1)*exactChunk)
	layout.AdviseHuge(all)
	for ; len(all) > 0; all = all[exactChunk:] {
		t.chunks = append(t.chunks, all[:exactChunk])
	}
}

// numberOf returns the number, from 0, of the element of a word of the index.
func numberOf(word uint64) int { return int(word&(1<<numberBits-1)) - 1 }

// grow doubles the index.
func (t *exactTable) grow() {
	old := t.index
	t.makeIndex(2 * len(old))
	for _, word := range old {
		if word != 0 {
			t.enter(word)
		}
	}
}

// makeIndex makes an empty index.
func (t *exactTable) makeIndex(slots int) {
	t.index = make([]uint64, slots)
	layout.AdviseHuge(t.index)
}

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

// enterAll enters all elements that are not set aside in an empty index.
func (t *exactTable) enterAll() {
	for n := t.first; n < t.len; n++ {
		t.enter(t.at(n).digest[0]<<numberBits | uint64(n+1))
	}
}

// remove removes the elements for which out returns true. None may be set aside.
func (t *exactTable) remove(out func(*exactElement) bool) {
	kept := 0
	for i := range t.len {
		if e := t.at(i); !out(e) {
			*t.at(kept) = *e
			kept++
		}
	}
	t.shrink(kept)
	t.wholeTo = 0
	t.makeIndex(exactSlots(kept + 1))
	t.enterAll()
}

// shrink leaves the first n elements.
func (t *exactTable) shrink(n int) {
	used := (n + exactChunk - 1) / exactChunk
	clear(t.chunks[used:])
	t.len, t.chunks = n, t.chunks[:used]
}
