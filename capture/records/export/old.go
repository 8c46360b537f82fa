// SPDX-License-Identifier: Apache-2.0

package export

import (
	"encoding/binary"
	"time"

	"github.com/flowdedup/flowdedup/capture/records"
)

// Sizes of headers and records of NetFlow v1 and v7 (Cisco, NetFlow Export Datagram Format).
// Some exporters of v1 fill records up to 52 bytes.
const (
	head1     = 16
	size1     = 48
	sizeLong1 = 52
	head7     = 24
	size7     = 52
)

// parseOld reads the header of a message of NetFlow v1 or v7. Neither names a domain, and
// version 1 numbers nothing. A message whose length contradicts its count is another protocol.
func (m *message) parseOld() bool {
	p := m.data
	m.count = int(binary.BigEndian.Uint16(p[2:]))
	m.uptime, m.hasUptime = binary.BigEndian.Uint32(p[4:]), true
	fraction := int64(binary.BigEndian.Uint32(p[12:]))
	m.exported = seconds(p[8:]) + fraction
	if m.precision = time.Millisecond; fraction == 0 {
		m.precision = time.Second
	}
	m.kind, m.at = records.NetFlow1, head1
	if binary.BigEndian.Uint16(p) == 7 {
		if len(p) < head7 {
			return false
		}
		m.kind, m.at = records.NetFlow7, head7
		m.number = binary.BigEndian.Uint32(p[16:])
	}
	return fraction < int64(time.Second) && m.count > 0 && len(p) == m.at+m.count*m.oldSize()
}

// oldSize returns the size of a record.
func (m *message) oldSize() int {
	switch {
	case m.kind == records.NetFlow7:
		return size7
	case len(m.data) == head1+m.count*sizeLong1:
		return sizeLong1
	}
	return size1
}

// decodeOld reads the records of NetFlow v1 and v7. They begin as records of v5.
func (r *Reader) decodeOld(b *records.Batch, m *message) (d decoded) {
	base, size := m.base(), m.oldSize()
	base.Precision = m.precision
	for at := m.at; at+size <= len(m.data); at += size {
		p := m.data[at : at+size]
		rec := appendRecord(b, &base)
		rec.Offset, rec.Length = at, size
		m.common(rec, p)
		rec.Protocol, rec.TOS, rec.TCPFlags = p[38], p[39], p[40]
		if m.kind == records.NetFlow7 {
			rec.TCPFlags, rec.Protocol, rec.TOS = p[37], p[38], p[39]
		}
		d.doubt(rec, m, isZero(p[24:32]) && m.uptime != 0)
		if rec.Protocol == icmp4 || rec.Protocol == icmp6 {
			new(values).finishICMP(rec)
		}
	}
	d.records = uint32(m.count)
	return d
}

// common reads the common beginning of records of NetFlow v1, v5 and v7.
func (m *message) common(rec *records.Record, p []byte) {
	address(&rec.Source, p[0:4])
	address(&rec.Destination, p[4:8])
	rec.Ingress, rec.Egress = uint32(binary.BigEndian.Uint16(p[12:])), uint32(binary.BigEndian.Uint16(p[14:]))
	rec.Packets, rec.Bytes = uint64(binary.BigEndian.Uint32(p[16:])), uint64(binary.BigEndian.Uint32(p[20:]))
	rec.Start = m.sent - ago(m.uptime, binary.BigEndian.Uint32(p[24:]))
	rec.End = m.sent - ago(m.uptime, binary.BigEndian.Uint32(p[28:]))
	rec.SourcePort, rec.DestinationPort = binary.BigEndian.Uint16(p[32:]), binary.BigEndian.Uint16(p[34:])
}
