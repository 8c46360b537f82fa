package text

import (
	"math"
	"net/netip"
	"time"

	"github.com/flowdedup/flowdedup/capture/records"
)

// values are what a record says that no single place of it has.
type values struct {
	duration           int64
	icmpType, icmpCode uint16
	hasType            bool
	isFlow             bool // its kind is that of flows
}

// set enters a value. The first of several stays.
func (f *format) set(r *records.Record, x *values, t target, v []byte) {
	if len(v) == 0 || len(v) == 1 && v[0] == '-' {
		return
	}
	switch t {
	case source:
		setAddress(&r.Source, v)
	case destination:
		setAddress(&r.Destination, v)
	case sourcePort:
		r.SourcePort = x.port(v)
	case destinationPort:
		r.DestinationPort = x.port(v)
	case protocol:
		r.Protocol = protocolOf(v)
	case tos:
		r.TOS = uint8(number(v))
	case dscp:
		r.TOS = uint8(number(v)) << 2
	case tcpFlags:
		r.TCPFlags = flagsOf(v)
	case tcpFlagsHex:
		r.TCPFlags = hex(v)
	case vlan:
		if r.VLAN == 0 {
			r.VLAN = uint16(min(number(v), math.MaxUint16)) & 0xfff
		}
	case vrf:
		r.VRF = uint32(number(v))
	case ingress:
		r.Ingress = uint32(number(v))
	case egress:
		r.Egress = uint32(number(v))
	case packets:
		r.Packets = number(v)
	case octets:
		r.Bytes = number(v)
	case sampling:
		r.Sampling = uint32(min(number(v), math.MaxUint32))
	case domain:
		r.Point.Domain = uint32(number(v))
	default:
		f.setRare(r, x, t, v)
	}
}

// setRare enters what fewer records have.
func (f *format) setRare(r *records.Record, x *values, t target, v []byte) {
	switch t {
	case start:
		r.Start, r.Precision = timeOf(v)
	case end:
		r.End, r.Precision = timeOf(v)
	case received:
		r.Received, _ = timeOf(v)
	case duration:
		x.duration = spanOf(v, time.Second)
	case durationMS:
		x.duration = spanOf(v, time.Millisecond)
	case direction:
		if r.Direction == records.DirectionUnknown {
			r.Direction = directionOf(v)
		}
	case exporter:
		switch a := address(v); {
		case !a.IsValid():
			r.Point.Domain = hash(v)
		case !a.IsUnspecified():
			r.Point.Exporter = a
		}
	case icmpType:
		x.icmpType, x.hasType = uint16(number(v)), true
	case icmpCode:
		x.icmpCode = uint16(number(v))
	case natSource:
		setAddress(&r.NATSource, v)
	case natDestination:
		setAddress(&r.NATDestination, v)
	case natSourcePort:
		r.NATSourcePort = x.port(v)
	case natDestinationPort:
		r.NATDestinationPort = x.port(v)
	case kind:
		x.isFlow = string(v) == f.flows
	}
}

func setAddress(to *netip.Addr, v []byte) {
	if a := address(v); a.IsValid() && (!to.IsValid() || to.IsUnspecified()) {
		*to = a
	}
}

// port reads a port. nfdump writes type and code of ICMP with a dot between.
func (x *values) port(v []byte) uint16 {
	for i, c := range v {
		if c == '.' {
			x.icmpType, x.icmpCode, x.hasType = uint16(number(v[:i])), uint16(number(v[i+1:])), true
			return 0
		}
	}
	n := number(v)
	if n > math.MaxUint16 {
		return 0
	}
	return uint16(n)
}

func directionOf(v []byte) records.Direction {
	switch string(v) {
	case "0", "ingress", "Ingress", "INGRESS":
		return records.DirectionIngress
	case "1", "egress", "Egress", "EGRESS":
		return records.DirectionEgress
	}
	return records.DirectionUnknown
}

// IP protocols whose packets have a type and a code in place of ports.
const (
	icmp4 = 1
	icmp6 = 58
)

// finish completes a record whose values were read.
func (f *format) finish(r *records.Record, x *values, input uint32) {
	if r.Protocol == icmp4 || r.Protocol == icmp6 {
		switch {
		case x.hasType:
			r.DestinationPort = x.icmpType<<8 | x.icmpCode&0xff
		case f.icmpPorts:
			r.DestinationPort = r.SourcePort<<8 | r.DestinationPort&0xff
		case r.DestinationPort == 0:
			r.DestinationPort = r.SourcePort
		}
		r.SourcePort = 0
	}
	if x.duration != 0 && r.End == 0 && r.Start != 0 {
		r.End = records.Shift(r.Start, x.duration)
	}
	if x.duration != 0 && r.Start == 0 && r.End != 0 {
		r.Start = records.Shift(r.End, -x.duration)
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
	if !r.Point.Exporter.IsValid() {
		r.Point.Input = input
	}
	r.Unmatched = f.flows != "" && !x.isFlow || noAddress(r.Source) && noAddress(r.Destination)
}

// noAddress reports whether an address is none: zeros fill places that say nothing.
func noAddress(a netip.Addr) bool { return !a.IsValid() || a.IsUnspecified() }
