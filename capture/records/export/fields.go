// SPDX-License-Identifier: Apache-2.0

package export

import (
	"net/netip"
	"time"

	"github.com/flowdedup/flowdedup/capture/records"
)

// element is an information element: its number, with the enterprise in the bits above (IANA has
// none). NetFlow v9 has IANA's up to 127, and most exporters of v9 use the others, too.
type element uint32

// reverse is the enterprise of the elements of a biflow's reverse direction (RFC 5103, section
// 6.1).
const reverse element = 29305 << 16

// element returns the element of a field, 0 if it has no place in a record.
func (f field) element() element {
	if f.enterprise != 0 && f.enterprise != uint32(reverse>>16) {
		return 0
	}
	e := element(f.enterprise<<16) | element(f.id)
	if new(values).set(new(records.Record), e, nil) {
		return e
	}
	return 0
}

// set stores the value of a field in its place, and reports whether there is one. Numbers above
// 40,000 are elements of Cisco's firewalls, from before these used IANA's.
func (x *values) set(r *records.Record, e element, v []byte) bool {
	n := number(v)
	switch e {
	case 1: // octetDeltaCount
		r.Bytes = n
	case 2: // packetDeltaCount
		r.Packets = n
	case 4: // protocolIdentifier
		r.Protocol = uint8(n)
	case 5: // ipClassOfService
		r.TOS = uint8(n)
	case 6: // tcpControlBits
		r.TCPFlags = uint8(n)
	case 7: // sourceTransportPort
		r.SourcePort = uint16(n)
	case 8, 27: // sourceIPv4Address, sourceIPv6Address
		address(&r.Source, v)
	case 10: // ingressInterface
		r.Ingress = uint32(n)
	case 11: // destinationTransportPort
		r.DestinationPort = uint16(n)
	case 12, 28: // destinationIPv4Address, destinationIPv6Address
		address(&r.Destination, v)
	case 14: // egressInterface
		r.Egress = uint32(n)
	case 58, 243: // vlanId, dot1qVlanId
		r.VLAN = uint16(n) & 0xfff
	case 61: // flowDirection
		if n <= 1 {
			r.Direction = records.DirectionIngress + records.Direction(n)
		}
	case 85, 231: // octetTotalCount, initiatorOctets
		x.bytes = n
	case 86, 298: // packetTotalCount, initiatorPackets
		x.packets = n
	case 234: // ingressVRFID
		r.VRF = uint32(n)
	default:
		return x.setTime(r, e, n, v) || x.setRare(r, e, n, v)
	}
	return true
}

// setTime stores times.
func (x *values) setTime(r *records.Record, e element, n uint64, v []byte) bool {
	switch e {
	case 21: // flowEndSysUpTime
		x.endUp, x.hasEndUp = uint32(n), true
	case 22: // flowStartSysUpTime
		x.startUp, x.hasStartUp = uint32(n), true
	case 150: // flowStartSeconds
		r.Start, r.Precision = since1970(n, time.Second), time.Second
	case 151: // flowEndSeconds
		r.End, r.Precision = since1970(n, time.Second), time.Second
	case 152: // flowStartMilliseconds
		r.Start, r.Precision = since1970(n, time.Millisecond), time.Millisecond
	case 153: // flowEndMilliseconds
		r.End, r.Precision = since1970(n, time.Millisecond), time.Millisecond
	case 154, 156: // flowStartMicroseconds, flowStartNanoseconds
		r.Start, r.Precision = fromNTP(v), time.Microsecond
	case 155, 157: // flowEndMicroseconds, flowEndNanoseconds
		r.End, r.Precision = fromNTP(v), time.Microsecond
	case 158: // flowStartDeltaMicroseconds
		r.Start, r.Precision = r.Exported-since1970(n, time.Microsecond), time.Second
	case 159: // flowEndDeltaMicroseconds
		r.End, r.Precision = r.Exported-since1970(n, time.Microsecond), time.Second
	case 160: // systemInitTimeMilliseconds
		x.boot = since1970(n, time.Millisecond)
	case 161: // flowDurationMilliseconds
		x.duration = since1970(n, time.Millisecond)
	case 162: // flowDurationMicroseconds
		x.duration = since1970(n, time.Microsecond)
	case 323: // observationTimeMilliseconds
		x.event = since1970(n, time.Millisecond)
	default:
		return false
	}
	return true
}

// setRare stores values that few records have.
func (x *values) setRare(r *records.Record, e element, n uint64, v []byte) bool {
	switch e {
	case 32, 139: // icmpTypeCodeIPv4, icmpTypeCodeIPv6
		x.icmp, x.hasICMP = uint16(n), true
	case 34, 50: // samplingInterval, samplerRandomInterval
		x.interval = n
	case 48, 302: // samplerId, selectorId
		x.sampler, x.hasSampler = n, true
	case 130, 131, 403, 404: // exporterIPv4Address, exporterIPv6Address, and of the original exporter
		setExporter(r, v)
	case 138: // observationPointId, of 64 bits; most are small
		r.Observation = uint32(n) ^ uint32(n>>32)
	case 149, 405: // observationDomainId, originalObservationDomainId
		r.Point.Domain = uint32(n)
	case 176, 178: // icmpTypeIPv4, icmpTypeIPv6
		x.icmp, x.hasICMP = x.icmp&0xff|uint16(n)<<8, true
	case 177, 179: // icmpCodeIPv4, icmpCodeIPv6
		x.icmp, x.hasICMP = x.icmp&^0xff|uint16(n)&0xff, true
	case 225, 281, 40001: // postNATSourceIPv4Address, postNATSourceIPv6Address
		address(&r.NATSource, v)
	case 226, 282, 40002: // postNATDestinationIPv4Address, postNATDestinationIPv6Address
		address(&r.NATDestination, v)
	case 227, 40003: // postNAPTSourceTransportPort
		r.NATSourcePort = uint16(n)
	case 228, 40004: // postNAPTDestinationTransportPort
		r.NATDestinationPort = uint16(n)
	case 232, reverse | 85: // responderOctets, octetTotalCount
		x.bytesReverse = n
	case 299, reverse | 86: // responderPackets, packetTotalCount
		x.packetsReverse = n
	case 305: // samplingPacketInterval
		x.taken = n
	case 306: // samplingPacketSpace
		x.space = n
	case 309: // samplingSize
		x.size = n
	case 310: // samplingPopulation
		x.population = n
	case reverse | 1: // octetDeltaCount
		r.ReverseBytes = n
	case reverse | 2: // packetDeltaCount
		r.ReversePackets = n
	default:
		return false
	}
	return true
}

// setExporter stores the exporter that a record names: the sender of the message took it from
// there.
func setExporter(r *records.Record, v []byte) {
	var a netip.Addr
	if address(&a, v); a.IsValid() && !a.IsUnspecified() {
		r.Point.Exporter, r.Point.Input = a, 0
	}
}
