// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"strconv"
)

// Header says where the IP header of a frame lies and what it holds. Offsets are in bytes
// from the first captured byte of the frame, and Start <= End <= captured length always
// holds.
type Header struct {
	// Start and End delimit the IP datagram: from its header to the end that its length
	// field gives, or to the last captured byte if that comes first. A length field of 0,
	// as senders with segmentation offload leave it, also means the last captured byte.
	// Without an IP header they delimit the whole frame, or the frame that the innermost
	// opened tunnel carries.
	Start, End uint32
	// L4 is where the header after the IP header and its extensions starts. It is 0 if
	// that was not captured or lies in an earlier fragment.
	L4 uint32
	// Wire is the length on the wire of what Start and End delimit. It is set only
	// without an IP header, since IP states its own length.
	Wire uint32
	// SrcPort and DstPort are the ports of TCP, UDP, UDP-Lite, SCTP and DCCP. They are 0
	// for other protocols, for fragments after the first, and if they were not captured.
	SrcPort, DstPort uint16
	// VLAN is the identifier (12 bits) of the outermost 802.1Q or 802.1ad tag. It is
	// valid with FlagVLAN, since 0 is a legal identifier.
	VLAN uint16
	// Dst and Src are the offsets of the destination and source hardware
	// addresses of 6 bytes; valid with FlagDst and FlagSrc.
	Dst, Src uint16
	// Tag is the offset of the control information in the first VLAN tag. Tags counts the
	// tags that follow each other from there on, without anything in between.
	Tag     uint16
	Version uint8 // 4 or 6; 0 if no IP header was found
	// Proto is the IP protocol number; in IPv6, the one behind the extension headers.
	Proto uint8
	Tags  uint8
	Flags uint8 // of the Flag constants
}

// Bits of Header.Flags.
const (
	FlagVLAN     = 1 << iota // the frame has a VLAN tag
	FlagDst                  // Dst is valid
	FlagSrc                  // Src is valid
	FlagFragment             // the datagram is a fragment, the first or a later one
	FlagInner                // a tunnel was opened
)

// linkFlags are the flags about the link header.
const linkFlags = FlagVLAN | FlagDst | FlagSrc

// protocolNames has the names of IP protocols: "ip-<number>" for those without a common
// name.
var protocolNames = func() (names [256]string) {
	for i := range names {
		names[i] = "ip-" + strconv.Itoa(i)
	}
	for number, name := range map[int]string{
		protoHopByHop: "hopopt", protoICMP: "icmp", protoIGMP: "igmp", protoIPv4: "ipip", protoTCP: "tcp", protoUDP: "udp",
		protoDCCP: "dccp", protoIPv6: "ip6ip", protoRouting: "ipv6-route", protoFragment: "ipv6-frag", protoGRE: "gre",
		protoESP: "esp", protoAH: "ah", protoICMPv6: "icmpv6", protoNoNext: "ipv6-nonxt", protoDstOpts: "ipv6-opts",
		protoEIGRP: "eigrp", protoOSPF: "ospf", protoEtherIP: "etherip", protoPIM: "pim", protoIPComp: "ipcomp",
		protoVRRP: "vrrp", protoL2TP: "l2tp", protoSCTP: "sctp", protoMobility: "mobility", protoUDPLite: "udplite",
		protoMPLS: "mpls", protoHIP: "hip", protoShim6: "shim6", protoEthernet: "ethernet",
	} {
		names[number] = name
	}
	return names
}()

// Protocol is what the IP header of a frame carries: an IP protocol number, or NonIP.
type Protocol uint16

// NonIP stands for frames without an IP header.
const NonIP Protocol = 256

// ProtocolCount is the number of values that a Protocol has.
const ProtocolCount = 257

// protocol returns what the IP header carries.
func (h *Header) protocol() Protocol {
	if h.Version == 0 {
		return NonIP
	}
	return Protocol(h.Proto)
}

// String returns the lower-case name of the protocol, "ip-<number>" if it has no common
// name, and "non_ip" for NonIP.
func (p Protocol) String() string {
	if p >= NonIP {
		return "non_ip"
	}
	return protocolNames[p]
}

// IP protocol numbers (IANA, "Assigned Internet Protocol Numbers").
const (
	protoHopByHop = 0
	protoICMP     = 1
	protoIGMP     = 2
	protoIPv4     = 4
	protoTCP      = 6
	protoUDP      = 17
	protoDCCP     = 33
	protoIPv6     = 41
	protoRouting  = 43
	protoFragment = 44
	protoGRE      = 47
	protoESP      = 50
	protoAH       = 51
	protoICMPv6   = 58
	protoNoNext   = 59
	protoDstOpts  = 60
	protoEIGRP    = 88
	protoOSPF     = 89
	protoEtherIP  = 97
	protoPIM      = 103
	protoIPComp   = 108
	protoVRRP     = 112
	protoL2TP     = 115
	protoSCTP     = 132
	protoMobility = 135
	protoUDPLite  = 136
	protoMPLS     = 137
	protoHIP      = 139
	protoShim6    = 140
	protoEthernet = 143
)

// Ethertypes (IEEE registration authority).
const (
	typeIPv4       = 0x0800
	typeIPv6       = 0x86dd
	typeVLAN       = 0x8100 // 802.1Q
	typeQinQ       = 0x88a8 // 802.1ad
	typeQinQOld    = 0x9100 // in use before 802.1ad
	typeQinQOld2   = 0x9200 // likewise
	typeMPLS       = 0x8847
	typeMPLSUp     = 0x8848 // upstream-assigned labels, RFC 5332
	typePPPoE      = 0x8864 // session stage, RFC 2516
	typePBB        = 0x88e7 // 802.1ah service tag
	typeBridging   = 0x6558 // an Ethernet frame
	typeFabricPath = 0x8903
	typeNSH        = 0x894f // RFC 8300
	typeVNTag      = 0x8926
	typeETag       = 0x893f // 802.1BR
	typeCMD        = 0x8909 // Cisco metadata
	typeHSR        = 0x892f // IEC 62439-3
	typeArista     = 0xd28b // Arista Networks
	typeMACsec     = 0x88e5 // IEEE 802.1AE
	typeRTag       = 0xf1c1 // IEEE 802.1CB
	typeTRILL      = 0x22f3 // RFC 7178
	typeBATMAN     = 0x4305 // B.A.T.M.A.N. advanced
	typeRealtek    = 0x8899 // tags of Realtek switches, and their management
	typeEDSA       = 0xdada // Marvell switches, as Linux programs them
	typeARP        = 0x0806
	typeRARP       = 0x8035
	typePPP        = 0x880b
	typeERSPAN2    = 0x88be
	typeERSPAN3    = 0x22eb
	typeWCCP       = 0x883e // in GRE
	typeEoIP       = 0x6400 // in GRE, MikroTik's

	// maxLength is the largest value of the type field that is a length
	// (IEEE 802.3, 3.2.6).
	maxLength = 1500
)

func isVLAN(t uint16) bool {
	return t == typeVLAN || t == typeQinQ || t == typeQinQOld || t == typeQinQOld2
}

// portMask has all bits set for protocols whose header begins with two ports.
var portMask = [256]uint32{
	protoTCP: ^uint32(0), protoUDP: ^uint32(0), protoDCCP: ^uint32(0), protoSCTP: ^uint32(0), protoUDPLite: ^uint32(0),
}

// isExtension marks the IPv6 extension headers that are followed to the upper protocol.
var isExtension = [256]bool{
	protoHopByHop: true, protoRouting: true, protoFragment: true, protoAH: true, protoDstOpts: true,
	protoMobility: true, protoHIP: true, protoShim6: true,
}
