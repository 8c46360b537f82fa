// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"encoding/binary"

	"github.com/flowdedup/flowdedup/asm/frames"
)

// Whole knows which frames are surely no fragments: IP in Ethernet, without tags, captured to at least
// 34 bytes. It is immutable. The kernel knows its layout.
type Whole struct {
	extensions  [8]uint64   // a bit for each protocol, twice
	isExtension [256]uint32 // 1 for each
}

const (
	// wholeGroup is how many frames are looked at together, as nearly all are whole.
	wholeGroup = 8
	// wholeLeast is the least that has to be captured of a frame.
	wholeLeast = datagramStart + 20
)

// NewWhole returns a Whole for datagrams of IPv6 whose next header is no extension.
func NewWhole(isExtension *[256]bool) *Whole {
	w := &Whole{extensions: protocolBits(&[2][256]bool{*isExtension, *isExtension})}
	for protocol, is := range isExtension {
		if is {
			w.isExtension[protocol] = 1
		}
	}
	return w
}

// Count returns the number of frames before the first eight with others, a multiple of eight. The
// frames lie in buf.
func (w *Whole) Count(all []frames.Frame, buf []byte) (n int) {
	n, done := w.countVectors(all, buf)
	for !done && len(all)-n >= wholeGroup && w.areWhole((*[wholeGroup]frames.Frame)(all[n:]), buf) {
		n += wholeGroup
	}
	return n
}

// areWhole does eight frames. A CPU cannot predict the mix of versions, so no branch depends on it.
func (w *Whole) areWhole(all *[wholeGroup]frames.Frame, buf []byte) bool {
	const ip4, ip6, moreOrOffset = 0x0008, 0xdd86, 0xff3f // as read from memory, in little-endian order
	others := uint32(0)
	for i := range all {
		f := &all[i]
		if f.CapLen < wholeLeast {
			return false
		}
		b := (*[wholeLeast]byte)(buf[f.Data:])
		typ, field := uint32(binary.LittleEndian.Uint16(b[12:])), uint32(binary.LittleEndian.Uint16(b[20:]))
		others |= (typ ^ ip4 | field&moreOrOffset) * (typ ^ ip6 | w.isExtension[uint8(field)])
	}
	return others == 0
}
