// SPDX-License-Identifier: Apache-2.0

package distinct

import (
	"iter"
	"maps"
	"math/bits"
	"slices"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/internal/rowtable"
	"github.com/flowdedup/flowdedup/layout"
)

// Contents is a counter's memory of its elements. Contents of counters with the same key
// can be compared and united.
type Contents struct {
	// Width is the number of bits of a word, and of each word of Words.
	Width uint
	// Count is the number of Words, which yields them in ascending order. Each element has
	// a word of its own: an IPv4 address its image under the keyed permutation, any other
	// the low half of its digest. Both are 0 and nil with a Sketch.
	Count uint64
	Words iter.Seq[uint64]
	// Level is the level of the sample that the words are. Elements with one of the Level
	// lowest bits set are missing.
	Level uint
	// Sketch is the sketch of the elements, in place of words, or nil.
	Sketch *Sketch
}

// Lister is a counter that can list its contents. The contents are valid until the next
// call of another method. Making them costs little; going through the words takes some
// nanoseconds for each.
type Lister interface{ Contents() Contents }

// Hash returns 64 bits of a word that are as good as random, for a Sketch: the word of a
// digest itself, and of an address the finalizer of SplitMix64.
func (c *Contents) Hash(word uint64) uint64 {
	if c.Width == 64 {
		return word
	}
	return Mix(word)
}

// Mix returns 64 bits that are as good as random, for a Sketch, of bits that are not all
// independent. It is the finalizer of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), a
// permutation.
func Mix(x uint64) uint64 {
	return layout.Mix(x + layout.Golden) // so that 0 is no fixed point
}

// Contents is as Lister says.
func (x *exactRows[E, W]) Contents() Contents {
	return Contents{Width: x.kind.width, Level: x.levels()[1], Count: x.count64(), Words: x.ascending}
}

// count64 returns how many words ascending yields.
func (x *exactRows[E, W]) count64() (n uint64) {
	if !x.rows.Thinning {
		return x.held
	}
	for range x.ascending {
		n++
	}
	return n
}

// ascending yields the words of the sample in ascending order. The words below the mark of
// a pass are where the pass put them.
func (x *exactRows[E, W]) ascending(yield func(uint64) bool) {
	out := uint64(sampleBits[W](x.levels()[1]))
	mark := uint64(x.rows.Mark())
	pass := func(word uint64) bool { return word&out != 0 || yield(word) }
	if mark > 0 && !x.ascendingIn(x.rows.Target(), 0, mark, pass) {
		return
	}
	end := uint64(1) << (x.kind.width - 1) << 1 // 0 for 64 bits
	x.ascendingIn(&x.rows.Table, mark, end, pass)
}

// ascendingIn yields the words of a table from one on and below another, 0 for no end.
func (x *exactRows[E, W]) ascendingIn(table *rowtable.Table[W], from, to uint64, yield func(uint64) bool) bool {
	lines := table.Arena.Lines()
	shift := x.rows.Shift(len(lines))
	first, last := int(from>>shift), len(lines)
	if to != 0 {
		last = int(to >> shift)
	}
	overflow := table.Overflow.Between(W(from), W(to-1))
	noted := x.areNoted()
	var words []uint64
	for i := first; i < last; i++ {
		if noted && x.touched[i/64]>>(i%64)&1 == 0 {
			continue
		}
		words = x.kind.words(words[:0], lines, i)
		slices.Sort(words)
		for _, word := range words {
			for len(overflow) > 0 && uint64(overflow[0]) < word {
				if !yield(uint64(overflow[0])) {
					return false
				}
				overflow = overflow[1:]
			}
			if !yield(word) {
				return false
			}
		}
	}
	for _, word := range overflow {
		if !yield(uint64(word)) {
			return false
		}
	}
	return true
}

// exactWords appends the words of a line of exact rows, or of a bitmap.
func exactWords(words []uint64, lines []layout.Line, i int) []uint64 {
	if len(lines) == layout.BitmapLines {
		for w, set := range lines[i] {
			for ; set != 0; set &= set - 1 {
				words = append(words, uint64(i)<<9|uint64(w)<<6|uint64(bits.TrailingZeros64(set)))
			}
		}
		return words
	}
	width, shift := layout.ExactCellBits(len(lines)), layout.ExactRemainderBits(len(lines))
	for _, cells := range lines[i] {
		for ; cells != 0; cells >>= width {
			words = append(words, uint64(i)<<shift|(cells&(1<<width-1)-1))
		}
	}
	return words
}

// digestWords appends the words of a line of digest rows.
func digestWords(words []uint64, lines []layout.Line, i int) []uint64 {
	for _, word := range lines[i] {
		if word != 0 {
			words = append(words, word)
		}
	}
	return words
}

// Contents is as Lister says, but the words are the addresses themselves. It takes 4 bytes for
// each value of the map.
func (s *IPv4Map) Contents() Contents {
	return Contents{Width: 32, Count: s.count, Words: func(yield func(uint64) bool) {
		for _, group := range slices.Sorted(maps.Keys(s.addrs)) {
			for set := s.addrs[group]; set != 0; set &= set - 1 {
				if !yield(uint64(group)<<mapBits | uint64(bits.TrailingZeros64(set))) {
					return
				}
			}
		}
	}}
}

// Contents is as Lister says. Digests with equal low halves have a word together. It takes
// 8 bytes for each digest.
func (s *DigestMap) Contents() Contents {
	words := make([]uint64, 0, len(s.digests))
	for d := range s.digests {
		words = append(words, digestWord(d))
	}
	slices.Sort(words)
	words = slices.Compact(words)
	return Contents{Width: 64, Count: uint64(len(words)), Words: slices.Values(words)}
}

// digestWord returns the part of a digest that exact rows store.
func digestWord(d digest.Digest) uint64 { return max(d[0], 1) }
