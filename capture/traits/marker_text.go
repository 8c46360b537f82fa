// SPDX-License-Identifier: Apache-2.0

package traits

import (
	"encoding/hex"
	"strconv"
	"unicode"
	"unicode/utf8"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
)

// labelled are the headers whose identifiers comments name, apart from VLAN tags.
var labelled = []struct {
	kind headers.LayerKind
	name string
}{
	{headers.LayerMPLS, "MPLS"}, {headers.LayerPPPoE, "PPPoE"}, {headers.LayerGRE, "GRE"}, {headers.LayerNVGRE, "NVGRE"},
	{headers.LayerERSPAN, "ERSPAN"}, {headers.LayerVXLAN, "VXLAN"}, {headers.LayerGENEVE, "GENEVE"}, {headers.LayerGTPU, "GTP"},
	{headers.LayerL2TP, "L2TP"}, {headers.LayerLISP, "LISP"}, {headers.LayerEtherIP, "EtherIP"}, {headers.LayerEoIP, "EoIP"},
	{headers.LayerJMirror, "jmirror"},
}

// comment appends the comment on a copy. kept is its original, or nil.
func (m *Marker) comment(p []byte, kept, copied *packet) []byte {
	if kept == nil {
		return append(p, "copy of a packet no longer remembered"...)
	}
	p = strconv.AppendUint(append(p, "copy of packet "...), kept.number, 10)
	return m.appendDifferences(appendDelay(p, kept.time, copied.time), kept, copied)
}

// appendDifferences appends how a copy differs from its original, each difference behind ", ".
func (m *Marker) appendDifferences(p []byte, kept, copied *packet) []byte {
	start := len(p)
	p = appendLabels(p, kept, copied)
	p = appendRouted(p, kept, copied)
	p = m.appendPoint(p, kept, copied)
	if kept.traits.MAC != copied.traits.MAC {
		p = append(p, ", MAC"...)
	}
	p = appendOther(p, kept, copied)
	if len(p) > start {
		return p
	}
	if kept.traits != copied.traits {
		return append(p, ", other bytes"...)
	}
	return append(p, ", identical"...)
}

// appendDelay appends the delay of the copy after the kept packet.
func appendDelay(p []byte, kept, copied int64) []byte {
	if kept == capture.NoTime || copied == capture.NoTime {
		return p
	}
	// The difference of two times fits into 64 bits without a sign.
	delay, word := uint64(copied)-uint64(kept), " later"
	if copied < kept {
		delay, word = -delay, " earlier"
	}
	switch {
	case delay == 0:
		return append(p, ", at the same time"...)
	case delay < 1e3:
		p = append(strconv.AppendUint(append(p, ", "...), delay, 10), " ns"...)
	case delay < 1e9:
		p = append(appendThousandths(append(p, ", "...), delay/1e3), " ms"...)
	default:
		p = append(appendThousandths(append(p, ", "...), delay/1e6), " s"...)
	}
	return append(p, word...)
}

// appendThousandths appends a number of thousandths as a number with three decimals.
func appendThousandths(p []byte, n uint64) []byte {
	p = append(strconv.AppendUint(p, n/1000, 10), '.')
	n %= 1000
	return append(p, byte('0'+n/100), byte('0'+n/10%10), byte('0'+n%10))
}

// appendLabels appends how tags, labels, sessions and tunnels differ.
func appendLabels(p []byte, kept, copied *packet) []byte {
	if kept.traits.VLAN != copied.traits.VLAN {
		if kept.stack(headers.LayerVLAN) == copied.stack(headers.LayerVLAN) {
			p = append(p, ", VLAN tag"...)
		} else {
			p = appendStacks(append(p, ", VLAN "...), headers.LayerVLAN, kept, copied)
		}
	}
	if kept.traits.Labels == copied.traits.Labels {
		return p
	}
	start := len(p)
	for _, l := range labelled {
		if kept.stack(l.kind) != copied.stack(l.kind) {
			p = appendStacks(append(append(append(p, ", "...), l.name...), ' '), l.kind, kept, copied)
		}
	}
	if len(p) == start { // more than is remembered
		p = append(p, ", headers before IP"...)
	}
	return p
}

// stack returns the identifiers of the headers of a kind, the outermost first.
func (p *packet) stack(kind headers.LayerKind) (s stack) {
	for i, k := range p.kinds {
		if k == 0 {
			break
		}
		if k == kind {
			s.ids[s.n] = p.labels[i]
			s.n++
		}
	}
	return s
}

type stack struct {
	ids [maxLabels]uint32
	n   int
}

// appendStacks appends the identifiers of the headers of a kind in both packets.
func appendStacks(p []byte, kind headers.LayerKind, kept, copied *packet) []byte {
	return appendStack(append(appendStack(p, kept.stack(kind)), " -> "...), copied.stack(kind))
}

func appendStack(p []byte, s stack) []byte {
	if s.n == 0 {
		return append(p, "none"...)
	}
	for i, id := range s.ids[:s.n] {
		if i > 0 {
			p = append(p, '/')
		}
		p = strconv.AppendUint(p, uint64(id), 10)
	}
	return p
}

// appendRouted appends differences in the IP header that routers make.
func appendRouted(p []byte, kept, copied *packet) []byte {
	hops, class := ", TTL ", ", ToS "
	if copied.traits.Version == 6 {
		hops, class = ", hop limit ", ", traffic class "
	}
	if a, b := kept.traits.Hops, copied.traits.Hops; a != b {
		p = appendNumbers(append(p, hops...), uint32(a), uint32(b))
	}
	if a, b := kept.traits.Class, copied.traits.Class; a != b {
		p = append(hex.AppendEncode(append(append(p, class...), "0x"...), []byte{a}), " -> 0x"...)
		p = hex.AppendEncode(p, []byte{b})
	}
	if kept.traits.DF != copied.traits.DF {
		if copied.traits.DF {
			return append(p, ", DF set"...)
		}
		return append(p, ", DF cleared"...)
	}
	return p
}

func appendNumbers(p []byte, a, b uint32) []byte {
	p = append(strconv.AppendUint(p, uint64(a), 10), " -> "...)
	return strconv.AppendUint(p, uint64(b), 10)
}

// appendPoint appends how the capture points differ.
func (m *Marker) appendPoint(p []byte, kept, copied *packet) []byte {
	x, y := kept.traits.Point, copied.traits.Point
	if x.Path != y.Path {
		p = append(appendPath(append(p, ", "...), x.Path), " -> "...)
		p = appendPath(p, y.Path)
	}
	if x.Path = y.Path; x == y {
		return p
	}
	from, to := &m.interfaces[kept.iface], &m.interfaces[copied.iface]
	if from.CapturePoint == to.CapturePoint {
		return appendNumbers(append(p, ", interface "...), x.Index, y.Index)
	}
	a, b := &m.sections[from.Section], &m.sections[to.Section]
	// The interface of a pcap file has the name of the input.
	if a.Input == b.Input || from.Name != to.Name && a.Format == capture.FormatPcapNG && b.Format == capture.FormatPcapNG {
		p = append(appendInterface(append(p, ", interface "...), from, to), " -> "...)
		p = appendInterface(p, to, from)
	}
	if a.Input != b.Input {
		p = append(m.appendInput(append(p, ", input "...), a.Input), " -> "...)
		p = m.appendInput(p, b.Input)
	}
	return p
}

// appendPath appends the name of a path through a redundant network.
func appendPath(p []byte, path headers.Path) []byte {
	if path == headers.NoPath {
		return append(p, "no LAN"...)
	}
	return append(p, path.String()...)
}

// appendInterface appends the name of an interface, and its number in its section if it has no
// name or the other's name.
func appendInterface(p []byte, it, other *capture.Interface) []byte {
	p = appendName(p, it.Name)
	if it.Name != "" && it.Name != other.Name {
		return p
	}
	if it.Name != "" {
		p = append(p, ' ')
	}
	return strconv.AppendUint(append(p, '#'), uint64(it.ID), 10)
}

// appendInput appends the name of an input, or its number.
func (m *Marker) appendInput(p []byte, n int) []byte {
	if n < len(m.inputs) {
		return appendName(p, m.inputs[n])
	}
	return strconv.AppendInt(append(p, '#'), int64(n), 10)
}

// maxName is about how many bytes of a name comments have.
const maxName = 64

// appendName appends the printable characters of a name.
func appendName(p []byte, name string) []byte {
	for i, r := range name {
		if i >= maxName {
			return append(p, "..."...)
		}
		if !unicode.IsPrint(r) {
			r = '?'
		}
		p = utf8.AppendRune(p, r)
	}
	return p
}

// appendOther appends differences in lengths, and differences without a name.
func appendOther(p []byte, kept, copied *packet) []byte {
	a, b := &kept.traits, &copied.traits
	sameLen := kept.capLen-kept.base == copied.capLen-copied.base
	switch {
	case kept.wireLen != copied.wireLen && kept.wireLen-kept.base != copied.wireLen-copied.base:
		p = appendNumbers(append(p, ", length "...), kept.wireLen, copied.wireLen)
	case kept.capLen != copied.capLen && !sameLen:
		p = append(appendNumbers(append(p, ", captured "...), kept.capLen, copied.capLen), " bytes"...)
	}
	// Without IP, all bytes count as headers before it. Where labels differ, so do these.
	link, rest := a.Link != b.Link && a.Labels == b.Labels, a.Rest != b.Rest
	if link && a.Version != 0 {
		p = append(p, ", headers before IP"...)
	}
	if sameLen && (rest || link && a.Version == 0) {
		p = append(p, ", other bytes"...)
	}
	return p
}

// Removal is a copy as MarkerConfig.Removed gets it. Packets have the numbers that comments give.
type Removal struct {
	Packet uint64
	Time   int64 // nanoseconds since 1970, or capture.NoTime
	// Original is 0 if the original is no longer remembered, or was sent by another site. Then
	// nothing below but Point is set.
	Original uint64
	Delay    int64 // of the copy after the original, in nanoseconds, if Delayed
	Delayed  bool
	// Point is where the copy was seen: its interface, and the VLANs, the outermost first.
	Point, OriginalPoint []byte
	// Differences are the end of a comment: differences with commas between.
	Differences []byte
}

// remove reports a copy, if copies are reported. kept is its original, or nil.
func (m *Marker) remove(kept, copied *packet) {
	if m.removed == nil {
		return
	}
	r := &m.removal
	*r = Removal{Packet: copied.number, Time: copied.time, Point: m.appendPlace(r.Point[:0], copied), OriginalPoint: r.OriginalPoint[:0], Differences: r.Differences[:0]}
	if kept != nil {
		r.Original = kept.number
		if r.Delayed = kept.time != capture.NoTime && copied.time != capture.NoTime; r.Delayed {
			r.Delay = copied.time - kept.time
		}
		r.OriginalPoint = m.appendPlace(r.OriginalPoint, kept)
		r.Differences = m.appendDifferences(r.Differences, kept, copied)[len(", "):]
	}
	m.removed(r)
}

// appendPlace appends the interface of a packet, and its VLANs.
func (m *Marker) appendPlace(text []byte, p *packet) []byte {
	it := &m.interfaces[p.iface]
	if it.Name != "" {
		text = appendName(text, it.Name)
	} else {
		text = m.appendInput(text, m.sections[it.Section].Input)
	}
	if s := p.stack(headers.LayerVLAN); s.n > 0 {
		text = appendStack(append(text, " VLAN "...), s)
	}
	return text
}
