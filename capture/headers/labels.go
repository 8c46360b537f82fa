// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"encoding/binary"

	kernels "github.com/flowdedup/flowdedup/asm/headers"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// An MPLS label stack does not say what lies below it (RFC 3032, section 2.2). Routers guess
// from the first four bits (RFC 4928): 4 and 6 are versions of IP, 0 begins the control word
// of a pseudowire (RFC 4385). But an Ethernet frame without a control word begins with a
// hardware address, which may have any of them. So the heaviest reading wins: see weight.

// underLabels returns the ethertype of the packet at offset o of d, below a label stack, and
// where it begins: iana.TypeIPv4, iana.TypeIPv6, iana.TypeBridging for an Ethernet frame, or 0
// if the type is unknown. The last label ends at o. On the wire, d ends at wireEnd, unless it is
// longer.
func underLabels(d []byte, o int, wireEnd uint32) (typ uint16, at int) {
	if o >= len(d) {
		return 0, o
	}
	end, nibble := max(int64(wireEnd), int64(len(d))), d[o]>>4
	if surelyIP(d[o:], end-int64(o)) {
		return typeOfNibble[nibble], o
	}
	ip := weighIP(d[o:], end-int64(o)) + weighNullLabel(d[o-labelEntry:])
	frame, _ := weighFrame(d, o, end)
	behind, word := impossible, weight(0)
	if nibble == 0 {
		behind, _ = weighFrame(d, o+controlWord, end)
		word = weighControlWord(d[o:])
	}
	// Zeros are evidence only for how the two readings with a frame compare: any payload may have them.
	switch likely := frame + weighZeros(d[o:]); {
	case ip >= likely && ip >= behind+word:
		if ip >= leastBelowLabels && canRead(d[o:]) {
			return typeOfNibble[nibble], o
		}
	case behind+word >= likely && behind >= leastBelowLabels:
		return iana.TypeBridging, o + controlWord
	case behind+word < likely && frame >= leastBelowLabels:
		return iana.TypeBridging, o
	}
	return 0, o
}

const labelEntry, controlWord = 4, 4

// surelyIP reports whether ip is IP beyond doubt: IPv4 with a right checksum, or IPv6 with a usual
// header, no longer than the left bytes on the wire, and without a type of IP or of a tag where an
// Ethernet frame has its type. Kernels take these datagrams: see kernels.Datagrams.Labelled.
func surelyIP(ip []byte, left int64) bool {
	if len(ip) < 20 {
		return false
	}
	typ := binary.BigEndian.Uint16(ip[12:])
	switch {
	case typ == iana.TypeIPv4 || typ == iana.TypeIPv6 || iana.IsVLAN(typ):
		return false
	case ip[0]>>4 == 4:
		header, total := int(ip[0]&15)*4, int64(binary.BigEndian.Uint16(ip[2:]))
		return header >= 20 && len(ip) >= header && (total == 0 || total >= int64(header)) && total <= left && headerSum(ip[:header]) == 0xffff
	case ip[0]>>4 == 6 && len(ip) >= 40:
		return 40+int64(binary.BigEndian.Uint16(ip[4:])) <= left && isUsual6(ip)
	}
	return false
}

// canRead reports whether enough of an IP header was captured to read it.
func canRead(ip []byte) bool { return len(ip) >= 40 || len(ip) >= 20 && ip[0]>>4 == 4 }

// weighNullLabel weighs the last entry of a stack for IP behind it: explicit null labels announce a
// version (RFC 3032, section 2.1).
func weighNullLabel(entry []byte) weight {
	const null4, null6 = 0, 2
	label, version := binary.BigEndian.Uint32(entry)>>12, entry[labelEntry]>>4
	return choose(label == null4 && version == 4 || label == null6 && version == 6, 20, 0)
}

// weighControlWord weighs the first four bytes of d as the control word of an Ethernet pseudowire
// (RFC 4448, section 4.6): four zero bits, twelve reserved bits that are sent as zeros, and a
// sequence number that is 0 if it is not used.
func weighControlWord(d []byte) weight {
	switch zeros := leadingZeros(d); {
	case zeros == 4:
		return 31
	case zeros >= 2:
		return 13
	}
	return -2
}

// weighZeros weighs the same bytes as the beginning of a hardware address, which has two
// or four zero bytes there more often than random bytes, but less often than a control word. In small
// test networks the other address has, too.
func weighZeros(d []byte) (w weight) {
	const second = 6
	for n := 0; n <= second && len(d) >= n+second; n += second {
		switch zeros := leadingZeros(d[n:]); {
		case zeros == 4:
			w += 23
		case zeros >= 2:
			w += 10
		default:
			return w
		}
	}
	return w
}

// leadingZeros returns how many of the first four bytes are zeros before another value.
func leadingZeros(d []byte) (n int) {
	for n < min(4, len(d)) && d[n] == 0 {
		n++
	}
	return n
}

// headerSum is the ones' complement sum of a header of at least 20 bytes, in words of four (RFC
// 1071).
func headerSum(d []byte) uint16 {
	a, b := binary.BigEndian.Uint64(d), binary.BigEndian.Uint64(d[8:20])
	sum := a>>32 + a&0xffffffff + b>>32 + b&0xffffffff + uint64(binary.BigEndian.Uint32(d[16:]))
	for d = d[20:]; len(d) >= 4; d = d[4:] {
		sum += uint64(binary.BigEndian.Uint32(d))
	}
	sum = sum>>32 + sum&0xffffffff
	sum = sum>>16 + sum&0xffff
	sum = sum>>16 + sum&0xffff
	return uint16(sum>>16 + sum&0xffff)
}

// isUsual6 reports whether an IPv6 header looks like nearly all: a usual next header, a hop
// limit, and addresses of the blocks in use (IANA, "Internet Protocol Version 6 Address
// Space").
func isUsual6(ip []byte) bool {
	return usualNext[ip[6]] && ip[7] != 0 && usualSource[ip[8]] && usualDestination[ip[24]]
}

// BehindLabels returns the rule that also steps over labels and PPPoE as a Decoder does.
func BehindLabels(d *kernels.Datagrams) *kernels.Datagrams {
	return d.Labelled(&usualNext, &usualSource, &usualDestination)
}

// usualDestination marks the first bytes of addresses in use: unspecified, loopback and embedded
// IPv4; global unicast; unique local; link-local; multicast.
var usualDestination = func() (usual [256]bool) {
	for first := range usual {
		usual[first] = first == 0 || first>>5 == 1 || first >= 0xfc
	}
	return usual
}()

// usualSource is usualDestination without multicast.
var usualSource = func() [256]bool {
	usual := usualDestination
	usual[0xff] = false
	return usual
}()

// usualNext marks the protocols that are found behind IPv6 headers.
var usualNext = func() (usual [256]bool) {
	usual = iana.IsExtension
	for _, p := range []int{
		iana.ProtoIPv4, iana.ProtoTCP, iana.ProtoUDP, iana.ProtoDCCP, iana.ProtoIPv6, iana.ProtoGRE, iana.ProtoESP, iana.ProtoICMPv6, iana.ProtoNoNext, iana.ProtoOSPF, iana.ProtoEIGRP,
		iana.ProtoEtherIP, iana.ProtoPIM, iana.ProtoVRRP, iana.ProtoL2TP, iana.ProtoSCTP, iana.ProtoUDPLite, iana.ProtoMPLS,
	} {
		usual[p] = true
	}
	return usual
}()
