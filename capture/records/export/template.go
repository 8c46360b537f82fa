// SPDX-License-Identifier: Apache-2.0

package export

import (
	"encoding/binary"
	"errors"
	"slices"
)

// field is a field of a template, as it was sent.
type field struct {
	id, length uint16
	enterprise uint32
}

// variableLength marks fields that begin with their length.
const variableLength = 0xffff

// template says how records are read.
type template struct {
	fields  []field
	scopes  int  // how many fields are the scope of an options record
	options bool // records are about the exporter, and not about flows
	missing bool // it never came, and nobody waits for it any more

	steps []step // of fixed length: the fields that say something; else all
	// size is the length of a record. With variable fields, it is the least.
	size     int
	variable bool
	used     uint64 // when, by the number of messages of the source
}

// step reads a field.
type step struct {
	element element
	at      uint16 // from the beginning of the record, if that has a fixed length
	length  uint16
}

// newTemplate compiles a template.
func newTemplate(fields []field, scopes int, options, v9 bool) *template {
	t := &template{fields: fields, scopes: scopes, options: options}
	t.variable = slices.ContainsFunc(fields, func(f field) bool { return f.length == variableLength })
	for i, f := range fields {
		e := f.element()
		if v9 && i < scopes {
			e = 0 // scopes have numbers of their own
		}
		if t.variable || e != 0 && f.length > 0 && t.size <= 0xffff {
			t.steps = append(t.steps, step{e, uint16(t.size), f.length})
		}
		if f.length == variableLength {
			t.size++
		} else {
			t.size += int(f.length)
		}
	}
	return t
}

// same reports whether a template says the same as another.
func (t *template) same(u *template) bool {
	return t.options == u.options && t.scopes == u.scopes && t.missing == u.missing && slices.Equal(t.fields, u.fields)
}

// errTemplate says that a set of templates cannot be read on.
var errTemplate = errors.New("damaged template")

// readTemplates calls learn for each template of a set, with nil for a withdrawn one.
// Identifier 0 withdraws all.
func readTemplates(p []byte, options, v9 bool, learn func(id uint16, t *template)) error {
	for len(p) >= 4 {
		id, count := binary.BigEndian.Uint16(p), int(binary.BigEndian.Uint16(p[2:]))
		switch {
		case id == 0:
			return nil // padding
		case !v9 && count == 0:
			if id == setTemplates || id == setOptions {
				id = 0
			}
			learn(id, nil)
			p = p[4:]
			continue
		case id < firstData:
			return errTemplate
		}
		scopes, head := 0, 4
		if options {
			if head = 6; len(p) < head {
				return errTemplate
			}
			scopes = int(binary.BigEndian.Uint16(p[4:]))
			if v9 {
				scopes, count = count/4, count/4+scopes/4
			}
			if scopes > count {
				return errTemplate
			}
		}
		fields, size := readFields(p[head:], count, v9)
		if fields == nil {
			return errTemplate
		}
		learn(id, newTemplate(fields, scopes, options, v9))
		p = p[head+size:]
	}
	return nil
}

// readFields reads count fields, and returns their size: nil if there are fewer.
func readFields(p []byte, count int, v9 bool) (fields []field, size int) {
	if count == 0 || count*4 > len(p) {
		return nil, 0
	}
	fields = make([]field, count)
	for i := range fields {
		if len(p) < size+4 {
			return nil, 0
		}
		f := &fields[i]
		f.id, f.length = binary.BigEndian.Uint16(p[size:]), binary.BigEndian.Uint16(p[size+2:])
		size += 4
		if v9 || f.id < 1<<15 {
			continue
		}
		if len(p) < size+4 {
			return nil, 0
		}
		f.id, f.enterprise = f.id&^(1<<15), binary.BigEndian.Uint32(p[size:])
		size += 4
	}
	return fields, size
}
