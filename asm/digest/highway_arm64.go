// SPDX-License-Identifier: Apache-2.0

//go:build arm64 && !purego

package digest

import (
	"encoding/binary"
	"math/bits"
	"unsafe"

	"github.com/flowdedup/flowdedup/asm/internal/cpu"
)

// arm64 alone has a kernel for HighwayHash: there are CPUs without AES instructions, and the
// library takes three times as long. On amd64 the library's own assembly does.

// sumMessages passes the kernel parts of the batch one after another, in pairs. An odd part
// repeats its last message.
func (h *Highway) sumMessages(dst []Digest, buf []byte, msgs []Message) {
	if cpu.Best != cpu.NEON {
		h.sumMessagesGeneric(dst, buf, msgs)
		return
	}
	var front bufferFront
	copy(front[16:], buf)
	var o messageOrder
	for len(msgs) > 0 {
		n := min(len(msgs), orderedMessages)
		order := o.sort(msgs[:n])
		if n%2 != 0 {
			order = append(order, order[n-1])
		}
		sumHighwayNEON(&dst[0], unsafe.SliceData(buf), &msgs[0], &order[0], len(order)/2, &front, &h.kernel, &remainderOrder)
		dst, msgs = dst[n:], msgs[n:]
	}
}

// bufferFront has the first bytes of a buffer, from 16 on. A kernel loads the 16 bytes
// before the end of a message. For a short message at the start of the buffer these are
// not in the buffer.
type bufferFront [32]byte

// noByte makes the shuffle of a kernel write a zero.
const noByte = 0x80

// remainderTable gives the packet for the last n bytes of a message, fewer than a packet.
// The first 16 bytes of the packet come from the 16 bytes that begin max(16, n) before
// the end of the message, the last 16 from the last 16 of the message. Row n has the
// position of each.
type remainderTable [32][32]byte

var remainderOrder = func() (order remainderTable) {
	for n := range order {
		row := &order[n]
		for i := range row {
			row[i] = noByte
		}
		first, last := (*[16]byte)(row[:16]), (*[16]byte)(row[16:])
		if n < 16 {
			orderShortRemainder(first, last, n)
		} else {
			orderLongRemainder(first, last, n)
		}
	}
	return order
}()

// orderLongRemainder is for 16 bytes or more: whole words of 32 bits keep their place,
// and the last four bytes go to the end.
func orderLongRemainder(first, last *[16]byte, n int) {
	for i := range first {
		first[i] = byte(i)
	}
	for i := 16; i < n&^3; i++ {
		last[i-16] = byte(i - (n - 16))
	}
	copy(last[12:], []byte{12, 13, 14, 15})
}

// orderShortRemainder is for less than 16 bytes: whole words of 32 bits keep their place,
// and up to three bytes, repeated, go to the fifth word.
func orderShortRemainder(first, last *[16]byte, n int) {
	before, whole, extra := byte(16-n), byte(n&^3), byte(n&3)
	for i := range whole {
		first[i] = before + i
	}
	if extra != 0 {
		copy(last[:], []byte{before + whole, before + whole + extra>>1, 15})
	}
}

// orderedMessages is the number of messages that are sorted at once: as many as callers
// have, since more of them then have equal lengths, and their order fits the stack.
const orderedMessages = 512

// messageOrder is the memory for sorting messages.
type messageOrder struct {
	order [orderedMessages]uint16
	start [orderClasses + 1]uint16
}

// orderClasses is the number of lengths that are distinguished, 16 bytes each: up to the
// lengths of Ethernet frames. Longer messages are in the last class.
const orderClasses = 128

func orderClass(m *Message) uint64 { return min((uint64(m.Len)+15)/16, orderClasses-1) }

// sort returns the indexes of 1 to orderedMessages messages in order of their classes (a
// counting sort).
func (o *messageOrder) sort(msgs []Message) (order []uint16) {
	order = o.order[:len(msgs)]
	if sameClass(msgs) { // as in a flood of short packets
		for i := range order {
			order[i] = uint16(i)
		}
		return order
	}
	clear(o.start[:])
	for i := range msgs {
		o.start[orderClass(&msgs[i])+1]++
	}
	sum := uint16(0)
	for class := range o.start {
		sum += o.start[class]
		o.start[class] = sum
	}
	for i := range msgs {
		at := &o.start[orderClass(&msgs[i])]
		order[*at] = uint16(i)
		*at++
	}
	return order
}

// sameClass reports whether there is nothing to sort.
func sameClass(msgs []Message) bool {
	class := orderClass(&msgs[0])
	for i := range msgs {
		if orderClass(&msgs[i]) != class {
			return false
		}
	}
	return true
}

// sumHighwayNEON digests groups of two messages, 1 or more. start is the state
// before the first packet, past the header in words 2 and 3.
//
//go:noescape
func sumHighwayNEON(dst *Digest, buf *byte, msgs *Message, order *uint16, groups int, front *bufferFront, start *highwayKernel, remainders *remainderTable)

// highwayKernel is the state of the hash: v0, v1, mul0 and mul1, four words each.
type highwayKernel [4][4]uint64

// newHighwayKernel returns the state before the first packet (Alakuijala, Cox,
// Wassenberg, section 2; the constants are digits of pi).
func newHighwayKernel(key [32]byte) (s highwayKernel) {
	s[2] = [4]uint64{0xdbe6d5d5fe4cce2f, 0xa4093822299f31d0, 0x13198a2e03707344, 0x243f6a8885a308d3}
	s[3] = [4]uint64{0x3bd39e10cb0ef593, 0xc0acf169b5f18a8c, 0xbe5466cf34e90c6c, 0x452821e638d01377}
	for i := range 4 {
		word := binary.LittleEndian.Uint64(key[8*i:])
		s[0][i] = s[2][i] ^ word
		s[1][i] = s[3][i] ^ bits.RotateLeft64(word, 32)
	}
	s.pastHeader()
	return s
}

// pastHeader adds words 2 and 3 of the packet with the header to the state. They are
// zero, and only the final rounds mix these words with the first two, so the result does
// not depend on the message.
func (s *highwayKernel) pastHeader() {
	v0, v1, mul0, mul1 := &s[0], &s[1], &s[2], &s[3]
	for i := 2; i < 4; i++ {
		v1[i] += mul0[i]
		mul0[i] ^= v1[i] & (1<<32 - 1) * (v0[i] >> 32)
		v0[i] += mul1[i]
		mul1[i] ^= v0[i] & (1<<32 - 1) * (v1[i] >> 32)
	}
	addZipped(v0[2:], v1[2:])
	addZipped(v1[2:], v0[2:])
}

// zipper is the order of the 16 bytes of two words after a zipper merge.
var zipper = [16]byte{3, 12, 2, 5, 14, 1, 15, 0, 11, 4, 10, 13, 9, 6, 8, 7}

// addZipped adds the zipper merge of two words to two others.
func addZipped(sum, words []uint64) {
	var in, out [16]byte
	binary.LittleEndian.PutUint64(in[:8], words[0])
	binary.LittleEndian.PutUint64(in[8:], words[1])
	for i, from := range zipper {
		out[i] = in[from]
	}
	sum[0] += binary.LittleEndian.Uint64(out[:8])
	sum[1] += binary.LittleEndian.Uint64(out[8:])
}
