// SPDX-License-Identifier: Apache-2.0

package distinct

import (
	"iter"
	"maps"
	"math/bits"
	"slices"

	"github.com/flowdedup/flowdedup/asm/digest"
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
	// Groups yields the same words faster, in groups of any order inside. A group has the words without their Rest
	// lowest bits as its number; numbers ascend. A slice is valid until the next, and may be changed. Listers set
	// Groups and Rest unless they have a Sketch; no other user of Contents needs them.
	Groups iter.Seq2[uint64, []uint64]
	Rest   uint
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
	rest := x.rows.Shift(len(x.lines(&x.rows.Table)))
	return Contents{Width: x.kind.width, Level: x.levels()[1], Count: x.count64(), Words: wordsOf(x.groups), Groups: x.groups, Rest: rest}
}

// count64 returns how many words groups yields.
func (x *exactRows[E, W]) count64() (n uint64) {
	if !x.rows.Thinning {
		return x.held
	}
	for _, words := range x.groups {
		n += uint64(len(words))
	}
	return n
}

// wordsOf yields the words of groups in ascending order.
func wordsOf(groups iter.Seq2[uint64, []uint64]) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for _, words := range groups {
			slices.Sort(words)
			for _, word := range words {
				if !yield(word) {
					return
				}
			}
		}
	}
}

// groups yields the words of the sample line by line of the table. The words below the mark of a pass are where the
// pass put them.
func (x *exactRows[E, W]) groups(yield func(uint64, []uint64) bool) {
	lines, words, overflow := x.lines(&x.rows.Table), x.words, x.rows.Overflow()
	shift, out := x.rows.Shift(len(lines)), uint64(sampleBits[W](x.levels()[1]))
	var wider []layout.Line
	var factor, moved int // lines of wider for each line, and how many have moved
	if x.rows.Growing() {
		wider = x.rows.Wider.Arena.Lines()
		factor, moved = len(wider)/len(lines), int(x.rows.Mark()>>shift)
	}
	for i := range lines {
		if words = words[:0]; i < moved {
			for at := range factor {
				words = x.kind.words(words, wider, i*factor+at)
			}
		} else {
			words = x.kind.words(words, lines, i)
		}
		for ; len(overflow) > 0 && int(overflow[0]>>shift) == i; overflow = overflow[1:] {
			words = append(words, uint64(overflow[0]))
		}
		if out != 0 {
			words = slices.DeleteFunc(words, func(word uint64) bool { return word&out != 0 })
		}
		if len(words) > 0 && !yield(uint64(i), words) {
			break
		}
	}
	x.words = words[:0]
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
	first, mask := uint64(i)<<shift, uint64(1)<<width-1
	for _, cells := range &lines[i] {
		for ; cells != 0; cells >>= width & 63 {
			words = append(words, first|(cells&mask-1))
		}
	}
	return words
}

// digestWords appends the words of a line of digest rows.
func digestWords(words []uint64, lines []layout.Line, i int) []uint64 {
	for _, word := range &lines[i] {
		if word == 0 {
			break
		}
		words = append(words, word)
	}
	return words
}

// Contents is as Lister says, but the words are the addresses themselves. It takes 4 bytes for
// each value of the map.
func (s *IPv4Map) Contents() Contents {
	groups := func(yield func(uint64, []uint64) bool) {
		var words []uint64
		for _, group := range slices.Sorted(maps.Keys(s.addrs)) {
			words = words[:0]
			for set := s.addrs[group]; set != 0; set &= set - 1 {
				words = append(words, uint64(group)<<mapBits|uint64(bits.TrailingZeros64(set)))
			}
			if !yield(uint64(group), words) {
				return
			}
		}
	}
	return Contents{Width: 32, Count: s.count, Words: wordsOf(groups), Groups: groups, Rest: mapBits}
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
	rest := uint(64 - bits.Len(uint(len(words)/4)))
	groups := func(yield func(uint64, []uint64) bool) {
		for left := words; len(left) > 0; {
			group, n := left[0]>>rest, 1
			for n < len(left) && left[n]>>rest == group {
				n++
			}
			if !yield(group, left[:n]) {
				return
			}
			left = left[n:]
		}
	}
	return Contents{Width: 64, Count: uint64(len(words)), Words: slices.Values(words), Groups: groups, Rest: rest}
}

// digestWord returns the part of a digest that exact rows store.
func digestWord(d digest.Digest) uint64 { return max(d[0], 1) }
