// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"fmt"
	"slices"
	"strings"

	"github.com/flowdedup/flowdedup/capture/internal/enum"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// Kind says which bytes of a frame make two packets the same packet.
type Kind uint8

// The kinds of identity.
const (
	// L3 is the IP datagram, from its header to the end that its length field gives. Link
	// headers, VLAN tags and padding do not count. Frames without an IP header are
	// compared by addresses, ethertype and payload, or as Frame if they have none of
	// these. The frame check sequence of a wireless frame never counts.
	L3 Kind = iota
	// Frame is the captured bytes and the length on the wire, without a capture's own
	// header (see CaptureHeader).
	Frame
	// Inner is like L3, for headers decoded with headers.DecoderConfig.Inner. If a tunnel carries a
	// frame without an IP header, the identity of the carried frame is used.
	Inner
)

var kindNames = [...]string{L3: "l3", Frame: "frame", Inner: "inner"}

// String returns "l3", "frame" or "inner".
func (k Kind) String() string { return enum.Name(kindNames[:], k) }

// ParseKind is the inverse of String.
func ParseKind(s string) (Kind, error) { return enum.Parse[Kind](kindNames[:], s) }

// Fields is a set of header fields that an identity leaves out.
type Fields uint32

// The fields. Fields of IP are fields of the decoded header. Hardware addresses are part of
// the identities of whole frames and of frames without IP; VLAN tags are part of the
// identities of whole frames only.
const (
	TTL        Fields = 1 << iota // IPv4 time to live, IPv6 hop limit
	DSCP                          // upper six bits of the IPv4 TOS, or of the IPv6 traffic class
	ECN                           // lower two bits of the same
	IPChecksum                    // of the IPv4 header
	IPID                          // IPv4 identification
	FlowLabel                     // of IPv6
	L4Checksum                    // of TCP, UDP, UDP-Lite, ICMP, ICMPv6, SCTP, DCCP
	MAC                           // source and destination hardware addresses
	VLAN                          // the outermost run of VLAN tags
	TCPSeq                        // sequence and acknowledgment numbers of TCP, also in SACK blocks, and its checksum
	NAT                           // addresses, ports, the identifier of ICMP echoes, and the checksum over them
	DF                            // "don't fragment" of IPv4
	MSS                           // the maximum segment size in TCP segments with SYN, and their checksum
	TCPHeader                     // ECN bits, window, checksum, urgent pointer with its bit, and options of TCP
	IPOptions                     // what routers write into options and routing headers: see dropWritten
)

var fieldNames = [...]string{"ttl", "dscp", "ecn", "ip-checksum", "ip-id", "flow-label", "l4-checksum", "mac", "vlan", "tcp-seq", "nat", "df", "mss", "tcp-header", "ip-options"}

// FieldNames lists the names that ParseIgnore knows, separated by commas.
func FieldNames() string { return strings.Join(fieldNames[:], ", ") }

// routerFields are the fields that routers change. They change options and DF, too (RFC 4302, section
// 3.3.3.1): DF has room in the tweak.
const routerFields = TTL | DSCP | ECN | IPChecksum

// defaultIgnore returns the fields that an identity of this kind leaves out by default.
func (k Kind) defaultIgnore() Fields {
	if k == Frame {
		return 0
	}
	return routerFields | DF
}

// Ignore says which fields an identity leaves out. The zero value means the default:
// nothing for whole frames, and for the other kinds the fields that routers change (TTL,
// DSCP, ECN, IPChecksum and DF).
type Ignore struct {
	fields     Fields
	noDefaults bool
}

// IgnoreAlso leaves out fields besides the default.
func IgnoreAlso(f Fields) Ignore { return Ignore{fields: f} }

// IgnoreOnly leaves out fields instead of the default; IgnoreOnly(0) leaves out nothing.
func IgnoreOnly(f Fields) Ignore { return Ignore{fields: f, noDefaults: true} }

// ParseIgnore reads the names of fields to leave out, separated by commas. They come on
// top of the default, or replace it if a word is "none".
func ParseIgnore(s string) (Ignore, error) {
	var m Ignore
	for word := range strings.SplitSeq(s, ",") {
		if word == "none" {
			m.noDefaults = true
			continue
		}
		i := slices.Index(fieldNames[:], word)
		if i < 0 {
			return Ignore{}, fmt.Errorf("unknown field %q: must be none or of %s", word, FieldNames())
		}
		m.fields |= 1 << i
	}
	return m, nil
}

// Apply returns the fields to leave out of an identity of kind k.
func (m Ignore) Apply(k Kind) Fields {
	if m.noDefaults {
		return m.fields
	}
	return m.fields | k.defaultIgnore()
}

// ipMasks has the bits that are kept of the first bytes of an IP header, as little-endian
// words.
type ipMasks struct {
	v4 [2]uint64 // bytes 0 to 15
	v6 [1]uint64 // bytes 0 to 7
}

func (f Fields) ipMasks() ipMasks {
	var gone4 [16]byte
	var gone6 [8]byte
	if f&TTL != 0 {
		gone4[8], gone6[7] = 0xff, 0xff
	}
	if f&DSCP != 0 {
		gone4[1] |= 0xfc
		gone6[0] |= 0x0f
		gone6[1] |= 0xc0
	}
	if f&ECN != 0 {
		gone4[1] |= 0x03
		gone6[1] |= 0x30
	}
	if f&IPChecksum != 0 {
		gone4[10], gone4[11] = 0xff, 0xff
	}
	if f&IPID != 0 {
		gone4[4], gone4[5] = 0xff, 0xff
	}
	if f&DF != 0 {
		gone4[6] = 0x40
	}
	if f&FlowLabel != 0 {
		gone6[1] |= 0x0f
		gone6[2], gone6[3] = 0xff, 0xff
	}
	return ipMasks{
		v4: [2]uint64{^le64(gone4[:]), ^le64(gone4[8:])},
		v6: [1]uint64{^le64(gone6[:])},
	}
}

// checksumAt returns the offset of the checksum in the header of an IP protocol, and its
// size in bytes; size is 0 for protocols without a checksum.
func checksumAt(proto uint8) (offset, size uint32) {
	switch proto {
	case iana.ProtoTCP:
		return 16, 2
	case iana.ProtoUDP, iana.ProtoUDPLite, iana.ProtoDCCP:
		return 6, 2
	case iana.ProtoICMP, iana.ProtoICMPv6:
		return 2, 2
	case iana.ProtoSCTP:
		return 8, 4
	}
	return 0, 0
}
