// SPDX-License-Identifier: Apache-2.0

package export

import (
	"encoding/binary"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/records"
)

// Formats of samples, and of the content of flow samples (sflow_version_5.txt, section 5).
const (
	sampleFlow         = 1
	sampleFlowExpanded = 3

	flowRaw    = 1
	flowIPv4   = 3
	flowIPv6   = 4
	flowSwitch = 1001
)

// headSample is the size of a sample's format and length.
const headSample = 8

// rawLinks are the link types of sFlow's header protocols.
var rawLinks = map[uint32]capture.LinkType{
	1: capture.LinkEthernet, 4: capture.LinkFrameRelay, 7: capture.LinkPPP, 11: capture.LinkIPv4,
	12: capture.LinkIPv6, 13: capture.LinkMPLS,
}

// decodeSFlow reads the flow samples of a datagram. Counters and the rest stay.
func (r *Reader) decodeSFlow(b *records.Batch, m *message) (d decoded) {
	base := m.base()
	base.Exported, base.Start, base.End = m.received, m.received, m.received
	at := m.at
	for range m.count {
		if at+headSample > len(m.data) {
			d.undecodable++
			return d
		}
		format, size := binary.BigEndian.Uint32(m.data[at:]), uint64(binary.BigEndian.Uint32(m.data[at+4:]))
		if size > uint64(len(m.data)-at-headSample) {
			d.undecodable++
			return d
		}
		end := at + headSample + int(size)
		if format == sampleFlow || format == sampleFlowExpanded {
			rec := appendRecord(b, &base)
			if rec.Offset, rec.Length = at, end-at; !r.readSample(rec, m.data[at+headSample:end], format == sampleFlowExpanded) {
				b.Records = b.Records[:len(b.Records)-1]
				d.undecodable++
			}
		}
		at = end
	}
	return d
}

// readSample reads a flow sample.
func (r *Reader) readSample(rec *records.Record, p []byte, expanded bool) bool {
	x := xdr{p: p}
	x.word() // the sample's number
	source := x.word() & 0xffffff
	if expanded {
		source = x.word()
	}
	rec.Sampling = x.word()
	x.word() // the pool
	x.word() // drops
	rec.Ingress, rec.Egress = readInterface(&x, expanded), readInterface(&x, expanded)
	switch {
	case source != 0 && source == rec.Ingress && source != rec.Egress:
		rec.Direction = records.DirectionIngress
	case source != 0 && source == rec.Egress && source != rec.Ingress:
		rec.Direction = records.DirectionEgress
	}
	rec.Packets = 1
	for n := x.word(); n > 0 && len(x.p) > 0; n-- {
		format := x.word()
		body := xdr{p: x.bytes(x.word())}
		if x.short {
			return false
		}
		r.readFlow(rec, format, body)
	}
	rec.Unmatched = !rec.HasAddress()
	return !x.short
}

// noInterface says that a packet came by no interface, or left by none.
const noInterface = 1<<30 - 1

// readInterface reads an interface. It returns 0 for several interfaces or none.
func readInterface(x *xdr, expanded bool) uint32 {
	format, value := uint32(0), x.word()
	if expanded {
		format, value = value, x.word()
	} else {
		format, value = value>>30, value&noInterface
	}
	if format != 0 || value == noInterface {
		return 0
	}
	return value
}

// readFlow reads a flow record of a sample: a description of the sampled packet.
func (r *Reader) readFlow(rec *records.Record, format uint32, x xdr) {
	switch format {
	case flowRaw:
		protocol, length := x.word(), x.word()
		x.word() // what was stripped
		if link, ok := rawLinks[protocol]; ok {
			r.readPacket(rec, link, x.bytes(x.word()), length)
		}
	case flowIPv4, flowIPv6:
		n := uint32(4)
		if format == flowIPv6 {
			n = 16
		}
		sampled := *rec
		sampled.Bytes, sampled.Protocol = uint64(x.word()), uint8(x.word())
		address(&sampled.Source, x.bytes(n))
		address(&sampled.Destination, x.bytes(n))
		sampled.SourcePort, sampled.DestinationPort = uint16(x.word()), uint16(x.word())
		sampled.TCPFlags, sampled.TOS = uint8(x.word()), uint8(x.word())
		if !x.short && !rec.Source.IsValid() {
			new(values).finishICMP(&sampled)
			*rec = sampled
		}
	case flowSwitch:
		if v := x.word(); !x.short && v < 1<<12 {
			rec.VLAN = uint16(v)
		}
	}
}

// readPacket reads the headers of the packet that was sampled.
func (r *Reader) readPacket(rec *records.Record, link capture.LinkType, data []byte, length uint32) {
	b := &r.sampled
	if data == nil {
		return
	}
	if len(b.Interfaces) == 0 {
		b.AppendInterface(capture.Interface{})
	}
	b.Reset()
	b.Interfaces[0].LinkType = link
	b.Append(capture.Frame{WireLen: length}, data)
	h := &r.sampledHead[0]
	r.sampler.Decode(r.sampledHead[:], b, 0)
	rec.Bytes = uint64(length)
	if h.Version == 0 {
		return
	}
	ip := data[h.Start:h.End]
	rec.Source, rec.Destination, rec.TOS = addresses(ip, h.Version)
	rec.Protocol, rec.SourcePort, rec.DestinationPort = h.Proto, h.SrcPort, h.DstPort
	if h.Flags&headers.FlagVLAN != 0 && rec.VLAN == 0 {
		rec.VLAN = h.VLAN
	}
	if h.L4 == 0 {
		return
	}
	upper := data[h.L4:h.End]
	switch {
	case h.Proto == tcp && len(upper) > 13:
		rec.TCPFlags = upper[13]
	case (h.Proto == icmp4 || h.Proto == icmp6) && len(upper) > 1:
		rec.DestinationPort = uint16(upper[0])<<8 | uint16(upper[1])
	}
}

const tcp = 6
