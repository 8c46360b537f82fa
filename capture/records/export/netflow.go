// SPDX-License-Identifier: Apache-2.0

package export

import (
	"bytes"
	"cmp"
	"encoding/binary"

	"github.com/flowdedup/flowdedup/capture/records"
)

// decoded is the content of a message.
type decoded struct {
	records   uint32 // of data, with records about the exporter
	options   uint32 // records about the exporter
	unknown   bool   // there are sets with an unknown number of records
	templates bool   // there are templates
	missing   uint16 // the template that is missing, 0 if none is
	// Sets that could not be read, and sets whose template nobody waits for.
	undecodable, untemplated uint64
	misdated                 uint64 // records whose times cannot be
	misdatedAt               int64  // the first of these times
}

// doubt forgets times that cannot be: before 1980 in a message that is not, or an end before the
// start. The argument zero says that all are 0.
func (d *decoded) doubt(r *records.Record, m *message, zero bool) {
	before := func(t int64) bool { return t != 0 && !records.IsTime(t) }
	early := (before(r.Start) || before(r.End)) && records.IsTime(cmp.Or(m.exported, m.received))
	if !early && !zero && !r.EndsBeforeStart() {
		return
	}
	if d.misdated++; d.misdated == 1 {
		d.misdatedAt = r.End
	}
	r.Start, r.End = 0, 0
}

// how says how a message is decoded.
type how uint8

const (
	first how = iota
	again     // it was kept: its templates are known already
	last      // also if templates are missing
)

// appendRecord returns a place for a record.
func appendRecord(b *records.Batch, base *records.Record) *records.Record {
	b.Records = append(b.Records, *base)
	return &b.Records[len(b.Records)-1]
}

// decodePlain reads the records of NetFlow v1, v5 and v7.
func (r *Reader) decodePlain(b *records.Batch, m *message) (d decoded) {
	base := m.base()
	base.Sampling, base.Precision = m.interval, m.precision
	for n := range m.count {
		at := m.at + n*m.size
		if at+m.size > len(m.data) {
			d.undecodable++
			break
		}
		rec := appendRecord(b, &base)
		rec.Offset, rec.Length = at, m.size
		m.readPlain(rec, m.data[at:at+m.size], &d)
	}
	d.records = uint32(m.count)
	return d
}

// Places of fields in a record of NetFlow v1, v5 and v7 (Cisco, NetFlow Export Datagram Format).
const (
	atSource          = 0
	atDestination     = 4
	atInput           = 12
	atOutput          = 14
	atPackets         = 16
	atOctets          = 20
	atFirst           = 24
	atLast            = 28
	atSourcePort      = 32
	atDestinationPort = 34
	atFlags           = 37
	atProtocol        = 38
	atTOS             = 39
	atFlags1          = 40 // of v1
)

// readPlain reads a record of NetFlow v1, v5 or v7.
func (m *message) readPlain(rec *records.Record, p []byte, d *decoded) {
	be := binary.BigEndian
	address(&rec.Source, p[atSource:atDestination])
	address(&rec.Destination, p[atDestination:atDestination+4])
	rec.Ingress, rec.Egress = uint32(be.Uint16(p[atInput:])), uint32(be.Uint16(p[atOutput:]))
	rec.Packets, rec.Bytes = uint64(be.Uint32(p[atPackets:])), uint64(be.Uint32(p[atOctets:]))
	rec.Start, rec.End = m.sent-ago(m.uptime, be.Uint32(p[atFirst:])), m.sent-ago(m.uptime, be.Uint32(p[atLast:]))
	rec.SourcePort, rec.DestinationPort = be.Uint16(p[atSourcePort:]), be.Uint16(p[atDestinationPort:])
	rec.TCPFlags, rec.Protocol, rec.TOS = p[atFlags], p[atProtocol], p[atTOS]
	if m.kind == records.NetFlow1 {
		rec.TCPFlags = p[atFlags1]
	}
	d.doubt(rec, m, isZero(p[atFirst:atSourcePort]) && m.uptime != 0)
	new(values).finishICMP(rec)
}

// decodeSets reads the sets of NetFlow v9 and IPFIX.
func (r *Reader) decodeSets(b *records.Batch, m *message, s *source, h how) (d decoded) {
	v9 := m.kind == records.NetFlow9
	templates, options := uint16(setTemplates), uint16(setOptions)
	if v9 {
		templates, options = setTemplates9, setOptions9
	}
	base := m.base()
	end := m.end()
	if m.cut {
		d.undecodable, d.unknown = 1, true
	}
	for at := m.at; at+headSet <= end; {
		id, size := binary.BigEndian.Uint16(m.data[at:]), int(binary.BigEndian.Uint16(m.data[at+2:]))
		switch short := at+size > end; {
		case short && m.cut && id >= firstData:
			size = end - at // the records in it that are whole
		case short || size < headSet:
			if !m.cut && !isZero(m.data[at:end]) {
				d.undecodable++
			}
			d.unknown = true
			return d
		}
		body := m.data[at+headSet : at+size]
		switch {
		case id == templates || id == options:
			d.templates = true
			if h == first {
				r.learn(s, body, id == options, v9)
			}
		case id < firstData:
			d.undecodable++
		case d.missing != 0: // only templates count now
		case s.templates[id] == nil && h != last:
			d.missing = id
		default:
			r.decodeData(b, m, s, &base, id, at+headSet, at+size, &d)
		}
		at += size
	}
	return d
}

// learn enters the templates of a set.
func (r *Reader) learn(s *source, body []byte, options, v9 bool) {
	err := readTemplates(body, options, v9, func(id uint16, t *template) {
		if t == nil {
			s.withdraw(id, options)
		} else if s.learn(id, t) {
			r.counts.Templates++
			r.release(s, id, false)
		}
	})
	if err != nil {
		r.counts.Undecodable++
	}
}

// decodeData reads the records of a set from at to end.
func (r *Reader) decodeData(b *records.Batch, m *message, s *source, base *records.Record, id uint16, at, end int, d *decoded) {
	t := s.templates[id]
	switch {
	case t == nil || t.missing:
		d.untemplated++
		d.unknown = true
		return
	case t.size == 0:
		d.undecodable++
		d.unknown = true
		return
	}
	t.used = s.messages
	begin := at
	for end-at >= t.size {
		var x values
		var rec *records.Record
		if t.options {
			r.scratch = *base
			rec = &r.scratch
		} else {
			rec = appendRecord(b, base)
		}
		size := t.read(rec, &x, m.data[at:end])
		if size == 0 {
			if !t.options {
				b.Records = b.Records[:len(b.Records)-1]
			}
			d.undecodable++
			d.unknown = true
			return
		}
		if t.options {
			s.option(&x)
			d.options++
		} else {
			rec.Offset, rec.Length = at, size
			d.doubt(rec, m, x.finish(rec, m, s))
		}
		d.records++
		at += size
	}
	if at == begin && !m.cut && !isZero(m.data[at:end]) {
		d.undecodable++
	}
}

// read reads a record, and returns its size: 0 if it does not fit.
func (t *template) read(r *records.Record, x *values, p []byte) int {
	if !t.variable {
		for _, s := range t.steps {
			x.set(r, s.element, p[s.at:int(s.at)+int(s.length)])
		}
		return t.size
	}
	at := 0
	for _, s := range t.steps {
		n := int(s.length)
		if s.length == variableLength {
			if at >= len(p) {
				return 0
			}
			n = int(p[at])
			at++
			if n == 255 {
				if at+2 > len(p) {
					return 0
				}
				n = int(binary.BigEndian.Uint16(p[at:]))
				at += 2
			}
		}
		if at+n > len(p) {
			return 0
		}
		if s.element != 0 && n > 0 {
			x.set(r, s.element, p[at:at+n])
		}
		at += n
	}
	return at
}

// isZero reports whether all bytes are zero, as in padding.
func isZero(p []byte) bool { return len(bytes.TrimLeft(p, "\x00")) == 0 }
