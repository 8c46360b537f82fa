// SPDX-License-Identifier: Apache-2.0

package digest

import "encoding/binary"

// MaskSize is the number of bytes that a mask is for.
const MaskSize = 128

// Mask has the bits that count of the first MaskSize bytes of a message, as little-endian words.
// All later bytes count.
type Mask [MaskSize / 8]uint64

// AllCount returns a mask without effect.
func AllCount() (m Mask) {
	for i := range m {
		m[i] = ^uint64(0)
	}
	return m
}

// Drop clears the bits of byte at, which is less than MaskSize.
func (m *Mask) Drop(at uint32, bits uint8) { m[at/8] &^= uint64(bits) << (at % 8 * 8) }

// Masks digests messages of which some bits do not count: they count as zero, whatever they are in
// the buffer. It has at most 256 masks. Mask 0 has no effect.
//
// Where the CPU has AES instructions, kernels of [AES] apply masks to registers. Elsewhere messages are
// copied first, which gives the same digests, to memory as large as the longest message. It is kept from
// call to call, so one goroutine at a time may use Masks.
type Masks struct {
	masks   [256]Mask
	numbers map[Mask]uint8
	copies  []byte
	msgs    []Message
}

// NewMasks returns masks that are only number 0.
func NewMasks() *Masks {
	m := &Masks{numbers: make(map[Mask]uint8)}
	m.Number(AllCount())
	return m
}

// Number returns the number of a mask. It returns false if there is no room for the mask.
// It takes constant time.
func (m *Masks) Number(mask Mask) (number uint8, ok bool) {
	number, ok = m.numbers[mask]
	if ok || len(m.numbers) == len(m.masks) {
		return number, ok
	}
	number = uint8(len(m.numbers))
	m.numbers[mask], m.masks[number] = number, mask
	return number, true
}

// Sum sets dst[i] to the digest of msgs[i] by d, under the mask with the number which[i]. It panics
// if dst or which is shorter than msgs, or a message reaches beyond buf. It takes time linear in
// the messages, and only reads buf.
func (m *Masks) Sum(dst []Digest, buf []byte, msgs []Message, which []uint8, d MessageDigester) {
	dst, which = dst[:len(msgs)], which[:len(msgs)]
	if len(msgs) == 0 {
		return
	}
	if a, ok := d.(*AES); ok {
		if done, ok := a.sumMasked(dst, buf, msgs, which, &m.masks); ok {
			if done < len(msgs) {
				panic(beyondBuf("Masks.Sum"))
			}
			return
		}
	}
	for len(msgs) > 0 {
		n := m.copy(buf, msgs, which)
		d.SumMessages(dst, m.copies, m.msgs)
		dst, msgs, which = dst[n:], msgs[n:], which[n:]
	}
}

// copiesSize is the memory for copies. Longer messages have more, and are copied singly.
const copiesSize = 32 << 10

// copy copies masked messages, 1 or more, and returns how many.
func (m *Masks) copy(buf []byte, msgs []Message, which []uint8) (n int) {
	m.msgs = m.msgs[:0]
	at := 0
	for i := range msgs {
		from := &msgs[i]
		if from.isOutside(buf) {
			panic(beyondBuf("Masks.Sum"))
		}
		size := int(from.Len)
		if at+size+MaskSize > len(m.copies) {
			if i > 0 {
				break
			}
			m.copies = make([]byte, max(copiesSize, size+MaskSize))
		}
		m.masks[which[i]].copy(m.copies[at:][:size+MaskSize], buf[from.Off:], size)
		m.msgs = append(m.msgs, Message{Off: uint32(at), Len: from.Len, Tweak: from.Tweak})
		at += size
	}
	return len(m.msgs)
}

// copy copies size bytes of src to dst, less what does not count. It may write MaskSize bytes more.
func (m *Mask) copy(dst, src []byte, size int) {
	if len(src) < MaskSize || size > MaskSize {
		copy(dst, src[:size])
		src = dst
	}
	from, to := (*[MaskSize]byte)(src), (*[MaskSize]byte)(dst)
	for w, keep := range m {
		binary.LittleEndian.PutUint64(to[8*w:], binary.LittleEndian.Uint64(from[8*w:])&keep)
	}
}
