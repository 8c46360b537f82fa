// SPDX-License-Identifier: Apache-2.0

//go:build (amd64 || arm64) && !purego

package digest

import (
	"unsafe"

	"github.com/flowdedup/flowdedup/asm/internal/cpu"
)

// sumMessages passes a kernel parts of the batch one after another, in groups of its
// lanes. Spare lanes repeat the last message.
func (h *Highway) sumMessages(dst []Digest, buf []byte, msgs []Message) {
	lanes := highwayLanes()
	if lanes == 0 {
		h.sumMessagesGeneric(dst, buf, msgs)
		return
	}
	var front bufferFront
	copy(front[16:], buf)
	var o messageOrder
	for len(msgs) > 0 {
		n := min(len(msgs), orderedMessages)
		order := o.sort(msgs[:n])
		for len(order)%lanes != 0 {
			order = append(order, order[n-1])
		}
		h.sumGroups(dst[:n], buf, msgs[:n], order, &front)
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

func (a *AES) sum16(dst []Digest, keys [][16]byte) {
	if a.level == cpu.Generic {
		a.sum16Generic(dst, keys)
		return
	}
	if len(keys) > 0 {
		a.encryptBlocks(dst, unsafe.Slice((*Digest)(unsafe.Pointer(&keys[0])), len(keys)))
	}
}

func (a *AES) sum48(dst []Digest, keys [][48]byte) {
	if a.level == cpu.Generic {
		a.sum48Generic(dst, keys)
		return
	}
	if len(keys) > 0 {
		a.sum48Keys(dst, keys)
	}
}

func (a *AES) sumMessages(dst []Digest, buf []byte, msgs []Message) (done int) {
	if a.level == cpu.Generic || len(msgs) == 0 {
		return a.sumMessagesGeneric(dst, buf, msgs)
	}
	return a.hashMessages(dst, buf, msgs)
}
