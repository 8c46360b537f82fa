package flow

import (
	"encoding/binary"
	"math/bits"

	"github.com/flowdedup/flowdedup/asm/headers"
	"github.com/flowdedup/flowdedup/capture"
)

// What is not part of a key is masked instead of left out, and ends are swapped by
// mask, so that there are no branches that depend on a packet.

// gather4 makes the keys of IPv4 packets.
func (k *Keyer) gather4(buf []byte, v *headers.TupleList) {
	keys, n := &k.keys, k.perPacket*len(v.Frame)
	keys.V4Frame = k.framesOf(keys.V4Frame, v.Frame)
	if k.numeric {
		keys.Addr4 = resize(keys.Addr4, n)
	} else {
		keys.V4 = resize(keys.V4, n)
	}
	for which := range k.perPacket {
		address := 12
		if k.cfg.Kind == Dst || which == 1 {
			address = 16
		}
		switch {
		case k.numeric:
			k.addresses4(keys.Addr4, which, buf, v, address)
		case k.cfg.Kind <= IP:
			k.tagged4(keys.V4, which, buf, v, address)
		default:
			k.tuples4(keys.V4, buf, v)
		}
	}
}

// addresses4 writes the addresses at an offset of the IP header as every element
// that k.each leaves to which.
func (k *Keyer) addresses4(dst []uint32, which int, buf []byte, v *headers.TupleList, address int) {
	mask := uint32(k.both4 >> 32)
	for i, at := range v.At {
		ip := int(at) + address
		dst[k.perPacket*i+which] = binary.BigEndian.Uint32(buf[ip:ip+4]) & mask
	}
}

// tagged4 does the same with the VLAN as part of the key.
func (k *Keyer) tagged4(dst [][size4]byte, which int, buf []byte, v *headers.TupleList, address int) {
	for i, at := range v.At {
		ip, key := int(at)+address, &dst[k.perPacket*i+which]
		binary.BigEndian.PutUint64(key[:], uint64(binary.BigEndian.Uint32(buf[ip:ip+4]))<<32&k.both4)
		binary.BigEndian.PutUint64(key[tail4:], v.Tail[i]&k.tail)
	}
}

// tuples4 writes keys of two addresses.
func (k *Keyer) tuples4(dst [][size4]byte, buf []byte, v *headers.TupleList) {
	both, mask, sorted := k.both4, k.tail, k.sorted
	tails := v.Tail[:len(dst)]
	for i, at := range v.At[:len(dst)] {
		ip, key := int(at)+12, &dst[i]
		ends := binary.BigEndian.Uint64(buf[ip:ip+8]) & both
		tail := tails[i] & mask
		if sorted {
			_, greater := bits.Sub64(ends<<32>>16|tail>>32&0xffff, ends>>32<<16|tail>>48, 0)
			ends = bits.RotateLeft64(ends, int(greater<<5))
			tail = swapPorts(tail, -greater)
		}
		binary.BigEndian.PutUint64(key[:], ends)
		binary.BigEndian.PutUint64(key[tail4:], tail)
	}
}

// gather6 makes the keys of IPv6 packets.
func (k *Keyer) gather6(buf []byte, v *headers.TupleList) {
	keys := &k.keys
	keys.V6Frame = k.framesOf(keys.V6Frame, v.Frame)
	keys.V6 = resize(keys.V6, k.perPacket*len(v.Frame))
	for which := range k.perPacket {
		if k.cfg.Kind == Dst || which == 1 {
			k.tuples6(keys.V6, which, buf, v, 24, 8)
		} else {
			k.tuples6(keys.V6, which, buf, v, 8, 24)
		}
	}
}

// tuples6 writes keys of the addresses at two offsets of the IP header, of the first
// alone where k.dst is 0, as every element that k.each leaves to which.
func (k *Keyer) tuples6(keys [][size6]byte, which int, buf []byte, v *headers.TupleList, first, second int) {
	src, dst, mask, sorted := k.src, k.dst, k.tail, k.sorted
	for i, at := range v.At {
		ip, key := buf[int(at):int(at)+40], &keys[k.perPacket*i+which]
		a, b := (*[16]byte)(ip[first:first+16]), (*[16]byte)(ip[second:second+16])
		s0, s1 := le64(a[:8])&src[0], le64(a[8:])&src[1]
		d0, d1 := le64(b[:8])&dst[0], le64(b[8:])&dst[1]
		tail := uint64(0)
		if mask != 0 {
			tail = v.Tail[i] & mask
		}
		if sorted {
			swap := greater6(s0, s1, d0, d1, tail)
			x0, x1 := (s0^d0)&swap, (s1^d1)&swap
			s0, s1, d0, d1 = s0^x0, s1^x1, d0^x0, d1^x1
			tail = swapPorts(tail, swap)
		}
		binary.LittleEndian.PutUint64(key[:], s0)
		binary.LittleEndian.PutUint64(key[8:], s1)
		binary.LittleEndian.PutUint64(key[dst6:], d0)
		binary.LittleEndian.PutUint64(key[dst6+8:], d1)
		binary.BigEndian.PutUint64(key[tail6:], tail)
		binary.BigEndian.PutUint64(key[tail6+8:], 0)
	}
}

// greater6 returns all ones if the first address, with the first port of the tail, is
// the greater one, else 0. The words of addresses are little-endian.
func greater6(s0, s1, d0, d1, tail uint64) uint64 {
	_, greater := bits.Sub64(tail>>32&0xffff, tail>>48, 0)
	_, greater = bits.Sub64(bits.ReverseBytes64(d1), bits.ReverseBytes64(s1), greater)
	_, greater = bits.Sub64(bits.ReverseBytes64(d0), bits.ReverseBytes64(s0), greater)
	return -greater
}

// tail returns ports, protocol and VLAN as they end a key.
func (h *Header) tail() uint64 {
	return uint64(h.SrcPort)<<48 | uint64(h.DstPort)<<32 | uint64(h.Proto)<<24 | uint64(h.Flags&FlagVLAN)<<16 | uint64(h.VLAN)
}

// swapPorts swaps the ports of a tail if swap is all ones, not if it is 0.
func swapPorts(tail, swap uint64) uint64 {
	differ := (tail>>48 ^ tail>>32) & 0xffff & swap
	return tail ^ differ<<48 ^ differ<<32
}

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
