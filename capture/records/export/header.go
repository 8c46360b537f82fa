// SPDX-License-Identifier: Apache-2.0

package export

import (
	"encoding/binary"
	"math"
	"net/netip"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/records"
)

// Sizes of headers, and of records of NetFlow v1, v5 and v7. Some exporters of v1 fill records up.
const (
	head1     = 16
	size1     = 48
	sizeLong1 = 52
	head5     = 24 // and of v7
	size5     = 48
	size7     = 52
	head9     = 20
	headIPX   = 16
	headSet   = 4
)

// Identifiers of sets. A set of data has the identifier of its template.
const (
	setTemplates9 = 0
	setOptions9   = 1
	setTemplates  = 2
	setOptions    = 3
	firstData     = 256
)

// parse reads the header of a message, and reports whether the bytes are a message.
func (m *message) parse() bool {
	if len(m.data) < headIPX {
		return false
	}
	p := m.data
	switch version := binary.BigEndian.Uint16(p); version {
	case 1, 5, 7:
		return m.parsePlain(version)
	case 0:
		return binary.BigEndian.Uint16(p[2:]) == 5 && m.parseSFlow()
	case 9:
		return len(p) >= head9 && m.parse9() && m.hasSets(setTemplates9, setOptions9)
	case 10:
		return m.parseIPFIX() && m.hasSets(setTemplates, setOptions)
	}
	return false
}

// parsePlain reads the header of a message of NetFlow v1, v5 or v7. Versions 1 and 7 name no domain,
// and version 1 numbers nothing. Their length must agree with
// the count: other protocols have these versions, too.
func (m *message) parsePlain(version uint16) bool {
	p := m.data
	m.kind, m.at, m.size, m.count = records.NetFlow1, head1, size1, int(binary.BigEndian.Uint16(p[2:]))
	m.uptime, m.hasUptime = binary.BigEndian.Uint32(p[4:]), true
	fraction := int64(binary.BigEndian.Uint32(p[12:]))
	m.exported = seconds(p[8:]) + fraction
	if m.precision = time.Millisecond; fraction == 0 {
		m.precision = time.Second
	}
	if version == 1 && len(p) == head1+m.count*sizeLong1 {
		m.size = sizeLong1
	}
	if version != 1 {
		if len(p) < head5 {
			return false
		}
		m.kind, m.at, m.size = records.NetFlow7, head5, size7
		m.number = binary.BigEndian.Uint32(p[16:])
	}
	whole := m.count > 0 && len(p) == m.at+m.count*m.size
	if version == 5 {
		m.kind, m.size = records.NetFlow5, size5
		m.domain = uint32(binary.BigEndian.Uint16(p[20:]))
		m.interval = uint32(binary.BigEndian.Uint16(p[22:]) & (1<<14 - 1))
		whole = len(p) >= head5+size5
	}
	return whole && fraction < int64(time.Second)
}

func (m *message) parse9() bool {
	p := m.data
	m.kind, m.at, m.count = records.NetFlow9, head9, int(binary.BigEndian.Uint16(p[2:]))
	m.uptime, m.hasUptime = binary.BigEndian.Uint32(p[4:]), true
	m.exported, m.precision = seconds(p[8:]), time.Second
	m.number, m.domain = binary.BigEndian.Uint32(p[12:]), binary.BigEndian.Uint32(p[16:])
	return true
}

func (m *message) parseIPFIX() bool {
	p := m.data
	m.kind, m.at = records.IPFIX, headIPX
	m.exported, m.precision = seconds(p[4:]), time.Millisecond
	m.number, m.domain = binary.BigEndian.Uint32(p[8:]), binary.BigEndian.Uint32(p[12:])
	return binary.BigEndian.Uint16(p[2:]) >= headIPX
}

func seconds(p []byte) int64 {
	return int64(binary.BigEndian.Uint32(p)) * int64(time.Second)
}

// hasSets reports whether the bytes behind the header look like a set, so that other protocols
// are not taken for flow records.
func (m *message) hasSets(templates, options uint16) bool {
	if len(m.data) < m.at+headSet {
		return len(m.data) == m.at
	}
	id, size := binary.BigEndian.Uint16(m.data[m.at:]), int(binary.BigEndian.Uint16(m.data[m.at+2:]))
	return id == templates || id == options || id >= firstData || size >= headSet && m.at+size <= len(m.data)
}

// end returns where the sets end. Later bytes are not of the message.
func (m *message) end() int {
	if m.kind == records.IPFIX {
		return min(len(m.data), int(binary.BigEndian.Uint16(m.data[2:])))
	}
	return len(m.data)
}

// parseSFlow reads the header of a datagram of sFlow v5 (sflow_version_5.txt, section 5).
func (m *message) parseSFlow() bool {
	x := xdr{p: m.data[4:]}
	m.kind = records.SFlow
	m.agent = x.address()
	m.domain, m.number, m.uptime = x.word(), x.word(), x.word()
	m.hasUptime = true
	count := x.word()
	m.at = len(m.data) - len(x.p)
	m.count = int(min(count, math.MaxInt32))
	return !x.short && m.agent.IsValid()
}

// base returns a record with the fields of the header.
func (m *message) base() (r records.Record) {
	r.Exported, r.Received, r.Input = m.exported, m.received, m.input
	r.Point = records.Point{Exporter: m.from.Addr(), Domain: m.domain}
	if m.agent.IsValid() && !m.agent.IsUnspecified() {
		r.Point.Exporter = m.agent
	}
	if r.Point.Exporter == (netip.Addr{}) {
		r.Point.Input = m.input
	}
	return r
}

// xdr reads words (RFC 4506).
type xdr struct {
	p     []byte
	short bool // something was missing
}

func (x *xdr) word() uint32 {
	if len(x.p) < 4 {
		x.p, x.short = nil, true
		return 0
	}
	n := binary.BigEndian.Uint32(x.p)
	x.p = x.p[4:]
	return n
}

// bytes returns n bytes, and skips the padding behind them.
func (x *xdr) bytes(n uint32) []byte {
	if uint64(n) > uint64(len(x.p)) {
		x.p, x.short = nil, true
		return nil
	}
	b := x.p[:n:n]
	x.p = x.p[min(int(n+3)&^3, len(x.p)):]
	return b
}

// address reads a type and an address. It is the zero Addr for types that have none.
func (x *xdr) address() netip.Addr {
	switch x.word() {
	case 1:
		if b := x.bytes(4); b != nil {
			return netip.AddrFrom4([4]byte(b))
		}
	case 2:
		if b := x.bytes(16); b != nil {
			return netip.AddrFrom16([16]byte(b)).Unmap()
		}
	}
	return netip.Addr{}
}

const (
	udp     = 17
	headUDP = 8
)

// addresses returns the addresses of an IP header, and its type of service.
func addresses(ip []byte, version uint8) (source, destination netip.Addr, tos uint8) {
	switch {
	case version == 4 && len(ip) >= 20:
		return netip.AddrFrom4([4]byte(ip[12:])), netip.AddrFrom4([4]byte(ip[16:])), ip[1]
	case version == 6 && len(ip) >= 40:
		return netip.AddrFrom16([16]byte(ip[8:])).Unmap(), netip.AddrFrom16([16]byte(ip[24:])).Unmap(),
			uint8(binary.BigEndian.Uint16(ip) >> 4)
	}
	return source, destination, 0
}

// open finds the message of frame i. It counts frames that have none.
func (r *Reader) open(m *message, i int) bool {
	f, h := &r.batch.Frames[i], &r.heads[i]
	if f.Time != capture.NoTime {
		m.received = f.Time
	}
	if h.Proto != udp || h.Version == 0 {
		r.counts.Foreign++
		return false
	}
	ip := r.batch.Data(i)[h.Start:h.End]
	fragment := h.Flags&headers.FlagFragment != 0 && (h.L4 == 0 || !isCut(ip, h.Version))
	var datagram []byte
	switch {
	case fragment:
		if datagram = r.fragments.Add(ip, max(m.received, r.now)); datagram == nil {
			return false
		}
	case h.L4 != 0:
		datagram = ip[h.L4-h.Start:]
	}
	m.input = uint32(r.batch.Sections[r.batch.Interfaces[f.Interface].Section].Input)
	if from, _, _ := addresses(ip, h.Version); !r.openDatagram(m, datagram, from) {
		r.counts.Foreign++
		return false
	}
	if fragment {
		r.fragments.Want()
	}
	return true
}

// openDatagram finds the message of a UDP datagram.
func (r *Reader) openDatagram(m *message, datagram []byte, from netip.Addr) bool {
	if len(datagram) < headUDP {
		return false
	}
	if from.IsValid() && !from.IsUnspecified() {
		m.from = netip.AddrPortFrom(from, binary.BigEndian.Uint16(datagram))
	}
	size := len(datagram)
	if n := int(binary.BigEndian.Uint16(datagram[4:])); n >= headUDP {
		size, m.cut = min(size, n), n > size
	}
	m.data = datagram[headUDP:size:size]
	return m.parse()
}

// isCut reports whether an IP packet was not captured whole.
func isCut(ip []byte, version uint8) bool {
	if version == 4 {
		return int(binary.BigEndian.Uint16(ip[2:])) > len(ip)
	}
	return 40+int(binary.BigEndian.Uint16(ip[4:])) > len(ip)
}
