// SPDX-License-Identifier: Apache-2.0

package export

import (
	"encoding/binary"
	"math"
	"net/netip"
	"time"

	"github.com/flowdedup/flowdedup/capture/records"
)

// values are fields without a single place in a record.
type values struct {
	startUp, endUp       uint32
	hasStartUp, hasEndUp bool
	boot                 int64 // when the exporter started
	duration, event      int64
	bytes, packets       uint64 // totals, or of the initiator
	// Totals of the reverse direction, or of the responder.
	bytesReverse, packetsReverse uint64
	icmp                         uint16
	hasICMP                      bool

	interval, taken, space, size, population uint64
	sampler                                  uint64
	hasSampler                               bool
}

// number reads an unsigned integer of any length (RFC 7011, section 6.2).
func number(v []byte) uint64 {
	switch len(v) {
	case 1:
		return uint64(v[0])
	case 2:
		return uint64(binary.BigEndian.Uint16(v))
	case 4:
		return uint64(binary.BigEndian.Uint32(v))
	case 8:
		return binary.BigEndian.Uint64(v)
	}
	n := uint64(0)
	for _, b := range v {
		n = n<<8 | uint64(b)
	}
	return n
}

// since1970 returns nanoseconds, or 0 for a time that has no place there.
func since1970(n uint64, unit time.Duration) int64 {
	if n > math.MaxInt64/uint64(unit) {
		return 0
	}
	return int64(n) * int64(unit)
}

// fromNTP reads a time of RFC 5905, seconds since 1900 and a fraction.
func fromNTP(v []byte) int64 {
	if len(v) != 8 {
		return 0
	}
	const to1970, era = 2208988800, 1 << 32
	seconds := int64(binary.BigEndian.Uint32(v)) - to1970
	if seconds < -to1970+1<<31 {
		seconds += era
	}
	return max(0, seconds*int64(time.Second)+int64(uint64(binary.BigEndian.Uint32(v[4:]))*uint64(time.Second)>>32))
}

// address sets to unless the field has another length, or would replace an address by none:
// some templates have fields for both families. Of several addresses the last counts: the inner
// header's (RFC 7011, section 8).
func address(to *netip.Addr, v []byte) {
	var a netip.Addr
	switch len(v) {
	case 4:
		a = netip.AddrFrom4([4]byte(v))
	case 16:
		a = netip.AddrFrom16([16]byte(v)).Unmap()
	default:
		return
	}
	if !to.IsValid() || !a.IsUnspecified() {
		*to = a
	}
}

// set stores the value of a field in its target.
func (x *values) set(r *records.Record, w target, v []byte) {
	switch w {
	case bytesDelta:
		r.Bytes = number(v)
	case bytesTotal, bytesInitiator:
		x.bytes = number(v)
	case packetsDelta:
		r.Packets = number(v)
	case packetsTotal, packetsInitiator:
		x.packets = number(v)
	case protocol:
		r.Protocol = uint8(number(v))
	case tos:
		r.TOS = uint8(number(v))
	case tcpFlags:
		r.TCPFlags = uint8(number(v))
	case sourcePort:
		r.SourcePort = uint16(number(v))
	case destinationPort:
		r.DestinationPort = uint16(number(v))
	case source4, source6:
		address(&r.Source, v)
	case destination4, destination6:
		address(&r.Destination, v)
	case ingress:
		r.Ingress = uint32(number(v))
	case egress:
		r.Egress = uint32(number(v))
	case vlan:
		r.VLAN = uint16(number(v)) & 0xfff
	case direction:
		if d := number(v); d <= 1 {
			r.Direction = records.DirectionIngress + records.Direction(d)
		}
	case vrf:
		r.VRF = uint32(number(v))
	default:
		x.setRare(r, w, v)
	}
}

// setRare enters fields that few records have.
func (x *values) setRare(r *records.Record, w target, v []byte) {
	switch w {
	case bytesReverse:
		r.ReverseBytes = number(v)
	case packetsReverse:
		r.ReversePackets = number(v)
	case bytesReverseTotal:
		x.bytesReverse = number(v)
	case packetsReverseTotal:
		x.packetsReverse = number(v)
	case icmpTypeCode:
		x.icmp, x.hasICMP = uint16(number(v)), true
	case icmpType:
		x.icmp, x.hasICMP = x.icmp&0xff|uint16(number(v))<<8, true
	case icmpCode:
		x.icmp, x.hasICMP = x.icmp&^0xff|uint16(number(v))&0xff, true
	case natSource4, natSource6:
		address(&r.NATSource, v)
	case natDestination4, natDestination6:
		address(&r.NATDestination, v)
	case natSourcePort:
		r.NATSourcePort = uint16(number(v))
	case natDestinationPort:
		r.NATDestinationPort = uint16(number(v))
	case exporter4, exporter6:
		setExporter(r, v)
	case domain:
		r.Point.Domain = uint32(number(v))
	case observation:
		n := number(v) // of 64 bits; most are small
		r.Observation = uint32(n) ^ uint32(n>>32)
	case samplingInterval:
		x.interval = number(v)
	case samplingPackets:
		x.taken = number(v)
	case samplingSpace:
		x.space = number(v)
	case samplingSize:
		x.size = number(v)
	case samplingPopulation:
		x.population = number(v)
	case samplerID:
		x.sampler, x.hasSampler = number(v), true
	default:
		x.setTime(r, w, v)
	}
}

// setExporter enters the exporter that a record names: who sent the message took it from
// there.
func setExporter(r *records.Record, v []byte) {
	var a netip.Addr
	if address(&a, v); a.IsValid() && !a.IsUnspecified() {
		r.Point.Exporter, r.Point.Input = a, 0
	}
}

// setTime enters times.
func (x *values) setTime(r *records.Record, w target, v []byte) {
	switch w {
	case startUptime:
		x.startUp, x.hasStartUp = uint32(number(v)), true
	case endUptime:
		x.endUp, x.hasEndUp = uint32(number(v)), true
	case startSeconds:
		r.Start, r.Precision = since1970(number(v), time.Second), time.Second
	case endSeconds:
		r.End, r.Precision = since1970(number(v), time.Second), time.Second
	case startMilliseconds:
		r.Start, r.Precision = since1970(number(v), time.Millisecond), time.Millisecond
	case endMilliseconds:
		r.End, r.Precision = since1970(number(v), time.Millisecond), time.Millisecond
	case startNTP:
		r.Start, r.Precision = fromNTP(v), time.Microsecond
	case endNTP:
		r.End, r.Precision = fromNTP(v), time.Microsecond
	case startBefore:
		r.Start, r.Precision = r.Exported-since1970(number(v), time.Microsecond), time.Second
	case endBefore:
		r.End, r.Precision = r.Exported-since1970(number(v), time.Microsecond), time.Second
	case eventMilliseconds:
		x.event = since1970(number(v), time.Millisecond)
	case bootMilliseconds:
		x.boot = since1970(number(v), time.Millisecond)
	case durationMilliseconds:
		x.duration = since1970(number(v), time.Millisecond)
	case durationMicroseconds:
		x.duration = since1970(number(v), time.Microsecond)
	}
}
