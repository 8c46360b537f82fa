// SPDX-License-Identifier: Apache-2.0

package text

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// format maps names to fields. Names of JSON begin with the names of the objects around them,
// with dots between.
type format struct {
	name  string
	names map[string]target
	// flows is the value of the field kind in records of flows, or "" if all records are.
	flows string
	// others are the protocols of records that are not about a flow of IP.
	others []string
	// argus says that the source port of ICMP is code << 8 | type. ICMPv6 has its code in the
	// destination port, and ESP its SPI.
	argus bool
	// icmpPorts says that the ports of ICMP are its type and its code.
	icmpPorts bool
	// both says that records report both directions.
	both bool
}

// formats are the presets. Where names of several fit, the first that fits best is taken.
var formats = []*format{
	{name: "goflow2", names: map[string]target{
		"src_addr": source, "dst_addr": destination, "src_port": sourcePort, "dst_port": destinationPort,
		"proto": protocol, "ip_tos": tos, "tcp_flags": tcpFlags, "vlan_id": vlan, "ingress_vrf_id": vrf,
		"in_if": ingress, "out_if": egress, "flow_direction": direction,
		"time_flow_start_ns": start, "time_flow_end_ns": end, "time_received_ns": received,
		"packets": packets, "bytes": octets, "sampling_rate": sampling, "sampler_address": exporter,
		"observation_domain_id": domain, "observation_point_id": observation, "icmp_type": icmpType, "icmp_code": icmpCode,
		"reverse_packets": reversePackets, "reverse_bytes": reverseOctets, "bidirectional": both, "src_addr_nat": natSource, "dst_addr_nat": natDestination,
		"SrcAddr": source, "DstAddr": destination, "SrcPort": sourcePort, "DstPort": destinationPort,
		"Proto": protocol, "IPTos": tos, "TCPFlags": tcpFlags, "VlanId": vlan, "IngressVrfID": vrf,
		"InIf": ingress, "OutIf": egress, "FlowDirection": direction, "TimeFlowStart": start, "TimeFlowEnd": end,
		"TimeFlowStartMs": start, "TimeFlowEndMs": end, "TimeReceived": received, "Packets": packets,
		"Bytes": octets, "SamplingRate": sampling, "SamplerAddress": exporter, "IcmpType": icmpType, "IcmpCode": icmpCode,
	}},
	{name: "nfdump", names: map[string]target{
		"src4_addr": source, "dst4_addr": destination, "src6_addr": source, "dst6_addr": destination,
		"src_port": sourcePort, "dst_port": destinationPort, "proto": protocol, "src_tos": tos,
		"tcp_flags": tcpFlags, "src_vlan": vlan, "ingress_vrf": vrf, "input_snmp": ingress, "output_snmp": egress,
		"direction": direction, "first": start, "last": end, "t_first": start, "t_last": end,
		"received": received, "t_received": received, "in_packets": packets, "in_bytes": octets,
		"out_packets": reversePackets, "out_bytes": reverseOctets, "sampling": sampling, "ip4_router": exporter, "ip6_router": exporter, "ip_router": exporter,
		"engine_id": domain, "icmp_type": icmpType, "icmp_code": icmpCode,
		"src4_xlt_ip": natSource, "dst4_xlt_ip": natDestination, "src6_xlt_ip": natSource, "dst6_xlt_ip": natDestination,
		"src_xlt_port": natSourcePort, "dst_xlt_port": natDestinationPort,
		// CSV, of versions 1.6 and 1.7.
		"ts": start, "te": end, "sa": source, "da": destination, "sp": sourcePort, "dp": destinationPort,
		"pr": protocol, "flg": tcpFlags, "stos": tos, "ipkt": packets, "ibyt": octets, "opkt": reversePackets, "obyt": reverseOctets, "in": ingress, "out": egress,
		"svln": vlan, "ra": exporter, "tr": received,
		"firstSeen": start, "lastSeen": end, "duration": duration, "srcAddr": source, "dstAddr": destination,
		"srcPort": sourcePort, "dstPort": destinationPort, "packets": packets, "bytes": octets, "tcpFlags": tcpFlags,
		"outPackets": reversePackets, "outBytes": reverseOctets,
	}},
	{name: "zeek-conn", both: true, icmpPorts: true, names: map[string]target{
		"ts": start, "id.orig_h": source, "id.resp_h": destination, "id.orig_p": sourcePort, "id.resp_p": destinationPort,
		"proto": protocol, "duration": duration, "orig_pkts": packets, "orig_ip_bytes": octets, "resp_pkts": reversePackets, "resp_ip_bytes": reverseOctets, "vlan": vlan,
	}},
	{name: "suricata-flow", both: true, flows: "flow", names: map[string]target{
		"event_type": kind, "src_ip": source, "dest_ip": destination, "src_port": sourcePort, "dest_port": destinationPort,
		"proto": protocol, "vlan": vlan, "icmp_type": icmpType, "icmp_code": icmpCode, "timestamp": received,
		"flow.pkts_toserver": packets, "flow.bytes_toserver": octets, "flow.pkts_toclient": reversePackets, "flow.bytes_toclient": reverseOctets, "flow.start": start, "flow.end": end,
		"tcp.tcp_flags": tcpFlagsHex, "host": exporter,
	}},
	{name: "netobserv", names: map[string]target{
		"SrcAddr": source, "DstAddr": destination, "SrcPort": sourcePort, "DstPort": destinationPort,
		"Proto": protocol, "Dscp": dscp, "Flags": tcpFlags, "FlowDirection": direction, "IfDirection": direction,
		"IfDirections": direction, "TimeFlowStartMs": start, "TimeFlowEndMs": end, "TimeReceived": received,
		"Packets": packets, "Bytes": octets, "Sampling": sampling, "AgentIP": exporter, "IcmpType": icmpType, "IcmpCode": icmpCode,
	}},
	// Hubble's flows (cilium's exporter, hubble observe -o json): events of packets, without
	// counters, at the node of each end.
	{name: "hubble", names: withPrefix("flow.", map[string]target{
		"IP.source": source, "IP.destination": destination, "node_name": exporter, "time": start,
		"l4.TCP.source_port": tcpSourcePort, "l4.TCP.destination_port": destinationPort,
		"l4.UDP.source_port": udpSourcePort, "l4.UDP.destination_port": destinationPort,
		"l4.SCTP.source_port": sctpSourcePort, "l4.SCTP.destination_port": destinationPort,
		"l4.ICMPv4.type": icmp4Type, "l4.ICMPv4.code": icmpCode, "l4.ICMPv6.type": icmp6Type, "l4.ICMPv6.code": icmpCode,
	})},
	{name: "gcp", names: withPrefix("jsonPayload.", map[string]target{
		"connection.src_ip": source, "connection.dest_ip": destination, "connection.src_port": sourcePort,
		"connection.dest_port": destinationPort, "connection.protocol": protocol, "bytes_sent": octets,
		"packets_sent": packets, "start_time": start, "end_time": end, "reporter": exporter,
	})},
	{name: "rwcut", names: map[string]target{
		"sIP": source, "dIP": destination, "sPort": sourcePort, "dPort": destinationPort, "pro": protocol,
		"protocol": protocol, "packets": packets, "bytes": octets, "flags": tcpFlags, "sTime": start, "eTime": end,
		"duration": duration, "dur": duration, "sensor": exporter, "sen": exporter, "in": ingress, "out": egress, "iType": icmpType, "iCode": icmpCode,
	}},
	// Argus's ra(1) with -c, which writes a header by itself.
	{name: "argus", both: true, argus: true, others: []string{"man", "arp", "rarp", "llc", "2054"}, names: map[string]target{
		"StartTime": start, "LastTime": end, "Dur": duration, "Proto": protocol, "SrcAddr": source, "DstAddr": destination,
		"Sport": sourcePort, "Dport": destinationPort, "TotPkts": totalPackets, "TotBytes": totalOctets, "SrcPkts": packets, "SrcBytes": octets,
		"DstPkts": reversePackets, "DstBytes": reverseOctets, "Dir": argusDir, "State": argusState, "sTos": tos, "sVlan": vlan, "SrcId": exporter,
	}},
	// yafscii(1) with --tabular --print-header.
	{name: "yaf", both: true, names: map[string]target{
		"start-time": start, "end-time": end, "duration": duration, "proto": protocol, "sip": source, "dip": destination,
		"sp": sourcePort, "dp": destinationPort, "pkt": packets, "oct": octets, "rpkt": reversePackets, "roct": reverseOctets,
	}},
	// Sessions of Arkime: its viewer's CSV, and the JSON of its database.
	{name: "arkime", both: true, names: map[string]target{
		"IP Protocol": protocol, "Start Time": start, "Stop Time": end, "Src IP": source, "Src Port": sourcePort,
		"Dst IP": destination, "Dst Port": destinationPort, "Bytes": totalOctets, "Packets": totalPackets,
		"Src Bytes": octets, "Src Packets": packets, "Dst Bytes": reverseOctets, "Dst Packets": reversePackets, "Arkime Node": exporter, "Moloch Node": exporter,
		"ipProtocol": protocol, "firstPacket": start, "lastPacket": end, "source.ip": source, "source.port": sourcePort,
		"destination.ip": destination, "destination.port": destinationPort, "network.bytes": totalOctets, "network.packets": totalPackets,
		"source.bytes": octets, "source.packets": packets, "destination.bytes": reverseOctets, "destination.packets": reversePackets, "node": exporter,
	}},
	{name: "aws", names: map[string]target{
		"srcaddr": source, "dstaddr": destination, "srcport": sourcePort, "dstport": destinationPort,
		"protocol": protocol, "packets": packets, "bytes": octets, "start": start, "end": end, "tcp-flags": tcpFlags,
		"flow-direction": direction, "interface-id": exporter,
		"tcp_flags": tcpFlags, "flow_direction": direction, "interface_id": exporter,
	}},
}

// withPrefix returns the names with and without a prefix.
func withPrefix(prefix string, names map[string]target) map[string]target {
	all := maps.Clone(names)
	for name, t := range names {
		all[prefix+name] = t
	}
	return all
}

// Formats returns the names of the presets.
func Formats() (all []string) {
	for _, f := range formats {
		all = append(all, f.name)
	}
	return all
}

// Mapping is a user's mapping of names to fields, in place of a preset.
type Mapping struct{ names map[string]target }

// ErrMapping is wrapped by errors about the form of a mapping.
var ErrMapping = errors.New("not a mapping of names")

// ParseMapping reads a list such as src=client.ip,dst=server.ip,bytes=octets: a field, and the
// name of its value. Objects in objects have dots in their names. Source and destination must
// be among them. Errors wrap ErrMapping.
func ParseMapping(s string) (Mapping, error) {
	m := Mapping{map[string]target{}}
	for pair := range strings.SplitSeq(s, ",") {
		what, name, found := strings.Cut(pair, "=")
		t := targets[what]
		switch {
		case !found || name == "":
			return m, fmt.Errorf("%w: %q: write it as src=NAME,dst=NAME", ErrMapping, pair)
		case t == 0:
			return m, fmt.Errorf("%w: %q is none of %s", ErrMapping, what, strings.Join(slices.Sorted(maps.Keys(targets)), ", "))
		}
		m.names[name] = t
	}
	if f := (&format{names: m.names}); !f.fits(slices.Collect(maps.Keys(m.names))) {
		return m, fmt.Errorf("%w: it has no src and dst", ErrMapping)
	}
	return m, nil
}

// fits reports whether names include the source and the destination of a flow.
func (f *format) fits(names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return f.names[n] == source }) &&
		slices.ContainsFunc(names, func(n string) bool { return f.names[n] == destination })
}

// formatOf returns the preset that knows most of the names, nil if none knows enough.
func formatOf(names []string) (best *format) {
	most := 0
	for _, f := range formats {
		n := 0
		for _, name := range names {
			if f.names[name] != 0 {
				n++
			}
		}
		if n > most && f.fits(names) {
			best, most = f, n
		}
	}
	return best
}
