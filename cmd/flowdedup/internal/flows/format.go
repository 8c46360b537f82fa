// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/flowdedup/flowdedup/capture/keys"
	"github.com/flowdedup/flowdedup/capture/records"
	"github.com/flowdedup/flowdedup/capture/records/match"
)

// names returns the names of points, as outputs have them.
type names struct {
	judge   *match.Judge
	inputs  []string
	byInput bool     // points are inputs
	all     []string // by number
	quoted  []string // the same for JSON
}

// of returns the name of a point: the exporter or the input, the observation domain behind
// a slash unless it is 0, and the direction, the interface or the observation point behind a colon.
func (n *names) of(number uint32) string {
	if number == 0 {
		return "unknown"
	}
	points := n.judge.Points()
	for len(n.all) < len(points) {
		name := n.make(&points[len(n.all)].PointName)
		quoted, _ := json.Marshal(name) // a string can always be quoted
		n.all, n.quoted = append(n.all, name), append(n.quoted, string(quoted))
	}
	return n.all[number-1]
}

// inJSON returns the name of a point in quotes.
func (n *names) inJSON(number uint32) string {
	if name := n.of(number); number == 0 {
		return `"` + name + `"`
	}
	return n.quoted[number-1]
}

func (n *names) make(p *match.PointName) string {
	var name string
	switch {
	case p.Exporter.IsValid():
		name = p.Exporter.String()
	case int(p.Input) < len(n.inputs):
		name = n.inputs[p.Input]
	}
	if p.Domain != 0 {
		name += "/" + strconv.FormatUint(uint64(p.Domain), 10)
	}
	switch {
	case n.byInput && int(p.Part) < len(n.inputs):
		if p.Exporter.IsValid() {
			name += " in " + n.inputs[p.Part]
		}
	case p.Part != 0:
		name += ":" + strconv.FormatUint(uint64(p.Part), 10)
	}
	return name
}

// field is a field of a record in an output. It has the name that goflow2 gives it, if any.
type field struct {
	name string
	text bool // quoted in JSON
	// put appends the value, and nothing if the record does not have it.
	put func(dst []byte, r *records.Record) []byte
}

func number(name string, get func(r *records.Record) uint64) field {
	return field{name: name, put: func(dst []byte, r *records.Record) []byte {
		if n := get(r); n != 0 {
			dst = strconv.AppendUint(dst, n, 10)
		}
		return dst
	}}
}

// always is a number that is written even if it is 0.
func always(name string, get func(r *records.Record) uint64) field {
	return field{name: name, put: func(dst []byte, r *records.Record) []byte { return strconv.AppendUint(dst, get(r), 10) }}
}

var kindNames = []string{"", "NETFLOW_V5", "NETFLOW_V9", "IPFIX", "SFLOW_5", "JSON", "CSV", "NETFLOW_V1", "NETFLOW_V7"}

var directionNames = []string{"", "ingress", "egress"}

var fields = []field{
	{name: "sampler_address", text: true, put: func(dst []byte, r *records.Record) []byte {
		return address(dst, r, 0)
	}},
	number("observation_domain_id", func(r *records.Record) uint64 { return uint64(r.Point.Domain) }),
	number("time_received_ns", func(r *records.Record) uint64 { return uint64(r.Received) }),
	number("sampling_rate", func(r *records.Record) uint64 { return uint64(r.Sampling) }),
	number("time_flow_start_ns", func(r *records.Record) uint64 { return uint64(r.Start) }),
	number("time_flow_end_ns", func(r *records.Record) uint64 { return uint64(r.End) }),
	always("bytes", func(r *records.Record) uint64 { return r.Bytes }),
	always("packets", func(r *records.Record) uint64 { return r.Packets }),
	number("reverse_bytes", func(r *records.Record) uint64 { return r.ReverseBytes }),
	number("reverse_packets", func(r *records.Record) uint64 { return r.ReversePackets }),
	{name: "bidirectional", put: func(dst []byte, r *records.Record) []byte {
		if r.Both {
			dst = append(dst, '1')
		}
		return dst
	}},
	{name: "src_addr", text: true, put: func(dst []byte, r *records.Record) []byte { return address(dst, r, 1) }},
	{name: "dst_addr", text: true, put: func(dst []byte, r *records.Record) []byte { return address(dst, r, 2) }},
	always("proto", func(r *records.Record) uint64 { return uint64(r.Protocol) }),
	always("src_port", func(r *records.Record) uint64 { return uint64(r.SourcePort) }),
	always("dst_port", func(r *records.Record) uint64 { return uint64(r.DestinationPort) }),
	number("in_if", func(r *records.Record) uint64 { return uint64(r.Ingress) }),
	number("out_if", func(r *records.Record) uint64 { return uint64(r.Egress) }),
	{name: "flow_direction", text: true, put: func(dst []byte, r *records.Record) []byte {
		return append(dst, directionNames[min(int(r.Direction), 2)]...)
	}},
	number("ip_tos", func(r *records.Record) uint64 { return uint64(r.TOS) }),
	number("tcp_flags", func(r *records.Record) uint64 { return uint64(r.TCPFlags) }),
	number("vlan_id", func(r *records.Record) uint64 { return uint64(r.VLAN) }),
	number("ingress_vrf_id", func(r *records.Record) uint64 { return uint64(r.VRF) }),
	{name: "post_nat_src_ipv4_address", text: true, put: func(dst []byte, r *records.Record) []byte { return address(dst, r, 3) }},
	{name: "post_nat_dst_ipv4_address", text: true, put: func(dst []byte, r *records.Record) []byte { return address(dst, r, 4) }},
	number("post_napt_src_transport_port", func(r *records.Record) uint64 { return uint64(r.NATSourcePort) }),
	number("post_napt_dst_transport_port", func(r *records.Record) uint64 { return uint64(r.NATDestinationPort) }),
	{name: communityField, text: true, put: communityID},
}

const communityField = "community_id"

// communityID appends the Community ID of a flow, if all parts of it are known.
func communityID(dst []byte, r *records.Record) []byte {
	if r.Unread&records.PartFlow != 0 {
		return dst
	}
	from, to := r.SourcePort, r.DestinationPort
	if r.Protocol == 1 || r.Protocol == 58 { // ICMP, ICMPv6
		from, to = to>>8, to&0xff
	}
	return keys.AppendCommunityID(dst, r.Source, r.Destination, r.Protocol, from, to)
}

// appendCommunityID appends the field to a line of JSON that has none.
func appendCommunityID(dst, line []byte, r *records.Record) []byte {
	if bytes.Contains(line, []byte(`"`+communityField+`"`)) {
		return dst
	}
	before := len(dst)
	dst = append(dst, `"`+communityField+`":"`...)
	value := len(dst)
	if dst = communityID(dst, r); len(dst) == value {
		return dst[:before]
	}
	return append(dst, `",`...)
}

// address appends one of the addresses of a record, unless the record lacks it.
func address(dst []byte, r *records.Record, which int) []byte {
	a := r.Point.Exporter
	switch which {
	case 1:
		a = r.Source
	case 2:
		a = r.Destination
	case 3:
		a = r.NATSource
	case 4:
		a = r.NATDestination
	}
	if !a.IsValid() {
		return dst
	}
	return a.AppendTo(dst)
}

// appendJSON appends a record as one line. A line of JSON stays as it came, unless the
// counters of the record were changed.
func (n *names) appendJSON(dst []byte, h *match.Held, changed bool) []byte {
	line := trimObject(h.Line)
	switch {
	case h.Kind == records.JSON && !changed && line != nil:
		dst = append(dst, line...)
		if len(line) > 1 {
			dst = append(dst, ',')
		}
		dst = appendCommunityID(dst, line, &h.Record)
	default:
		dst = append(dst, `{"type":"`...)
		dst = append(dst, kindNames[h.Kind]...)
		dst = append(dst, `",`...)
		dst = appendFields(dst, &h.Record)
	}
	dst = append(dst, `"seen_by":[`...)
	for i, s := range h.SeenBy {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = n.appendSighting(dst, &s, changed)
	}
	dst = append(dst, `],"copies":`...)
	dst = strconv.AppendInt(dst, int64(h.Copies), 10)
	if h.Verdict == records.Unchecked {
		dst = append(dst, `,"unchecked":true`...)
	}
	if h.Of != 0 {
		dst = append(dst, `,"duplicate_of":`...)
		dst = append(dst, n.inJSON(h.Of)...)
	}
	return append(dst, "}\n"...)
}

// appendSighting appends the name of a point, and in merged records its interfaces.
func (n *names) appendSighting(dst []byte, s *match.Sighting, merged bool) []byte {
	if !merged {
		return append(dst, n.inJSON(s.Point)...)
	}
	dst = append(dst, `{"point":`...)
	dst = append(dst, n.inJSON(s.Point)...)
	dst = append(dst, `,"in_if":`...)
	dst = strconv.AppendUint(dst, uint64(s.Ingress), 10)
	dst = append(dst, `,"out_if":`...)
	dst = strconv.AppendUint(dst, uint64(s.Egress), 10)
	return append(dst, '}')
}

func appendFields(dst []byte, r *records.Record) []byte {
	for i := range fields {
		f, before := &fields[i], len(dst)
		dst = append(dst, '"')
		dst = append(dst, f.name...)
		dst = append(dst, `":`...)
		if f.text {
			dst = append(dst, '"')
		}
		value := len(dst)
		if dst = f.put(dst, r); len(dst) == value {
			dst = dst[:before]
			continue
		}
		if f.text {
			dst = append(dst, '"')
		}
		dst = append(dst, ',')
	}
	return dst
}

// trimObject returns an object of JSON without its last brace, nil if line is no object. An object that
// spans lines becomes one line.
func trimObject(line []byte) []byte {
	end := bytes.LastIndexByte(line, '}')
	if end <= 0 || line[0] != '{' {
		return nil
	}
	for i, b := range line[:end] {
		if b == '\n' || b == '\r' || b == '\t' {
			line[i] = ' ' // strings of JSON escape these
		}
	}
	return line[:1+len(bytes.TrimRight(line[1:end], " "))]
}

// csvHeader is the first line of CSV.
func csvHeader() []byte {
	var dst []byte
	for i := range fields {
		dst = append(dst, fields[i].name...)
		dst = append(dst, ',')
	}
	return append(dst, "seen_by,copies,unchecked,duplicate_of\n"...)
}

// appendCSV appends a record as a line of CSV. Points in one cell are separated by spaces.
func (n *names) appendCSV(dst []byte, h *match.Held) []byte {
	for i := range fields {
		dst = append(fields[i].put(dst, &h.Record), ',')
	}
	cell := ""
	for i, s := range h.SeenBy {
		if i > 0 {
			cell += " "
		}
		cell += n.of(s.Point)
	}
	dst = appendCell(dst, cell)
	dst = strconv.AppendInt(append(dst, ','), int64(h.Copies), 10)
	dst = append(dst, ',')
	if h.Verdict == records.Unchecked {
		dst = append(dst, "true"...)
	}
	dst = append(dst, ',')
	if h.Of != 0 {
		dst = appendCell(dst, n.of(h.Of))
	}
	return append(dst, '\n')
}

// appendCell quotes characters that would end a cell.
func appendCell(dst []byte, s string) []byte {
	if !strings.ContainsAny(s, ",\"\n\r") {
		return append(dst, s...)
	}
	return append(append(append(dst, '"'), strings.ReplaceAll(s, `"`, `""`)...), '"')
}
