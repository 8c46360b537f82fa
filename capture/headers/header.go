// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"strconv"

	"github.com/flowdedup/flowdedup/capture/internal/iana"
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
	// Wire is the length on the wire of the bytes from Start to End. It is set only without an
	// IP header, since IP states its own length.
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
	// Proto is the IP protocol number; in IPv6, the protocol behind the extension headers.
	Proto uint8
	Tags  uint8
	Flags uint8 // of the Flag constants
}

// Bits of Header.Flags.
const (
	FlagVLAN     = 1 << iota // the frame has a VLAN tag
	FlagDst                  // Dst is valid
	FlagSrc                  // Src is valid
	FlagFragment             // the datagram is a fragment, the first or a later fragment
	FlagInner                // a tunnel was opened
	FlagClosed               // a tunnel was not opened: see Decoder.Unopened
)

// linkFlags are the flags about the link header.
const linkFlags = FlagVLAN | FlagDst | FlagSrc

// protocolNames has the common names of IP protocols.
var protocolNames = [256]string{
	iana.ProtoHopByHop: "hopopt", iana.ProtoICMP: "icmp", iana.ProtoIGMP: "igmp", iana.ProtoIPv4: "ipip", iana.ProtoTCP: "tcp", iana.ProtoUDP: "udp",
	iana.ProtoDCCP: "dccp", iana.ProtoIPv6: "ip6ip", iana.ProtoRouting: "ipv6-route", iana.ProtoFragment: "ipv6-frag", iana.ProtoGRE: "gre",
	iana.ProtoESP: "esp", iana.ProtoAH: "ah", iana.ProtoICMPv6: "icmpv6", iana.ProtoNoNext: "ipv6-nonxt", iana.ProtoDstOpts: "ipv6-opts",
	iana.ProtoEIGRP: "eigrp", iana.ProtoOSPF: "ospf", iana.ProtoEtherIP: "etherip", iana.ProtoPIM: "pim", iana.ProtoIPComp: "ipcomp",
	iana.ProtoVRRP: "vrrp", iana.ProtoL2TP: "l2tp", iana.ProtoSCTP: "sctp", iana.ProtoMobility: "mobility", iana.ProtoUDPLite: "udplite",
	iana.ProtoMPLS: "mpls", iana.ProtoHIP: "hip", iana.ProtoShim6: "shim6", iana.ProtoEthernet: "ethernet",
}

// Protocol is the protocol that the IP header of a frame names: an IP protocol number, or
// NonIP.
type Protocol uint16

// NonIP stands for frames without an IP header.
const NonIP Protocol = 256

// ProtocolCount is the number of values that a Protocol has.
const ProtocolCount = 257

// Protocol returns the protocol number of the IP header, or NonIP.
func (h *Header) Protocol() Protocol {
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
	if name := protocolNames[p]; name != "" {
		return name
	}
	return "ip-" + strconv.Itoa(int(p))
}
