// SPDX-License-Identifier: Apache-2.0

package export

// target is the field of a records.Record that an information element sets.
type target uint8

const (
	nothing target = iota
	bytesDelta
	bytesTotal
	bytesInitiator
	packetsDelta
	packetsTotal
	packetsInitiator
	bytesReverse
	bytesReverseTotal
	packetsReverse
	packetsReverseTotal
	protocol
	tos
	tcpFlags
	sourcePort
	destinationPort
	source4
	source6
	destination4
	destination6
	ingress
	egress
	icmpTypeCode
	icmpType
	icmpCode
	vlan
	direction
	vrf
	natSource4
	natSource6
	natDestination4
	natDestination6
	natSourcePort
	natDestinationPort
	startUptime
	endUptime
	startSeconds
	endSeconds
	startMilliseconds
	endMilliseconds
	startNTP
	endNTP
	startBefore
	endBefore
	eventMilliseconds
	bootMilliseconds
	durationMilliseconds
	durationMicroseconds
	samplingInterval
	samplingPackets
	samplingSpace
	samplerID
	samplingSize
	samplingPopulation
	exporter4
	exporter6
	domain
	observation
)

// elements are IANA's information elements by number. NetFlow v9 has the same up to 127, and
// most exporters of v9 use the others, too.
var elements = map[uint16]target{
	1: bytesDelta, 2: packetsDelta, 4: protocol, 5: tos, 6: tcpFlags, 7: sourcePort, 8: source4,
	10: ingress, 11: destinationPort, 12: destination4, 14: egress, 21: endUptime, 22: startUptime,
	27: source6, 28: destination6, 32: icmpTypeCode, 34: samplingInterval, 48: samplerID,
	50: samplingInterval, 58: vlan, 61: direction, 85: bytesTotal, 86: packetsTotal,
	130: exporter4, 131: exporter6, 138: observation, 139: icmpTypeCode, 149: domain, 150: startSeconds, 151: endSeconds,
	152: startMilliseconds, 153: endMilliseconds, 154: startNTP, 155: endNTP, 156: startNTP, 157: endNTP,
	158: startBefore, 159: endBefore, 160: bootMilliseconds, 161: durationMilliseconds, 162: durationMicroseconds,
	176: icmpType, 177: icmpCode, 178: icmpType, 179: icmpCode,
	225: natSource4, 226: natDestination4, 227: natSourcePort, 228: natDestinationPort,
	231: bytesInitiator, 232: bytesReverseTotal, 234: vrf, 243: vlan, 281: natSource6, 282: natDestination6,
	298: packetsInitiator, 299: packetsReverseTotal, 302: samplerID, 305: samplingPackets, 306: samplingSpace,
	309: samplingSize, 310: samplingPopulation, 323: eventMilliseconds,
	403: exporter4, 404: exporter6, 405: domain,
}

// ciscoElements are elements of Cisco's firewalls for translation, from before they used
// IANA's.
var ciscoElements = map[uint16]target{
	40001: natSource4, 40002: natDestination4, 40003: natSourcePort, 40004: natDestinationPort,
}

// reverse is the enterprise of the elements of a biflow's reverse direction (RFC 5103, section
// 6.1), and reverseElements are their counters.
const reverse = 29305

var reverseElements = map[uint16]target{
	1: bytesReverse, 2: packetsReverse, 85: bytesReverseTotal, 86: packetsReverseTotal,
}

// element returns the target of a field. Fields of other enterprises set nothing.
func element(f field, v9 bool) target {
	switch f.enterprise {
	case 0:
	case reverse:
		return reverseElements[f.id]
	default:
		return nothing
	}
	if w := elements[f.id]; w != nothing || !v9 {
		return w
	}
	return ciscoElements[f.id]
}
