// SPDX-License-Identifier: Apache-2.0

package wordset

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
)

// A block has at most 8192 words, in MaxBytes bytes.
const (
	maxBlock = 8192
	MaxBytes = head + maxBlock*(64+3)/8 + 8
)

// head is the size of the part before the differences:
//
//	2 bytes: number of words, less one
//	1 byte: k, the bits of a remainder
//	8 bytes: the first word
//
// For each further word follows, from the lowest bit of each byte up, the difference from
// the word before, less one: its quotient by 2^k in unary, as 0 bits and a final 1 bit,
// and the k bits of its remainder. The last byte ends with 0 bits. Numbers are
// little-endian.
const head = 11

// ErrInvalid is wrapped by errors about damaged blocks.
var ErrInvalid = errors.New("bad block of words")

// AppendBlock appends a block of 1 to 8192 ascending words to b. It panics for
// other numbers.
func AppendBlock(b []byte, words []uint64) []byte {
	n := len(words)
	if n == 0 || n > maxBlock {
		panic("wordset: AppendBlock: no words, or too many")
	}
	k := uint(0)
	if n > 1 {
		mean := (words[n-1] - words[0]) / uint64(n-1)
		// The best power of two is the largest below 0.962 times the mean, 2 ln of the
		// golden ratio. Quotients then add up to 2.1 n at most.
		k = uint(max(1, bits.Len64(mean-mean/32))) - 1
	}
	b = binary.LittleEndian.AppendUint16(b, uint16(n-1))
	b = append(b, byte(k))
	b = binary.LittleEndian.AppendUint64(b, words[0])
	w := bitWriter{to: b}
	for i, word := range words[1:] {
		rest := word - words[i] - 1
		w.zeros(rest >> k)
		w.put(1, 1)
		w.put(rest&(1<<k-1), k)
	}
	return w.end()
}

// bitWriter appends bits.
type bitWriter struct {
	to   []byte
	acc  uint64
	fill uint // bits of acc, below 64
}

// put appends the n lowest bits of v, at most 63; the others are 0.
func (w *bitWriter) put(v uint64, n uint) {
	w.acc |= v << w.fill
	if w.fill += n; w.fill < 64 {
		return
	}
	w.to = binary.LittleEndian.AppendUint64(w.to, w.acc)
	w.fill -= 64
	w.acc = v >> (n - w.fill)
}

func (w *bitWriter) zeros(n uint64) {
	for ; n > 32; n -= 32 {
		w.put(0, 32)
	}
	w.put(0, uint(n))
}

// end appends the remaining bits.
func (w *bitWriter) end() []byte {
	for ; w.fill > 0; w.fill -= min(w.fill, 8) {
		w.to = append(w.to, byte(w.acc))
		w.acc >>= 8
	}
	return w.to
}

// Block appends the words of a block to words, at most 8192. It takes time in
// proportion to the bytes, whatever they are. Errors wrap ErrInvalid.
func Block(words []uint64, b []byte) ([]uint64, error) {
	if len(b) < head || len(b) > MaxBytes {
		return words, fmt.Errorf("%w: %d bytes", ErrInvalid, len(b))
	}
	more, k := int(binary.LittleEndian.Uint16(b)), uint(b[2])
	word := binary.LittleEndian.Uint64(b[3:])
	if more >= maxBlock || k > 63 {
		return words, fmt.Errorf("%w: %d words with rests of %d bits", ErrInvalid, more+1, k)
	}
	words = append(slices.Grow(words, more+1), word)
	r := bitReader{from: b[head:]}
	for range more {
		quotient, ok := r.zeros()
		rest, ok2 := r.take(k)
		if !ok || !ok2 {
			return words, fmt.Errorf("%w: it ends after %d of %d words", ErrInvalid, len(words), more+1)
		}
		next := word + (quotient<<k | rest) + 1
		if next <= word || quotient > ^uint64(0)>>k {
			return words, fmt.Errorf("%w: words that do not ascend", ErrInvalid)
		}
		word = next
		words = append(words, word)
	}
	if len(r.from) > 0 || r.acc != 0 || r.fill >= 8 {
		return words, fmt.Errorf("%w: bytes behind the last word", ErrInvalid)
	}
	return words, nil
}

// bitReader reads bits.
type bitReader struct {
	from []byte
	acc  uint64
	fill uint // bits of acc
}

// refill fills acc with 56 bits or more, as far as there are.
func (r *bitReader) refill() {
	if len(r.from) >= 8 {
		r.acc |= binary.LittleEndian.Uint64(r.from) << r.fill
		n := (63 - r.fill) / 8
		r.from = r.from[n:]
		r.fill += 8 * n
		r.acc &= 1<<r.fill - 1
		return
	}
	for ; r.fill <= 56 && len(r.from) > 0; r.fill += 8 {
		r.acc |= uint64(r.from[0]) << r.fill
		r.from = r.from[1:]
	}
}

// zeros reads 0 bits up to a 1 bit, and returns how many.
func (r *bitReader) zeros() (n uint64, ok bool) {
	for {
		if r.acc != 0 {
			z := uint(bits.TrailingZeros64(r.acc))
			r.acc = r.acc >> z >> 1
			r.fill -= z + 1
			return n + uint64(z), true
		}
		n += uint64(r.fill)
		r.fill = 0
		if r.refill(); r.fill == 0 {
			return 0, false
		}
	}
}

// take reads n bits, at most 63.
func (r *bitReader) take(n uint) (v uint64, ok bool) {
	if r.fill < n {
		r.refill()
	}
	if r.fill >= n {
		v = r.acc & (1<<n - 1)
		r.acc >>= n
		r.fill -= n
		return v, true
	}
	// More bits than acc holds, apart from an incomplete byte.
	low, have := r.acc, r.fill
	r.acc, r.fill = 0, 0
	r.refill()
	if r.fill < n-have {
		return 0, false
	}
	v = low | r.acc&(1<<(n-have)-1)<<have
	r.acc >>= n - have
	r.fill -= n - have
	return v, true
}
