// SPDX-License-Identifier: Apache-2.0

package text

import (
	"bytes"
	"math"
	"net/netip"
	"slices"
	"time"

	"github.com/flowdedup/flowdedup/capture/records"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// values are values without a single place in a record.
type values struct {
	duration           int64
	icmpType, icmpCode uint16
	hasType            bool
	isFlow             bool   // its kind says that it is about a flow
	swapped            bool   // the source port was code << 8 | type, in hexadecimal
	dotted             target // a port that has a fraction that is not 0, or 0
	wide               target // a port above 65,535, or 0
	spi                uint32 // its value
	wideText           []byte // and as it was written
	isOther            bool   // its protocol says that it is not
	packets, octets    uint64 // of both directions
	answered           bool   // both ends sent packets
	accepted           bool   // so they did if the protocol is TCP
	split              bool   // the reverse direction has a counter of its own
	endText            []byte // as it was written
	lost               uint64 // bits of the targets of values that could not be read
}

// set enters a value, and reports whether it could read it. The first of several stays.
func (r *Reader) set(t target, v []byte) (ok bool) {
	rec, x := r.rec, &r.values
	switch t {
	case source:
		return setAddress(&rec.Source, v)
	case destination:
		return setAddress(&rec.Destination, v)
	case sourcePort:
		rec.SourcePort, ok = x.port(t, v)
	case destinationPort:
		rec.DestinationPort, ok = x.port(t, v)
	case protocol:
		if x.isOther = slices.Contains(r.format.others, str(v)); x.isOther {
			return true
		}
		rec.Protocol, ok = protocolOf(v)
	case packets:
		rec.Packets, ok = number(v, math.MaxUint64)
	case octets:
		rec.Bytes, ok = number(v, math.MaxUint64)
	case start:
		rec.Start, rec.Precision, ok = r.times.read(t, v)
	case end:
		rec.End, rec.Precision, ok = r.times.read(t, v)
		x.endText = v
	case received:
		rec.Received, _, ok = r.times.read(t, v)
	case duration:
		x.duration, ok = spanOf(v, time.Second)
	case durationMS:
		x.duration, ok = spanOf(v, time.Millisecond)
	case kind:
		x.isFlow, ok = string(v) == r.format.flows, true
	default:
		return r.setRare(t, v)
	}
	return ok
}

// setRare enters fields that fewer records have.
func (r *Reader) setRare(t target, v []byte) (ok bool) {
	rec, x, n := r.rec, &r.values, uint64(0)
	switch t {
	case tos:
		return setNumber(&rec.TOS, v)
	case dscp:
		n, ok = number(v, 63)
		rec.TOS = uint8(n) << 2
	case tcpFlags:
		rec.TCPFlags, ok = flagsOf(v)
	case tcpFlagsHex:
		n, ok = hexadecimal(v, math.MaxUint16)
		rec.TCPFlags = uint8(n)
	case vlan:
		if n, ok = number(v, math.MaxUint16); rec.VLAN == 0 {
			rec.VLAN = uint16(n) & 0xfff
		}
	case vrf:
		return setNumber(&rec.VRF, v)
	case ingress:
		return setNumber(&rec.Ingress, v)
	case egress:
		return setNumber(&rec.Egress, v)
	case sampling:
		return setNumber(&rec.Sampling, v)
	case domain:
		return setNumber(&rec.Point.Domain, v)
	case observation:
		return setNumber(&rec.Observation, v)
	case direction:
		var d records.Direction
		if d, ok = directionOf(v); rec.Direction == records.DirectionUnknown {
			rec.Direction = d
		}
	case exporter:
		setExporter(&rec.Point, v)
		return true
	case icmpType:
		n, ok = number(v, math.MaxUint8)
		x.icmpType, x.hasType = uint16(n), ok
	case icmpCode:
		n, ok = number(v, math.MaxUint8)
		x.icmpCode = uint16(n)
	case reversePackets:
		rec.ReversePackets, ok = number(v, math.MaxUint64)
		x.split = true
	case reverseOctets:
		rec.ReverseBytes, ok = number(v, math.MaxUint64)
		x.split = true
	case totalPackets:
		x.packets, ok = number(v, math.MaxUint64)
	case totalOctets:
		x.octets, ok = number(v, math.MaxUint64)
	case both:
		n, ok = number(v, 1)
		x.answered = n != 0
	case argusDir:
		x.answered, ok = bytes.IndexByte(v, '<') >= 0 && bytes.IndexByte(v, '>') >= 0, true
	case argusState:
		x.accepted, ok = slices.Contains(answeredStates, str(v)), true
	case natSource:
		return setAddress(&rec.NATSource, v)
	case natDestination:
		return setAddress(&rec.NATDestination, v)
	case natSourcePort:
		rec.NATSourcePort, ok = x.port(t, v)
	case natDestinationPort:
		rec.NATDestinationPort, ok = x.port(t, v)
	default:
		rec.Protocol = implied[t].protocol
		return r.set(implied[t].is, v)
	}
	return ok
}

// setNumber stores a number, or 0 if it does not fit.
func setNumber[N uint8 | uint32](to *N, v []byte) bool {
	n, ok := number(v, uint64(^N(0)))
	*to = N(n)
	return ok
}

// setExporter stores the exporter of a record. The hash of any other name
// becomes the domain.
func setExporter(p *records.Point, v []byte) {
	switch a := address(v); {
	case !a.IsValid():
		p.Domain = hash(v)
	case !a.IsUnspecified():
		p.Exporter = a
	}
}

func setAddress(to *netip.Addr, v []byte) bool {
	a := address(v)
	if a.IsValid() && (!to.IsValid() || to.IsUnspecified()) {
		*to = a
	}
	return a.IsValid()
}

// port reads a port, or the name of a service. nfdump writes type and code of ICMP with a dot
// between, Argus in hexadecimal with the code in front. Programs that know only numbers with
// fractions write a port as 443.0.
func (x *values) port(t target, v []byte) (uint16, bool) {
	if n, digits := eight(v); digits == len(v) {
		return x.narrow(t, n, v), true
	}
	switch {
	case !isDigit(v[0]):
		return service(v)
	case len(v) > 2 && v[1] == 'x':
		n, ok := hexadecimal(v[2:], math.MaxUint32)
		if t == sourcePort && n <= math.MaxUint16 && ok {
			x.swapped = true
		}
		return x.narrow(t, n, v), ok
	}
	at := bytes.IndexByte(v, '.')
	if at < 0 {
		n, ok := number(v, math.MaxUint32)
		return x.narrow(t, n, v), ok
	}
	n, ok := digits(v[:at], math.MaxUint16)
	code, fine := digits(v[at+1:], math.MaxUint8)
	if n <= math.MaxUint8 {
		x.icmpType, x.icmpCode, x.hasType = uint16(n), uint16(code), true
	}
	if ok = ok && fine; ok && code != 0 {
		x.dotted = t
	}
	return uint16(n), ok
}

// narrow returns a port. It notes a number that is too large for a port.
func (x *values) narrow(t target, n uint64, v []byte) uint16 {
	if n > math.MaxUint16 {
		x.wide, x.spi, x.wideText = t, uint32(n), v
		return 0
	}
	return uint16(n)
}

// directionOf reads a direction. There are numbers of others than these two.
func directionOf(v []byte) (records.Direction, bool) {
	switch string(v) {
	case "0", "ingress", "Ingress", "INGRESS":
		return records.DirectionIngress, true
	case "1", "egress", "Egress", "EGRESS":
		return records.DirectionEgress, true
	}
	_, ok := number(v, math.MaxUint8)
	return records.DirectionUnknown, ok
}

// IP protocols whose packets have a type and a code in place of ports.
const (
	icmp4 = 1
	tcp   = 6
	icmp6 = 58
	esp   = 50 // and a security parameters index (SPI)
)

// finish completes a record whose values were read.
func (t *Reader) finish(r *records.Record, x *values) {
	if r.Protocol == esp && t.format.argus {
		x.setSPI(r)
	} else if x.wide != 0 {
		t.cannot(x.wide, x.wideText)
	}
	switch {
	case r.Protocol == icmp4 || r.Protocol == icmp6:
		x.setICMP(r, t.format)
	case x.dotted != 0:
		t.cannot(x.dotted, dottedPort)
	}
	x.setBoth(r)
	t.setTimes(r, x)
	if !r.Point.Exporter.IsValid() {
		r.Point.Input = t.config.Input
	}
	r.Unmatched = !r.HasAddress()
}

// setICMP stores type and code as the destination port, from whatever the format writes them as.
func (x *values) setICMP(r *records.Record, f *format) {
	switch {
	case x.swapped || f.argus:
		code := r.SourcePort >> 8
		if r.Protocol == icmp6 {
			code = r.DestinationPort & 0xff
		}
		r.DestinationPort = r.SourcePort<<8 | code
	case x.hasType:
		r.DestinationPort = x.icmpType<<8 | x.icmpCode&0xff
	case f.icmpPorts:
		r.DestinationPort = r.SourcePort<<8 | r.DestinationPort&0xff
	case r.DestinationPort == 0:
		r.DestinationPort = r.SourcePort
	}
	r.SourcePort = 0
}

// setSPI stores the SPI as both ports, its upper half first. Each direction has an SPI of its own.
func (x *values) setSPI(r *records.Record) {
	if x.wide == 0 {
		x.spi = uint32(max(r.SourcePort, r.DestinationPort))
	}
	r.SourcePort, r.DestinationPort = uint16(x.spi>>16), uint16(x.spi)
}

// answeredStates are the states of Argus in which both ends of TCP sent packets. Its arrow only
// says who began.
var answeredStates = []string{"ACC", "EST", "CON", "FIN", "CLO", "RST"}

// setBoth derives counters of a direction from the totals of both, and whether both ends sent
// packets.
func (x *values) setBoth(r *records.Record) {
	r.Packets, r.ReversePackets = split(x.packets, r.Packets, r.ReversePackets)
	r.Bytes, r.ReverseBytes = split(x.octets, r.Bytes, r.ReverseBytes)
	r.Both = r.ReversePackets|r.ReverseBytes != 0 || !x.split && (x.answered || x.accepted && r.Protocol == tcp)
}

// split returns the counters of both directions. Of a total without parts the first has all.
func split(total, forward, back uint64) (uint64, uint64) {
	switch {
	case total <= forward || total <= back:
	case back == 0 && forward != 0:
		back = total - forward
	case forward == 0:
		forward = total - back
	}
	return forward, back
}

// setTimes derives missing times. The time when a record came replaces times that are unreadable or
// impossible.
func (t *Reader) setTimes(r *records.Record, x *values) {
	if r.EndsBeforeStart() {
		t.cannot(end, x.endText)
	}
	if x.lost&(1<<start|1<<end) != 0 {
		r.Start, r.End = 0, 0
		if r.Received != 0 && x.lost&(1<<duration|1<<durationMS) == 0 {
			r.Unread &^= records.PartTime
		}
		return
	}
	if x.duration != 0 && r.End == 0 && r.Start != 0 {
		r.End = calendar.Shift(r.Start, x.duration)
	}
	if x.duration != 0 && r.Start == 0 && r.End != 0 {
		r.Start = calendar.Shift(r.End, -x.duration)
	}
	if r.End == 0 {
		r.End = r.Start
	}
	if r.Start == 0 {
		r.Start = r.End
	}
	if r.Received == 0 {
		r.Received = r.End
	}
	if r.End == 0 && x.lost&(1<<received) != 0 {
		r.Unread |= records.PartTime
	}
}

// dottedPort is an example of a value that is no port.
var dottedPort = []byte("a number with a fraction")
