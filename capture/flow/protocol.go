package flow

import "strconv"

// protocolNames holds the names of IP protocols; "ip-<number>" for those
// without a common one.
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
		protoMPLS: "mpls", protoHIP: "hip", protoShim6: "shim6",
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

// Protocol returns what the IP header carries.
func (h *Header) Protocol() Protocol {
	if h.Version == 0 {
		return NonIP
	}
	return Protocol(h.Proto)
}

// String returns the lower-case name of the protocol, "ip-<number>" if it has none,
// and "non_ip" for NonIP.
func (p Protocol) String() string {
	if p >= NonIP {
		return "non_ip"
	}
	return protocolNames[p]
}
