package flow

import (
	"encoding/binary"
	"math/bits"
)

// What is not part of a key is masked instead of left out, and ends are swapped by
// mask, so that there are no branches that depend on a packet.

// gather4 makes the keys of IPv4 packets.
func (k *Keyer) gather4(buf []byte, h []Header) {
	keys, n := &k.keys, k.each*len(k.four.frames)
	keys.V4Frame = k.framesOf(keys.V4Frame, k.four.frames)
	if k.bare {
		keys.Addr4 = room(keys.Addr4, n)
	} else {
		keys.V4 = room(keys.V4, n)
	}
	for which := range k.each {
		address := 12
		if k.cfg.Of == Dst || which == 1 {
			address = 16
		}
		switch {
		case k.bare:
			k.addresses4(keys.Addr4, which, buf, address)
		case k.cfg.Of <= IP:
			k.tagged4(keys.V4, which, buf, h, address)
		default:
			k.tuples4(keys.V4, buf, h)
		}
	}
}

// addresses4 writes the addresses at an offset of the IP header as every element
// that k.each leaves to which.
func (k *Keyer) addresses4(dst []uint32, which int, buf []byte, address int) {
	mask := uint32(k.both4 >> 32)
	for i, at := range k.four.at {
		ip := int(at) + address
		dst[k.each*i+which] = binary.BigEndian.Uint32(buf[ip:ip+4]) & mask
	}
}

// tagged4 does the same with the VLAN as part of the key.
func (k *Keyer) tagged4(dst [][size4]byte, which int, buf []byte, h []Header, address int) {
	for i, at := range k.four.at {
		ip, key := int(at)+address, &dst[k.each*i+which]
		binary.BigEndian.PutUint64(key[:], uint64(binary.BigEndian.Uint32(buf[ip:ip+4]))<<32&k.both4)
		binary.BigEndian.PutUint64(key[tail4:], h[k.four.frames[i]].tail()&k.tail)
	}
}

// tuples4 writes keys of two addresses.
func (k *Keyer) tuples4(dst [][size4]byte, buf []byte, h []Header) {
	both, mask, sorted := k.both4, k.tail, k.sorted
	frames := k.four.frames[:len(dst)]
	for i, at := range k.four.at[:len(dst)] {
		ip, key := int(at)+12, &dst[i]
		ends := binary.BigEndian.Uint64(buf[ip:ip+8]) & both
		tail := h[frames[i]].tail() & mask
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
func (k *Keyer) gather6(buf []byte, h []Header) {
	keys := &k.keys
	keys.V6Frame = k.framesOf(keys.V6Frame, k.six.frames)
	keys.V6 = room(keys.V6, k.each*len(k.six.frames))
	for i, at := range k.six.at {
		ip := (*[40]byte)(buf[int(at) : int(at)+40])
		tail := h[k.six.frames[i]].tail() & k.tail
		src, dst := ip[8:24], ip[24:40]
		if k.cfg.Of == Dst {
			src = dst
		}
		k.put6(&keys.V6[k.each*i], src, dst, tail)
		if k.each == 2 {
			k.put6(&keys.V6[2*i+1], dst, src, tail)
		}
	}
}

// put6 writes a key, of src alone where k.dst is 0.
func (k *Keyer) put6(key *[size6]byte, src, dst []byte, tail uint64) {
	s0, s1 := binary.BigEndian.Uint64(src)&k.src[0], binary.BigEndian.Uint64(src[8:])&k.src[1]
	d0, d1 := binary.BigEndian.Uint64(dst)&k.dst[0], binary.BigEndian.Uint64(dst[8:])&k.dst[1]
	if k.sorted {
		_, greater := bits.Sub64(tail>>32&0xffff, tail>>48, 0)
		_, greater = bits.Sub64(d1, s1, greater)
		_, greater = bits.Sub64(d0, s0, greater)
		swap := -greater
		x0, x1 := (s0^d0)&swap, (s1^d1)&swap
		s0, s1, d0, d1 = s0^x0, s1^x1, d0^x0, d1^x1
		tail = swapPorts(tail, swap)
	}
	binary.BigEndian.PutUint64(key[:], s0)
	binary.BigEndian.PutUint64(key[8:], s1)
	binary.BigEndian.PutUint64(key[dst6:], d0)
	binary.BigEndian.PutUint64(key[dst6+8:], d1)
	binary.BigEndian.PutUint64(key[tail6:], tail)
	binary.BigEndian.PutUint64(key[tail6+8:], 0)
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
