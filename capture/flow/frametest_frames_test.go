// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"bytes"
	"slices"

	"github.com/flowdedup/flowdedup/capture"
)

// tap is a frame as one of several taps saw it.
type tap struct {
	name string
	link capture.LinkType
	fcs  uint8 // length that the capture states for it
	cut  int   // bytes on the wire that were not captured
	data []byte
}

func onEthernet(name string, data []byte) tap {
	return tap{name: name, link: capture.LinkEthernet, data: data}
}

// batchOf returns a batch of frames, each from its own interface.
func batchOf(taps []tap) *capture.Batch {
	b := &capture.Batch{Sections: []capture.Section{{}}}
	for i, s := range taps {
		one := newBatch(s.link, s.data)
		f := one.Frames[0]
		f.Data, f.Interface, f.WireLen = uint32(len(b.Buf)), uint32(i), f.WireLen+uint32(s.cut)
		b.Buf, b.Frames = append(b.Buf, s.data...), append(b.Frames, f)
		b.Interfaces = append(b.Interfaces, capture.Interface{LinkType: s.link, FCSLen: s.fcs, CapturePoint: uint32(i)})
	}
	return b
}

// padded60 returns a frame as a station sends it, with padding.
func padded60(frame []byte) []byte {
	return append(slices.Clone(frame), make([]byte, max(60-len(frame), 0))...)
}

// inserted returns a frame with bytes inserted between its addresses and its ethertype.
func inserted(frame []byte, parts ...any) []byte { return join(frame[:12], join(parts...), frame[12:]) }

func vlan(frame []byte) []byte { return inserted(frame, be16(typeVLAN), be16(5<<13|100)) }

func qinq(frame []byte) []byte { return inserted(vlan(frame), be16(typeQinQ), be16(7)) }

// hsr is a frame on a ring of IEC 62439-3, from one of two ports.
func hsr(frame []byte, port, sequence int) []byte {
	return inserted(frame, be16(typeHSR), be16(port<<12|(len(frame)-14+6)), be16(sequence))
}

// prp is a frame on one of two LANs of IEC 62439-3; header is the length of what comes
// before the payload.
func prp(frame []byte, header, lan, sequence int) []byte {
	return join(frame, be16(sequence), be16(lan<<12|(len(frame)-header+6)), be16(0x88fb))
}

// sll and sll2 are frames in cooked captures.
func sll(kind int, src []byte, typ int, payload []byte) []byte {
	return join(be16(kind), be16(1), be16(len(src)), src, make([]byte, 8-len(src)), be16(typ), payload)
}

func sll2(index uint32, kind byte, src []byte, typ int, payload []byte) []byte {
	return join(be16(typ), "\x00\x00", be32(index), be16(1), []byte{kind, byte(len(src))}, src, make([]byte, 8-len(src)), payload)
}

// arp is a request of 28 bytes for 10.0.0.n.
func arp(n byte) []byte {
	return ether(typeARP, join("\x00\x01\x08\x00\x06\x04\x00\x01", mac(2), "\x0a\x00\x00\x01", make([]byte, 6), []byte{10, 0, 0, n}))
}

// goose is a frame of a protection relay, profinet one of a controller. The zeros at their ends
// are data.
func goose(sequence byte) []byte {
	return ether(0x88b8, join("\x00\x01\x00\x4d\x00\x00\x00\x00", "\x61\x47 the data set of a relay", make([]byte, 40), []byte{sequence, 0, 0}))
}

// wifiFrame is an 802.11 frame with three addresses.
func wifiFrame(control, flags byte, rest ...any) []byte {
	return join([]byte{control, flags, 0, 0}, mac(1), mac(2), mac(3), "\x00\x00", join(rest...))
}

// gre4 and udp4 are the outer packets of most tunnels.
func gre4(parts ...any) []byte { return ip4(9, protoGRE, join(parts...)) }

func udp4(port int, p []byte) []byte { return ip4(9, protoUDP, udp(40000, port, p)) }

// arpFrame is an Ethernet frame without IP.
var arpFrame = arp(1)

// broken4 is packet4 with a wrong checksum in its header: no tunnel is believed to carry it.
var broken4 = join(packet4[:10], "\xab\xcd", packet4[12:])

func ah(next byte, p []byte) []byte {
	return ip4(9, protoAH, join([]byte{next}, ahHeader[1:], p))
}

// eoip is a frame in MikroTik's EoIP, with so many bytes by its length field.
func eoip(frame []byte, n int) []byte {
	return gre4("\x20\x01", be16(typeEoIP), be16(n), "\x05\x00", frame)
}

// l2tp is a data message with a tunnel of 7 and a session of 9.
func l2tp(flags int, before []byte, ppp ...any) []byte {
	return join(be16(flags|2), before, be16(7), be16(9), join(ppp...))
}

// over4 is an Ethernet frame with an IPv4 packet.
func over4(packet []byte) []byte { return ether(typeIPv4, packet) }

// lispWith is a packet in LISP with an instance.
func lispWith(instance uint32) []byte {
	return udp4(portLISP, join("\x08\x00\x00\x00", be32(instance<<8), packet4))
}

// arista is a frame with the time header of a switch, in 64 or 48 bits.
func arista(frame []byte, version int, time string) []byte {
	return inserted(frame, be16(typeArista), be16(1), be16(version), time)
}

// macsec is a frame in a security tag of IEEE 802.1AE with the given control bits. sci is the
// identifier of the channel, if the control bits announce one.
func macsec(frame []byte, control byte, sci string) []byte {
	length := 0
	if n := len(frame) - 12; n < 48 {
		length = n
	}
	return join(inserted(frame, be16(typeMACsec), []byte{control, byte(length)}, be32(9), sci), "integrity check!")
}

// erf is the header of an ERF record of a type before a packet of so many bytes.
func erf(typ byte, wire int, rest ...any) []byte {
	return join("\x00\x00\x00\x00\x00\xf1\x53\x65", []byte{typ, 4}, be16(18+wire), be16(0), be16(wire), join(rest...))
}

// with returns a copy of data with other bytes from offset at on.
func with(data []byte, at int, change string) []byte {
	out := slices.Clone(data)
	copy(out[at:], change)
	return out
}

// sized4 is an IPv4 packet with an identification, a right header checksum, and a payload
// of an upper protocol.
func sized4(id, proto int, payload []byte) []byte {
	ip := join("\x45\x00", be16(20+len(payload)), be16(id), "\x40\x00\x40", []byte{byte(proto)}, "\x00\x00", "\xc0\x00\x02\x01", "\xc6\x33\x64\x02")
	return join(summed(ip), payload)
}

// sized6 is an IPv6 packet.
func sized6(next int, payload []byte) []byte {
	return join("\x60\x00\x00\x00", be16(len(payload)), []byte{byte(next), 64}, bytes.Repeat([]byte{0x20}, 16), bytes.Repeat([]byte{0x21}, 16), payload)
}

var body = bytes.Repeat([]byte("payload!"), 20)

// udpSum is a datagram of UDP with a checksum.
func udpSum(dst, sum int, payload []byte) []byte {
	return join(be16(1000), be16(dst), be16(8+len(payload)), be16(sum), payload)
}

// ether4 and ether6 are frames with an IP packet.
func ether4(ip []byte) []byte { return ether(typeIPv4, ip) }

func ether6(ip []byte) []byte { return ether(typeIPv6, ip) }

// repeat returns a frame so many times.
func repeat(frame []byte, n int) (all [][]byte) {
	for range n {
		all = append(all, frame)
	}
	return all
}
