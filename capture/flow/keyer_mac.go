package flow

import (
	"encoding/binary"

	"github.com/flowdedup/flowdedup/capture"
)

// gatherMACs makes the keys of hardware addresses. Each is written, and stays if the
// next one is not written in its place.
func (k *Keyer) gatherMACs(b *capture.Batch, from int, h []Header) {
	keys, n := &k.keys, 0
	macs, origins := resize(keys.MAC, 2*len(h)), resize(keys.MACFrame, 2*len(h))
	frames := b.Frames[from : from+len(h)]
	for i := range h {
		h, at := &h[i], int(frames[i].Data)
		tail := h.tail() & k.tail
		for _, end := range [2]struct {
			offset uint16
			valid  uint8
		}{{h.Src, h.Flags / FlagSrc & 1}, {h.Dst, h.Flags / FlagDst & 1}} {
			address, counts := macAddress(b.Buf, at+int(end.offset), end.valid)
			key := &macs[n]
			binary.BigEndian.PutUint64(key[:], address)
			binary.BigEndian.PutUint64(key[tail4:], tail)
			origins[n] = uint32(i)
			n += counts
		}
	}
	keys.MAC, keys.MACFrame = macs[:n], origins[:n]
}

// macAddress returns the hardware address at an offset of buf, as the first 6 bytes of
// a big-endian word, and 1 if it counts: not if there is none, valid being 0, nor
// if it is that of a group.
func macAddress(buf []byte, at int, valid uint8) (address uint64, counts int) {
	const group = 1 << 56 // first bit on the wire (IEEE 802, 8.2.2)
	switch {
	case at+8 <= len(buf):
		address = binary.BigEndian.Uint64(buf[at:at+8]) &^ 0xffff
	case valid != 0:
		address = uint64(binary.BigEndian.Uint32(buf[at:]))<<32 | uint64(binary.BigEndian.Uint16(buf[at+4:]))<<16
	}
	return address, int(valid) &^ int(address/group)
}
