// SPDX-License-Identifier: Apache-2.0

package frametest

import "github.com/flowdedup/flowdedup/capture/internal/iana"

// Capwap is a CAPWAP header of 8 bytes with flags and optional fields (RFC 5415, section 4.3).
// native says that a frame of 802.11 follows.
func Capwap(flags byte, native bool, fields ...any) []byte {
	optional := Join(fields...)
	binding := byte(0x42) // the first radio, of 802.11
	if native {
		binding |= 1
	}
	return Join([]byte{0, byte(8+len(optional)) << 1, binding, flags}, "\x00\x00\x00\x00", optional)
}

// swapped exchanges the two bytes of frame control and of sequence control, whose number is 0x763.
func swapped(frame []byte) []byte {
	return With(With(frame, 0, string([]byte{frame[1], frame[0]})), 22, "\x76\x30")
}

// Lwapp is an LWAPP message with flags (RFC 5412, section 3.2).
func Lwapp(flags byte, frame []byte) []byte {
	return Join([]byte{flags, 0}, BE16(len(frame)), "\x2b\x14", frame)
}

// Tunnels that need no doubt, or are proven by other things than those of UDPTunnelCases.
var remoteTunnelCases = func() []tunnelCase {
	frame4, frame6 := Ether(iana.TypeIPv4, Packet4), Ether(iana.TypeIPv6, Packet6)
	data := Join("\x08\x01\x00\x00", MAC(1), MAC(2), MAC(9), "\x10\x00", Snap(iana.TypeIPv4, Packet4))
	quality := Join("\x88\x02\x00\x00", MAC(1), MAC(2), MAC(9), "\x10\x00\x05\x00", Snap(iana.TypeIPv6, Packet6))
	capwap := func(parts ...any) []byte { return UDP4(iana.PortCAPWAP, Join(parts...)) }
	lwapp := func(flags byte, frame []byte) []byte { return UDP4(iana.PortLWAPP, Lwapp(flags, frame)) }
	teredo := func(parts ...any) []byte { return UDP4(iana.PortTeredo, Join(parts...)) }
	gue := func(parts ...any) []byte { return UDP4(iana.PortGUE, Join(parts...)) }
	over := func(parts ...any) []byte { return IP4(9, iana.ProtoL2TP, Join("\x00\x00\x00\x4d", Join(parts...))) }
	overUDP := func(parts ...any) []byte {
		return UDP4(iana.PortL2TP, Join("\x00\x03\x00\x00\x00\x00\x00\x4d", Join(parts...)))
	}
	const cookie = "\xde\xad\xbe\xef\x13\x37\x42\x99"
	teredoPacket := With(Packet6, 8, "\x20\x01\x00\x00")
	return []tunnelCase{
		{"capwap", capwap(Capwap(0, false), frame4), Packet4},
		{"capwap arp", capwap(Capwap(0, false), ARPFrame), ARPFrame},
		{"capwap to an access point", IP4(9, iana.ProtoUDP, UDP(iana.PortCAPWAP, 40000, Join(Capwap(0, false), frame6))), Packet6},
		{"capwap with fields", capwap(Capwap(0x30, false, "\x06", MAC(7), "\x00", "\x04\x00\x00\x00\x01\x00\x00\x00"), frame4), Packet4},
		{"capwap native", capwap(Capwap(0, true), data), Packet4},
		{"capwap native, swapped", capwap(Capwap(0, true), swapped(data)), Packet4},
		{"capwap native, quality", capwap(Capwap(0x20, true, "\x04\xd0\x20\x00\x00\x00\x00\x00"), swapped(quality)), Packet6},
		{"capwap fragment", capwap(Capwap(0x80, false), frame4), nil},
		{"capwap keep-alive", capwap(Capwap(0x08, false), "\x00\x16\x00\x23", make([]byte, 18)), nil},
		{"capwap encrypted", capwap("\x01\x00\x00\x00\x17\xfe\xfd\x00\x01", make([]byte, 40)), nil},
		{"capwap of another length", capwap(With(Capwap(0, false), 1, "\x20"), frame4), nil},
		{"capwap, other data", capwap(Capwap(0, false), make([]byte, 60)), nil},
		{"lwapp", lwapp(0, data), Packet4},
		{"lwapp, swapped", lwapp(0x08, swapped(quality)), Packet6},
		{"lwapp to an access point", IP4(9, iana.ProtoUDP, UDP(iana.PortLWAPP, 40000, Lwapp(0, data))), Packet4},
		{"lwapp control", lwapp(0x04, data), nil},
		{"lwapp fragment", lwapp(0x02, data), nil},
		{"lwapp of another length", UDP4(iana.PortLWAPP, Join(Lwapp(0, data), "x")), nil},
		{"teredo", teredo(Packet6), Packet6},
		{"teredo answer", IP4(9, iana.ProtoUDP, UDP(iana.PortTeredo, 40000, Packet6)), Packet6},
		{"teredo origin", teredo("\x00\x00\xef\xbe\xf5\xff\xff\xfe", Packet6), Packet6},
		{"teredo authentication", teredo("\x00\x01\x02\x03idkeynonce678\x00", Packet6), Packet6},
		{"teredo both", teredo("\x00\x01\x00\x00nonce678\x00", "\x00\x00\xef\xbe\xf5\xff\xff\xfe", Packet6), Packet6},
		{"teredo trailer", teredo(teredoPacket, "\x05\x04nonc"), teredoPacket},
		{"teredo, other data", teredo("\x60 looks like IPv6, but no field agrees with that ......"), nil},
		{"gue", gue("\x00\x04\x00\x00", Packet4), Packet4},
		{"gue options", gue("\x02\x29\x00\x00optional", Packet6), Packet6},
		{"gue gre", gue("\x00\x2f\x00\x00", "\x00\x00", BE16(iana.TypeBridging), frame4), Packet4},
		{"gue ethernet", gue("\x00\x8f\x00\x00", frame6), Packet6},
		{"gue variant 1", gue(Packet4), Packet4},
		{"gue variant 1, ipv6", gue(Packet6), Packet6},
		{"gue control", gue("\x20\x01\x00\x00", Packet4), nil},
		{"gue variant 2", gue("\x80\x04\x00\x00", Packet4), nil},
		{"gue tcp", gue("\x00\x06\x00\x00", TCP(1, 2, []byte("data"))), nil},
		{"gue, other data", gue("\x00\x04\x00\x00", "EEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEE"), nil},
		{"l2tpv3", over(frame4), Packet4},
		{"l2tpv3 arp", over(ARPFrame), ARPFrame},
		{"l2tpv3 cookie of 4", over(cookie[:4], frame6), Packet6},
		{"l2tpv3 cookie of 8", over(cookie, frame4), Packet4},
		{"l2tpv3 sublayer", over("\x40\x00\x00\x07", frame4), Packet4},
		{"l2tpv3 cookie and sublayer", over(cookie, "\x00\x00\x00\x00", VLAN(frame6)), Packet6},
		{"l2tpv3 ppp", over(cookie, "\xff\x03\x00\x21", Packet4), Packet4},
		{"l2tpv3 ip", over(Packet6), Packet6},
		{"l2tp of version 3", overUDP(cookie, frame4), Packet4},
		{"l2tp of version 3, answer", IP4(9, iana.ProtoUDP, UDP(iana.PortL2TP, 40000, Join("\x00\x03\x00\x00\x00\x00\x00\x4d", frame6))), Packet6},
		{"l2tpv3 control", IP4(9, iana.ProtoL2TP, Join("\x00\x00\x00\x00\xc8\x03", BE16(12), make([]byte, 8))), nil},
		{"l2tp of version 3, control", UDP4(iana.PortL2TP, Join("\xc8\x03", BE16(12), make([]byte, 8))), nil},
		{"l2tpv3, other data", over(make([]byte, 80)), nil},
		{"mirror", Gre4("\x00\x00", BE16(iana.TypeMirror), make([]byte, 22), frame4), Packet4},
		{"mirror with a key", Gre4("\x20\x00", BE16(iana.TypeMirror), "key!", make([]byte, 22), frame6), Packet6},
	}
}()
