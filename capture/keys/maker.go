// SPDX-License-Identifier: Apache-2.0

package keys

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	kernels "github.com/flowdedup/flowdedup/asm/headers"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
)

// The parts of a tail as a big-endian word.
const (
	tailPorts    = 0xffffffff << 32
	tailProtocol = 0xff << 24
	tailVLAN     = 0x1ffff
)

// keyMaker makes keys of one kind from lists of IP headers, or from hardware addresses.
type keyMaker struct {
	cfg       Config
	perPacket int       // elements per packet
	numeric   bool      // IPv4 elements are numbers: Keys.Addr4
	sorted    bool      // the smaller end comes first
	src       [2]uint64 // masks of the first address of an IPv6 key, in memory order
	dst       [2]uint64 // masks of the second address, 0 if there is none
	both4     uint64    // mask of both addresses of an IPv4 key
	tail      uint64    // mask of the tail
	keys      Keys
	keeps     bool // kept has the keys of all calls
	kept      Keys
}

func newKeyMaker(cfg Config) *keyMaker {
	if err := cfg.Validate(); err != nil {
		panic("keys: NewKeyer: " + err.Error())
	}
	k := &keyMaker{cfg: cfg, perPacket: 1, numeric: cfg.Kind <= IP && !cfg.VLAN, sorted: cfg.Kind == Biflow}
	if cfg.Kind == IP || cfg.Kind == MACs {
		k.perPacket = 2
	}
	k.src = [2]uint64{math.MaxUint64, math.MaxUint64}
	if cfg.Mask6 != 0 {
		k.src[0] = bits.ReverseBytes64(k.src[0] << max(64-cfg.Mask6, 0))
		k.src[1] = bits.ReverseBytes64(k.src[1] << min(128-cfg.Mask6, 64))
	}
	mask4 := uint64(math.MaxUint32)
	if cfg.Mask4 != 0 {
		mask4 = mask4 << (32 - cfg.Mask4) & math.MaxUint32
	}
	k.both4 = mask4 << 32
	if cfg.Kind > IP {
		k.dst, k.both4 = k.src, k.both4|mask4
	}
	if cfg.Kind == Flow || cfg.Kind == Biflow {
		k.tail = tailPorts | tailProtocol
	}
	if cfg.VLAN {
		k.tail |= tailVLAN
	}
	return k
}

// gather makes the keys from the lists of f, or from h for hardware addresses.
func (k *keyMaker) gather(f *families, b *capture.Batch, from int, h []headers.Header) *Keys {
	if k.cfg.Kind == MACs {
		k.gatherMACs(b, from, h)
		return &k.keys
	}
	k.gather4(b.Buf, &f.four, addresses4At)
	k.gather6(b.Buf, &f.six, addresses6At)
	return &k.keys
}

// Where the addresses are in IP headers, the source first.
const (
	addresses4At = 12
	addresses6At = 8
)

// framesOf returns which frames the elements come from: frames itself, or each of them
// twice, written to the memory of old.
func (k *keyMaker) framesOf(old, frames []uint32) []uint32 {
	if k.perPacket == 1 {
		return frames
	}
	old = capture.Resize(old, 2*len(frames))
	for i, f := range frames {
		old[2*i], old[2*i+1] = f, f
	}
	return old
}

// No branch here depends on a packet. Fields that are not part of a key are masked
// instead of left out, and the two ends are swapped by mask.

// room returns room for n keys, in place of the last keys or behind the kept keys.
func room[K any](k *keyMaker, last []K, kept *[]K, n int) []K {
	if !k.keeps {
		return capture.Resize(last, n)
	}
	before := len(*kept)
	*kept = slices.Grow(*kept, n)[:before+n]
	return (*kept)[before:]
}

// gather4 makes the keys of IPv4 packets. source is where the two addresses begin, from
// the offsets in the list on.
func (k *keyMaker) gather4(buf []byte, v *kernels.TupleList, source int) {
	keys, n := &k.keys, k.perPacket*len(v.Frame)
	keys.V4Frame = k.framesOf(keys.V4Frame, v.Frame)
	if k.numeric {
		keys.Addr4 = capture.Resize(keys.Addr4, n)
	} else {
		keys.V4 = room(k, keys.V4, &k.kept.V4, n)
	}
	for which := range k.perPacket {
		address := source
		if k.cfg.Kind == Dst || which == 1 {
			address += 4
		}
		switch {
		case k.numeric:
			k.addresses4(keys.Addr4, which, buf, v, address)
		case k.cfg.Kind <= IP:
			k.tagged4(keys.V4, which, buf, v, address)
		default:
			k.tuples4(keys.V4, buf, v, source)
		}
	}
}

// addresses4 writes the addresses at an offset from the places in the list. With two elements per
// packet, which says whether they become the first or the second.
func (k *keyMaker) addresses4(dst []uint32, which int, buf []byte, v *kernels.TupleList, address int) {
	mask := uint32(k.both4 >> 32)
	for i, at := range v.At {
		ip := int(at) + address
		dst[k.perPacket*i+which] = binary.BigEndian.Uint32(buf[ip:ip+4]) & mask
	}
}

// tagged4 writes the same addresses with the VLAN as part of the key.
func (k *keyMaker) tagged4(dst [][size4]byte, which int, buf []byte, v *kernels.TupleList, address int) {
	for i, at := range v.At {
		ip, key := int(at)+address, &dst[k.perPacket*i+which]
		binary.BigEndian.PutUint64(key[:], uint64(binary.BigEndian.Uint32(buf[ip:ip+4]))<<32&k.both4)
		binary.BigEndian.PutUint64(key[tail4:], v.Tail[i]&k.tail)
	}
}

// tuples4 writes keys with two addresses.
func (k *keyMaker) tuples4(dst [][size4]byte, buf []byte, v *kernels.TupleList, source int) {
	both, mask, sorted := k.both4, k.tail, k.sorted
	tails := v.Tail[:len(dst)]
	for i, at := range v.At[:len(dst)] {
		ip, key := int(at)+source, &dst[i]
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

// gather6 makes the keys of IPv6 packets, as gather4 does for IPv4.
func (k *keyMaker) gather6(buf []byte, v *kernels.TupleList, source int) {
	keys := &k.keys
	keys.V6Frame = k.framesOf(keys.V6Frame, v.Frame)
	keys.V6 = room(k, keys.V6, &k.kept.V6, k.perPacket*len(v.Frame))
	for which := range k.perPacket {
		if k.cfg.Kind == Dst || which == 1 {
			k.tuples6(keys.V6, which, buf, v, source, 16, 0)
		} else {
			k.tuples6(keys.V6, which, buf, v, source, 0, 16)
		}
	}
}

// tuples6 writes keys of the addresses at two offsets from where both begin. Where k.dst is 0,
// the second address is not part of the key. The argument which is as for addresses4.
func (k *keyMaker) tuples6(keys [][size6]byte, which int, buf []byte, v *kernels.TupleList, source, first, second int) {
	src, dst, mask, sorted := k.src, k.dst, k.tail, k.sorted
	for i, at := range v.At {
		from, key := int(at)+source, &keys[k.perPacket*i+which]
		both := buf[from : from+32]
		a, b := (*[16]byte)(both[first:first+16]), (*[16]byte)(both[second:second+16])
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

// greater6 returns all ones if the first end, address then port, is greater than the
// second, else 0. The words of addresses are little-endian.
func greater6(s0, s1, d0, d1, tail uint64) uint64 {
	_, greater := bits.Sub64(tail>>32&0xffff, tail>>48, 0)
	_, greater = bits.Sub64(bits.ReverseBytes64(d1), bits.ReverseBytes64(s1), greater)
	_, greater = bits.Sub64(bits.ReverseBytes64(d0), bits.ReverseBytes64(s0), greater)
	return -greater
}

// tailOf returns ports, protocol and VLAN as the end of a key.
func tailOf(h *headers.Header) uint64 {
	return uint64(h.SrcPort)<<48 | uint64(h.DstPort)<<32 | uint64(h.Proto)<<24 | uint64(h.Flags&headers.FlagVLAN)<<16 | uint64(h.VLAN)
}

// swapPorts swaps the ports of a tail if swap is all ones, and does not if it is 0.
func swapPorts(tail, swap uint64) uint64 {
	differ := (tail>>48 ^ tail>>32) & 0xffff & swap
	return tail ^ differ<<48 ^ differ<<32
}

// gatherMACs makes the keys of hardware addresses. It writes every address; the next address
// overwrites an address that does not count.
func (k *keyMaker) gatherMACs(b *capture.Batch, from int, h []headers.Header) {
	keys, n := &k.keys, 0
	macs, origins := capture.Resize(keys.MAC, 2*len(h)), capture.Resize(keys.MACFrame, 2*len(h))
	frames := b.Frames[from : from+len(h)]
	for i := range h {
		h, at := &h[i], int(frames[i].Data)
		tail := tailOf(h) & k.tail
		for _, end := range [2]struct {
			offset uint16
			valid  uint8
		}{{h.Src, h.Flags / headers.FlagSrc & 1}, {h.Dst, h.Flags / headers.FlagDst & 1}} {
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

// macAddress returns the hardware address at an offset of buf, as the upper 6 bytes of a
// big-endian word. counts is 1 for the address of a station, and 0 for a group address or
// if valid is 0.
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
