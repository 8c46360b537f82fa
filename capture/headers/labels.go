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
// hardware address, which may have any of them. So IP has to be confirmed by its own header,
// or Ethernet by its type field.

// underLabels returns the ethertype of the packet at offset o of d, below a label stack, and
// where it begins: iana.TypeIPv4, iana.TypeIPv6, iana.TypeBridging for an Ethernet frame, or 0
// if the type is unknown. On the wire, d ends at wireEnd, unless it is longer.
func underLabels(d []byte, o int, wireEnd uint32) (typ uint16, at int) {
	const controlWord = 4
	if o >= len(d) {
		return 0, o
	}
	end := max(int64(wireEnd), int64(len(d)))
	nibble, left := d[o]>>4, end-int64(o)
	switch {
	case nibble == 4 && isIPv4(d[o:], left) && !leadsToIP(d, o, end):
		return iana.TypeIPv4, o
	case nibble == 6 && isIPv6(d[o:], left) && !leadsToIP(d, o, end):
		return iana.TypeIPv6, o
	}
	frame := frameAt(d, o, end)
	switch {
	case nibble == 0 && len(d) >= o+controlWord && isControlWord(d, o, frame, end):
		return iana.TypeBridging, o + controlWord
	case frame != noFrame:
		return iana.TypeBridging, o
	case nibble == 4 && mayBeIPv4(d[o:], left):
		return iana.TypeIPv4, o
	case nibble == 6 && mayBeIPv6(d[o:], left):
		return iana.TypeIPv6, o
	}
	return 0, o
}

// isControlWord reports whether the four bytes at offset o are the control word of an Ethernet
// pseudowire (RFC 4448, section 4.6): four zero bits, twelve reserved ones that are sent as
// zeros, and a sequence number that is 0 if it is not used. frame is the packet that would lie
// there without one.
func isControlWord(d []byte, o int, frame framing, end int64) bool {
	const header = 14
	word := binary.BigEndian.Uint32(d[o:])
	if len(d) < o+4+header {
		return false
	}
	behind := frameAt(d, o+4, end)
	switch {
	case behind != frame:
		return behind > frame
	case frame != noFrame && word != 0 && iana.IsVLAN(binary.BigEndian.Uint16(d[o+12:])):
		return false // the type behind the tag is where a control word would have it, too
	}
	return word>>16 == 0
}

// sum4 is the result of checking the checksum of an IPv4 header.
type sum4 uint8

const (
	sumWrong sum4 = iota
	sumRight
	sumLeft    // it is 0: left to a network card
	sumUnknown // the header was not captured whole
)

// checkIPv4 reads the lengths and the checksum of a possible IPv4 header. ok says that the
// lengths of header and datagram are valid.
func checkIPv4(ip []byte) (total int64, sum sum4, ok bool) {
	if len(ip) < 20 || ip[0]>>4 != 4 {
		return 0, sumWrong, false
	}
	length := int(ip[0]&15) * 4
	total = int64(binary.BigEndian.Uint16(ip[2:]))
	ok = length >= 20 && (total == 0 || total >= int64(length))
	switch {
	case !ok:
	case len(ip) < length:
		sum = sumUnknown
	case headerSum(ip[:length]) == 0xffff:
		sum = sumRight
	case ip[10]|ip[11] == 0:
		sum = sumLeft
	}
	return total, sum, ok
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

// isIPv4 reports whether ip is a datagram whose lengths and checksum agree. It has left bytes
// on the wire.
func isIPv4(ip []byte, left int64) bool {
	total, sum, ok := checkIPv4(ip)
	return ok && sum == sumRight && total <= left
}

// mayBeIPv4 reports whether ip is a datagram, if nothing speaks for an Ethernet frame: one
// that was sliced before it was captured, or whose checksum cannot be known.
func mayBeIPv4(ip []byte, left int64) bool {
	total, sum, ok := checkIPv4(ip)
	switch {
	case !ok:
		return false
	case sum == sumLeft || sum == sumUnknown:
		return total <= left
	}
	return sum == sumRight
}

// isIPv6 reports whether ip is a datagram with a usual header that is no longer than the left
// bytes on the wire.
func isIPv6(ip []byte, left int64) bool {
	return len(ip) >= 40 && length6(ip) <= left && isUsual6(ip)
}

// mayBeIPv6 reports whether ip is a datagram, if nothing speaks for an Ethernet frame: one
// that is no longer than the left bytes, or was sliced before it was captured.
func mayBeIPv6(ip []byte, left int64) bool {
	return len(ip) >= 40 && (length6(ip) <= left || isUsual6(ip))
}

func length6(ip []byte) int64 { return 40 + int64(binary.BigEndian.Uint16(ip[4:])) }

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

// leadsToIP reports whether an Ethernet frame at offset o is proven by an IP header in it.
func leadsToIP(d []byte, o int, end int64) bool {
	if len(d) < o+14 {
		return false
	}
	typ := binary.BigEndian.Uint16(d[o+12:])
	return (typ == iana.TypeIPv4 || typ == iana.TypeIPv6 || iana.IsVLAN(typ)) && frameAt(d, o, end) == frameProven
}

// framing says how surely an Ethernet frame lies somewhere.
type framing uint8

const (
	noFrame     framing = iota
	frameTyped          // its type is known
	frameProven         // it leads to an IP header that isIPv4 or isIPv6 believes
)

// frameAt reports whether an Ethernet frame lies at offset o of d. On the wire, d ends at end.
func frameAt(d []byte, o int, end int64) framing {
	const tags = 4
	if len(d) < o+14 {
		return noFrame
	}
	typ, at := binary.BigEndian.Uint16(d[o+12:]), o+14
	for n := 0; n < tags && iana.IsVLAN(typ) && len(d) >= at+4; n++ {
		typ, at = binary.BigEndian.Uint16(d[at+2:]), at+4
	}
	left := end - int64(at)
	switch {
	case typ <= maxLength:
		return frameIf(typ >= 3 && int64(typ) <= left && (at >= len(d) || plainSAP(d[at]) || d[at] == sapSNAP))
	case typ == iana.TypeIPv4 && at < len(d):
		if isIPv4(d[at:], left) {
			return frameProven
		}
		return frameIf(d[at]>>4 == 4)
	case typ == iana.TypeIPv6 && at < len(d):
		if d[at]>>4 == 6 && isIPv6(d[at:], left) {
			return frameProven
		}
		return frameIf(d[at]>>4 == 6)
	}
	return frameIf(leadsOn(typ) || plainType(typ))
}

func frameIf(is bool) framing {
	if is {
		return frameTyped
	}
	return noFrame
}
