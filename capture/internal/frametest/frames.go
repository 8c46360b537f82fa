// SPDX-License-Identifier: Apache-2.0

package frametest

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"slices"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// Tap is a frame as one of several taps saw it.
type Tap struct {
	Name string
	Link capture.LinkType
	Fcs  uint8 // length that the capture states for it
	Cut  int   // bytes on the wire that were not captured
	Data []byte
}

func OnEthernet(name string, data []byte) Tap {
	return Tap{Name: name, Link: capture.LinkEthernet, Data: data}
}

// BatchOf returns a batch of frames, each from its own interface.
func BatchOf(taps []Tap) *capture.Batch {
	b := &capture.Batch{Sections: []capture.Section{{}}}
	for i, s := range taps {
		one := NewBatch(s.Link, s.Data)
		f := one.Frames[0]
		f.Data, f.Interface, f.WireLen = uint32(len(b.Buf)), uint32(i), f.WireLen+uint32(s.Cut)
		b.Buf, b.Frames = append(b.Buf, s.Data...), append(b.Frames, f)
		b.Interfaces = append(b.Interfaces, capture.Interface{LinkType: s.Link, FCSLen: s.Fcs, CapturePoint: uint32(i)})
	}
	return b
}

// Padded60 returns a frame as a station sends it, with padding.
func Padded60(frame []byte) []byte {
	return append(slices.Clone(frame), make([]byte, max(60-len(frame), 0))...)
}

// Inserted returns a frame with bytes inserted between its addresses and its ethertype.
func Inserted(frame []byte, parts ...any) []byte { return Join(frame[:12], Join(parts...), frame[12:]) }

func VLAN(frame []byte) []byte { return Inserted(frame, BE16(iana.TypeVLAN), BE16(5<<13|100)) }

func Qinq(frame []byte) []byte { return Inserted(VLAN(frame), BE16(iana.TypeQinQ), BE16(7)) }

// HSR is a frame on a ring of IEC 62439-3, from one of two ports.
func HSR(frame []byte, port, sequence int) []byte {
	return Inserted(frame, BE16(iana.TypeHSR), BE16(port<<12|(len(frame)-14+6)), BE16(sequence))
}

// PRP is a frame on one of two LANs of IEC 62439-3; header is the length of what comes
// before the payload.
func PRP(frame []byte, header, lan, sequence int) []byte {
	return Join(frame, BE16(sequence), BE16(lan<<12|(len(frame)-header+6)), BE16(0x88fb))
}

// Checked is a frame with its check sequence (IEEE 802.3, 3.2.9).
func Checked(frame []byte) []byte {
	return binary.LittleEndian.AppendUint32(slices.Clone(frame), crc32.ChecksumIEEE(frame))
}

// SLL and sll2 are frames in cooked captures.
func SLL(kind int, src []byte, typ int, payload []byte) []byte {
	return Join(BE16(kind), BE16(1), BE16(len(src)), src, make([]byte, 8-len(src)), BE16(typ), payload)
}

func SLL2(index uint32, kind byte, src []byte, typ int, payload []byte) []byte {
	return Join(BE16(typ), "\x00\x00", BE32(index), BE16(1), []byte{kind, byte(len(src))}, src, make([]byte, 8-len(src)), payload)
}

// ARP is a request of 28 bytes for 10.0.0.n.
func ARP(n byte) []byte {
	return Ether(iana.TypeARP, Join("\x00\x01\x08\x00\x06\x04\x00\x01", MAC(2), "\x0a\x00\x00\x01", make([]byte, 6), []byte{10, 0, 0, n}))
}

// Goose is a frame of a protection relay, profinet a frame of a controller. The zeros at their ends
// are data.
func Goose(sequence byte) []byte {
	return Ether(0x88b8, Join("\x00\x01\x00\x4d\x00\x00\x00\x00", "\x61\x47 the data set of a relay", make([]byte, 40), []byte{sequence, 0, 0}))
}

// WifiFrame is an 802.11 frame with three addresses.
func WifiFrame(control, flags byte, rest ...any) []byte {
	return Join([]byte{control, flags, 0, 0}, MAC(1), MAC(2), MAC(3), "\x00\x00", Join(rest...))
}

// Gre4 and udp4 are the outer packets of most tunnels.
func Gre4(parts ...any) []byte { return IP4(9, iana.ProtoGRE, Join(parts...)) }

func UDP4(port int, p []byte) []byte { return IP4(9, iana.ProtoUDP, UDP(40000, port, p)) }

// ARPFrame is an Ethernet frame without IP.
var ARPFrame = ARP(1)

// Broken4 is packet4 with a wrong checksum in its header: no tunnel is believed to carry it.
var Broken4 = Join(Packet4[:10], "\xab\xcd", Packet4[12:])

func ah(next byte, p []byte) []byte {
	return IP4(9, iana.ProtoAH, Join([]byte{next}, ahHeader[1:], p))
}

// Eoip is a frame in MikroTik's EoIP, with n bytes by its length field.
func Eoip(frame []byte, n int) []byte {
	return Gre4("\x20\x01", BE16(iana.TypeEoIP), BE16(n), "\x05\x00", frame)
}

// L2tp is a data message with a tunnel of 7 and a session of 9.
func L2tp(flags int, before []byte, ppp ...any) []byte {
	return Join(BE16(flags|2), before, BE16(7), BE16(9), Join(ppp...))
}

// Over4 is an Ethernet frame with an IPv4 packet.
func Over4(packet []byte) []byte { return Ether(iana.TypeIPv4, packet) }

// LispWith is a packet in LISP with an instance.
func LispWith(instance uint32) []byte {
	return UDP4(iana.PortLISP, Join("\x08\x00\x00\x00", BE32(instance<<8), Packet4))
}

// Arista is a frame with the time header of a switch, in 64 or 48 bits.
func Arista(frame []byte, version int, time string) []byte {
	return Inserted(frame, BE16(iana.TypeArista), BE16(1), BE16(version), time)
}

// Macsec is a frame in a security tag of IEEE 802.1AE with the given control bits. sci is the
// identifier of the channel, if the control bits announce it.
func Macsec(frame []byte, control byte, sci string) []byte {
	length := 0
	if n := len(frame) - 12; n < 48 {
		length = n
	}
	return Join(Inserted(frame, BE16(iana.TypeMACsec), []byte{control, byte(length)}, BE32(9), sci), "integrity check!")
}

// ERF is the header of an ERF record of a type before a packet of wire bytes.
func ERF(typ byte, wire int, rest ...any) []byte {
	return Join("\x00\x00\x00\x00\x00\xf1\x53\x65", []byte{typ, 4}, BE16(18+wire), BE16(0), BE16(wire), Join(rest...))
}

// With returns a copy of data with other bytes from offset at on.
func With(data []byte, at int, change string) []byte {
	out := slices.Clone(data)
	copy(out[at:], change)
	return out
}

// Sized4 is an IPv4 packet with an identification, a right header checksum, and a payload
// of an upper protocol.
func Sized4(id, proto int, payload []byte) []byte {
	ip := Join("\x45\x00", BE16(20+len(payload)), BE16(id), "\x40\x00\x40", []byte{byte(proto)}, "\x00\x00", "\xc0\x00\x02\x01", "\xc6\x33\x64\x02")
	return Join(Summed(ip), payload)
}

// Sized6 is an IPv6 packet.
func Sized6(next int, payload []byte) []byte {
	return Join("\x60\x00\x00\x00", BE16(len(payload)), []byte{byte(next), 64}, bytes.Repeat([]byte{0x20}, 16), bytes.Repeat([]byte{0x21}, 16), payload)
}

var Body = bytes.Repeat([]byte("payload!"), 20)

// UDPSum is a datagram of UDP with a checksum.
func UDPSum(dst, sum int, payload []byte) []byte {
	return Join(BE16(1000), BE16(dst), BE16(8+len(payload)), BE16(sum), payload)
}

// Ether4 and ether6 are frames with an IP packet.
func Ether4(ip []byte) []byte { return Ether(iana.TypeIPv4, ip) }

func Ether6(ip []byte) []byte { return Ether(iana.TypeIPv6, ip) }

// Repeat returns a frame n times.
func Repeat(frame []byte, n int) (all [][]byte) {
	for range n {
		all = append(all, frame)
	}
	return all
}
