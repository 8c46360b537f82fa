// SPDX-License-Identifier: Apache-2.0

package text

// target is the field that a value sets.
type target uint8

const (
	source target = iota + 1
	destination
	sourcePort
	destinationPort
	protocol
	tos
	dscp
	tcpFlags
	tcpFlagsHex
	vlan
	vrf
	ingress
	egress
	direction
	start
	end
	duration
	durationMS
	packets
	octets
	sampling
	exporter
	domain
	observation
	received
	icmpType
	icmpCode
	natSource
	natDestination
	natSourcePort
	natDestinationPort
	reversePackets
	reverseOctets
	totalPackets // of both directions
	totalOctets
	both     // a number that is not 0 if both ends sent packets
	argusDir // an arrow
	argusState
	kind // a record is one of flows only with the value of the format

	// Ports whose name says the protocol.
	tcpSourcePort
	udpSourcePort
	sctpSourcePort
	icmp4Type
	icmp6Type
)

// implied has the protocol that the name of a value implies, and the target of the value.
var implied = map[target]struct {
	protocol uint8
	is       target
}{
	tcpSourcePort: {6, sourcePort}, udpSourcePort: {17, sourcePort}, sctpSourcePort: {132, sourcePort},
	icmp4Type: {1, icmpType}, icmp6Type: {58, icmpType},
}

// targets are the names of targets in a mapping.
var targets = map[string]target{
	"src": source, "dst": destination, "sport": sourcePort, "dport": destinationPort, "proto": protocol,
	"tos": tos, "dscp": dscp, "tcp_flags": tcpFlags, "vlan": vlan, "vrf": vrf, "in": ingress, "out": egress,
	"direction": direction, "start": start, "end": end, "duration": duration, "duration_ms": durationMS,
	"packets": packets, "bytes": octets, "sampling": sampling, "exporter": exporter, "domain": domain, "observation": observation,
	"received": received, "icmp_type": icmpType, "icmp_code": icmpCode, "nat_src": natSource,
	"reverse_packets": reversePackets, "reverse_bytes": reverseOctets, "nat_dst": natDestination, "nat_sport": natSourcePort, "nat_dport": natDestinationPort,
}

// String returns the name that a mapping has for the target.
func (t target) String() string {
	for name, is := range targets {
		if is == t {
			return name
		}
	}
	return map[target]string{tcpFlagsHex: "tcp_flags", totalPackets: "packets", totalOctets: "bytes", both: "bidirectional"}[t]
}
