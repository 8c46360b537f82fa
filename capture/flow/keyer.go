package flow

import (
	"encoding/binary"
	"math"

	"github.com/flowdedup/flowdedup/capture"
)

// Layout of a key, in bytes. IPv4 (16): addresses at 0 and 4, ports at 8 and
// 10, then protocol, VLAN flag and identifier at 12, 13, 14. IPv6 (48): the
// same with addresses of 16 bytes, so from 32 on, and 8 zero bytes at the end.
// Hardware address (16): 6 bytes, and the VLAN as for IPv4. Integers are
// big-endian; what is not part of the key is zero.
const (
	size4, size6 = 16, 48
	dst4, dst6   = 4, 16
	tail4, tail6 = 8, 32 // ports, protocol, VLAN
)

// Keys are the elements of a run of frames. For each family the Frame slice
// says which frame an element comes from, counted from the first of the run.
type Keys struct {
	// Addr4 holds the IPv4 elements, as big-endian numbers, where a key is one
	// address without a VLAN; V4 holds them otherwise.
	Addr4    []uint32
	V4       [][size4]byte
	V4Frame  []uint32
	V6       [][size6]byte
	V6Frame  []uint32
	MAC      [][size4]byte
	MACFrame []uint32
}

// Keyer makes keys from decoded frames. It keeps its buffers from call to call,
// so a Keyer serves one goroutine.
type Keyer struct {
	cfg   KeyConfig
	mask4 uint32
	mask6 [2]uint64
	keys  Keys
}

// NewKeyer returns a Keyer. It panics if cfg.Validate returns an error.
func NewKeyer(cfg KeyConfig) *Keyer {
	if err := cfg.Validate(); err != nil {
		panic("flow: NewKeyer: " + err.Error())
	}
	k := &Keyer{cfg: cfg, mask4: math.MaxUint32, mask6: [2]uint64{math.MaxUint64, math.MaxUint64}}
	if cfg.Mask4 != 0 {
		k.mask4 <<= 32 - cfg.Mask4
	}
	if cfg.Mask6 != 0 {
		k.mask6[0] <<= max(64-cfg.Mask6, 0)
		k.mask6[1] <<= min(128-cfg.Mask6, 64)
	}
	return k
}

// Gather makes the keys of the frames from to from+len(h)-1 of b, which h
// describes. They are valid until the next call.
func (k *Keyer) Gather(b *capture.Batch, from int, h []Header) *Keys {
	k.reset(len(h))
	switch {
	case k.cfg.Of == MACs:
		k.stations(b, from, h)
	case k.cfg.Of <= IP:
		k.addresses(b, from, h)
	default:
		k.tuples(b, from, h)
	}
	return &k.keys
}

// reset empties the keys and makes room for those of n frames.
func (k *Keyer) reset(n int) {
	if k.cfg.Of == IP || k.cfg.Of == MACs {
		n *= 2
	}
	keys := &k.keys
	switch {
	case k.cfg.Of == MACs:
		keys.MAC, keys.MACFrame = room(keys.MAC, n), room(keys.MACFrame, n)
		return
	case k.cfg.Of <= IP && !k.cfg.VLAN:
		keys.Addr4 = room(keys.Addr4, n)
	default:
		keys.V4 = room(keys.V4, n)
	}
	keys.V4Frame = room(keys.V4Frame, n)
	keys.V6, keys.V6Frame = room(keys.V6, n), room(keys.V6Frame, n)
}

func room[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, 0, n)
	}
	return s[:0]
}

// addresses makes the keys of one address.
func (k *Keyer) addresses(b *capture.Batch, from int, h []Header) {
	src, dst := k.cfg.Of != Dst, k.cfg.Of != Src
	for i := range h {
		h := &h[i]
		switch h.Version {
		case 4:
			ip := b.Data(from + i)[h.Start:][:20]
			if src {
				k.address4(h, uint32(i), binary.BigEndian.Uint32(ip[12:]))
			}
			if dst {
				k.address4(h, uint32(i), binary.BigEndian.Uint32(ip[16:]))
			}
		case 6:
			ip := b.Data(from + i)[h.Start:][:40]
			if src {
				k.address6(h, uint32(i), ip[8:24])
			}
			if dst {
				k.address6(h, uint32(i), ip[24:40])
			}
		}
	}
}

func (k *Keyer) address4(h *Header, frame, addr uint32) {
	keys := &k.keys
	keys.V4Frame = append(keys.V4Frame, frame)
	if !k.cfg.VLAN {
		keys.Addr4 = append(keys.Addr4, addr&k.mask4)
		return
	}
	var key [size4]byte
	binary.BigEndian.PutUint32(key[:], addr&k.mask4)
	k.vlan(key[tail4:], h)
	keys.V4 = append(keys.V4, key)
}

func (k *Keyer) address6(h *Header, frame uint32, addr []byte) {
	var key [size6]byte
	k.put6(key[:], addr)
	k.vlan(key[tail6:], h)
	k.keys.V6 = append(k.keys.V6, key)
	k.keys.V6Frame = append(k.keys.V6Frame, frame)
}

// put6 writes a masked IPv6 address.
func (k *Keyer) put6(key, addr []byte) {
	binary.BigEndian.PutUint64(key, binary.BigEndian.Uint64(addr)&k.mask6[0])
	binary.BigEndian.PutUint64(key[8:], binary.BigEndian.Uint64(addr[8:])&k.mask6[1])
}

// vlan writes the VLAN into the tail of a key, where it is part of it.
func (k *Keyer) vlan(tail []byte, h *Header) {
	if k.cfg.VLAN && h.Flags&FlagVLAN != 0 {
		tail[5] = 1
		binary.BigEndian.PutUint16(tail[6:], h.VLAN)
	}
}

// tuples makes the keys of both addresses, with ports and protocol for flows.
func (k *Keyer) tuples(b *capture.Batch, from int, h []Header) {
	flows, sorted := k.cfg.Of != Pair, k.cfg.Of == Biflow
	keys := &k.keys
	for i := range h {
		h := &h[i]
		if h.Version == 0 {
			continue
		}
		ip := b.Data(from + i)[h.Start:]
		var ports uint32
		var proto uint8
		if flows {
			ports, proto = uint32(h.SrcPort)<<16|uint32(h.DstPort), h.Proto
		}
		if h.Version == 4 {
			keys.V4 = append(keys.V4, [size4]byte{})
			k.tuple4(keys.V4[len(keys.V4)-1][:], ip[:20], h, ports, proto, sorted)
			keys.V4Frame = append(keys.V4Frame, uint32(i))
			continue
		}
		keys.V6 = append(keys.V6, [size6]byte{})
		k.tuple6(keys.V6[len(keys.V6)-1][:], ip[:40], h, ports, proto, sorted)
		keys.V6Frame = append(keys.V6Frame, uint32(i))
	}
}

func (k *Keyer) tuple4(key, ip []byte, h *Header, ports uint32, proto uint8, sorted bool) {
	src := binary.BigEndian.Uint32(ip[12:]) & k.mask4
	dst := binary.BigEndian.Uint32(ip[16:]) & k.mask4
	if sorted && uint64(src)<<16|uint64(ports>>16) > uint64(dst)<<16|uint64(ports&0xffff) {
		src, dst, ports = dst, src, ports<<16|ports>>16
	}
	binary.BigEndian.PutUint32(key, src)
	binary.BigEndian.PutUint32(key[dst4:], dst)
	k.tail(key[tail4:], h, ports, proto)
}

func (k *Keyer) tuple6(key, ip []byte, h *Header, ports uint32, proto uint8, sorted bool) {
	src, dst := ip[8:24], ip[24:40]
	if sorted && k.ends6(src, dst, ports) > 0 {
		src, dst, ports = dst, src, ports<<16|ports>>16
	}
	k.put6(key, src)
	k.put6(key[dst6:], dst)
	k.tail(key[tail6:], h, ports, proto)
}

// ends6 compares the two ends of an IPv6 tuple as they appear in the key.
func (k *Keyer) ends6(src, dst []byte, ports uint32) int {
	for i, mask := range k.mask6 {
		s, d := binary.BigEndian.Uint64(src[8*i:])&mask, binary.BigEndian.Uint64(dst[8*i:])&mask
		switch {
		case s < d:
			return -1
		case s > d:
			return 1
		}
	}
	return int(ports>>16) - int(ports&0xffff)
}

func (k *Keyer) tail(tail []byte, h *Header, ports uint32, proto uint8) {
	binary.BigEndian.PutUint32(tail, ports)
	tail[4] = proto
	k.vlan(tail, h)
}

// stations makes the keys of hardware addresses.
func (k *Keyer) stations(b *capture.Batch, from int, h []Header) {
	for i := range h {
		h := &h[i]
		data := b.Data(from + i)
		if h.Flags&FlagSrc != 0 {
			k.station(h, uint32(i), data[h.Src:][:6])
		}
		if h.Flags&FlagDst != 0 {
			k.station(h, uint32(i), data[h.Dst:][:6])
		}
	}
}

func (k *Keyer) station(h *Header, frame uint32, addr []byte) {
	const group = 1 // first bit on the wire (IEEE 802, 8.2.2)
	if addr[0]&group != 0 {
		return
	}
	var key [size4]byte
	copy(key[:], addr)
	k.vlan(key[tail4:], h)
	k.keys.MAC = append(k.keys.MAC, key)
	k.keys.MACFrame = append(k.keys.MACFrame, frame)
}
