package flow

import (
	"fmt"
	"slices"
	"strings"
)

// IdentityKind says which bytes of a frame make two packets the same packet.
type IdentityKind uint8

// The kinds of identity.
const (
	// L3 is the IP datagram, from its header to the end that its length field
	// gives, so that link headers, VLAN tags and padding do not count. Of frames
	// without an IP header it is addresses, ethertype and payload, or the identity
	// Frame where there is none of these.
	L3 IdentityKind = iota
	// Frame is the captured bytes and the length on the wire.
	Frame
	// Inner is like L3, for headers decoded with Config.Inner. Where a tunnel
	// carries a frame without an IP header, its identity is that of the frame
	// carried.
	Inner
)

var identityKindNames = [...]string{L3: "l3", Frame: "frame", Inner: "inner"}

// String returns "l3", "frame" or "inner".
func (k IdentityKind) String() string { return nameOf(identityKindNames[:], uint8(k)) }

// ParseIdentityKind is the inverse of String.
func ParseIdentityKind(s string) (IdentityKind, error) {
	k, err := parseName(identityKindNames[:], s)
	return IdentityKind(k), err
}

// Fields is a set of header fields that an identity leaves out.
type Fields uint32

// The fields. Those of IP are in the header that was decoded. Of the link layer, hardware
// addresses count in identities of whole frames and of frames without IP, tags in those
// of whole frames only.
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
	TCPSeq                        // sequence and acknowledgement numbers of TCP, those in SACK blocks, and its checksum
)

var fieldNames = [...]string{"ttl", "dscp", "ecn", "ip-checksum", "ip-id", "flow-label", "l4-checksum", "mac", "vlan", "tcp-seq"}

// FieldNames lists the names that ParseIgnore knows, separated by commas.
func FieldNames() string { return strings.Join(fieldNames[:], ", ") }

// defaultIgnore returns the fields that an identity leaves out unless told
// otherwise: those that routers change.
func (k IdentityKind) defaultIgnore() Fields {
	if k == Frame {
		return 0
	}
	return TTL | DSCP | ECN | IPChecksum
}

// Ignore says which fields an identity leaves out. The zero value asks for the defaults:
// nothing of whole frames, and of others what routers change (TTL, DSCP, ECN and
// IPChecksum).
type Ignore struct {
	fields     Fields
	noDefaults bool
}

// IgnoreAlso leaves fields out beside the defaults.
func IgnoreAlso(f Fields) Ignore { return Ignore{fields: f} }

// IgnoreOnly leaves fields out instead of the defaults: nothing for 0.
func IgnoreOnly(f Fields) Ignore { return Ignore{fields: f, noDefaults: true} }

// ParseIgnore reads field names separated by commas: fields to leave out beside
// the defaults, or instead of them where one of the words is "none".
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
func (m Ignore) Apply(k IdentityKind) Fields {
	if m.noDefaults {
		return m.fields
	}
	return m.fields | k.defaultIgnore()
}

// ipMasks are the bits that stay of the first bytes of an IP header, as
// little-endian words.
type ipMasks struct {
	v4 [2]uint64 // bytes 0 to 15
	v6 uint64    // bytes 0 to 7
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
	if f&FlowLabel != 0 {
		gone6[1] |= 0x0f
		gone6[2], gone6[3] = 0xff, 0xff
	}
	return ipMasks{
		v4: [2]uint64{^le64(gone4[:]), ^le64(gone4[8:])},
		v6: ^le64(gone6[:]),
	}
}

// apply masks the start of an IP header, or what there is of it.
func (m *ipMasks) apply(ip []byte, version uint8) {
	words := m.v4
	if version == 6 {
		words = [2]uint64{m.v6, ^uint64(0)}
	}
	for i := range min(len(ip), 16) {
		ip[i] &= byte(words[i/8] >> (i % 8 * 8))
	}
}

// checksumAt returns where in the header of an IP protocol the checksum
// lies and how many bytes it has; 0 for protocols without one.
func checksumAt(proto uint8) (offset, size uint32) {
	switch proto {
	case protoTCP:
		return 16, 2
	case protoUDP, protoUDPLite, protoDCCP:
		return 6, 2
	case protoICMP, protoICMPv6:
		return 2, 2
	case protoSCTP:
		return 8, 4
	}
	return 0, 0
}
