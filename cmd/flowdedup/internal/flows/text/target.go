// SPDX-License-Identifier: Apache-2.0

package text

import (
	"math/bits"

	"github.com/flowdedup/flowdedup/capture/records"
)

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
	kind // records of flows have the value format.flows here

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

// Unread is a field with values that could not be read.
type Unread struct {
	Field   string // as a mapping names it
	Part    records.Parts
	Values  uint64 // at most one for a record
	Example string // the beginning of the first value
}

// maxExample is how many bytes an example has.
const maxExample = 64

// unreadValues are the unreadable values, by target.
type unreadValues [kind + 1]struct {
	values  uint64
	example string
}

// enter enters a value, unless its text stands for no value.
func (r *Reader) enter(t target, v []byte) {
	if len(v) != 0 && string(v) != r.unset && string(v) != r.empty && !r.set(t, v) {
		r.cannot(t, v)
	}
}

// cannot says that a value of the record at hand could not be read. It is counted, so that it does not
// pass for absent.
func (r *Reader) cannot(t target, v []byte) {
	if t > kind {
		t = implied[t].is
	}
	r.rec.Unread |= parts[t]
	r.values.lost |= 1 << t
	if u := &r.unread[t]; u.values == 0 {
		u.example = string(v[:min(len(v), maxExample)])
	}
}

// countUnread counts the unreadable values of the current record, which is about a flow.
func (r *Reader) countUnread() {
	for lost := r.values.lost; lost != 0; lost &= lost - 1 {
		r.unread[bits.TrailingZeros64(lost)].values++
		r.counts.Unread++
	}
}

// AppendUnread appends all fields with values that could not be read.
func (r *Reader) AppendUnread(to []Unread) []Unread {
	for t, u := range r.unread {
		if u.values > 0 {
			to = append(to, Unread{Field: target(t).String(), Part: parts[t], Values: u.values, Example: u.example})
		}
	}
	return to
}

// parts maps targets to parts of a record. Targets with 0 decide nothing.
var parts = [kind + 1]records.Parts{
	source: records.PartFlow, destination: records.PartFlow, sourcePort: records.PartFlow, destinationPort: records.PartFlow,
	protocol: records.PartFlow, icmpType: records.PartFlow, icmpCode: records.PartFlow,
	tos: records.PartTOS, dscp: records.PartTOS, vlan: records.PartVLAN, vrf: records.PartVRF,
	start: records.PartTime, end: records.PartTime, duration: records.PartTime, durationMS: records.PartTime,
	ingress: records.PartPoint, egress: records.PartPoint, direction: records.PartPoint, domain: records.PartPoint, observation: records.PartPoint,
	natSource: records.PartNAT, natDestination: records.PartNAT, natSourcePort: records.PartNAT, natDestinationPort: records.PartNAT,
	packets: records.PartCounters, octets: records.PartCounters, reversePackets: records.PartCounters, reverseOctets: records.PartCounters,
	totalPackets: records.PartCounters, totalOctets: records.PartCounters,
}
