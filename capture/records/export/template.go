// SPDX-License-Identifier: Apache-2.0

package export

import (
	"container/list"
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"github.com/flowdedup/flowdedup/engine/calendar"
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

// same reports whether two templates describe the same records.
func (t *template) same(u *template) bool {
	return t.options == u.options && t.scopes == u.scopes && t.missing == u.missing && slices.Equal(t.fields, u.fields)
}

// errTemplate says that a set of templates cannot be read on.
var errTemplate = errors.New("damaged template")

// readTemplates calls learn for each template of a set, with nil for a withdrawn template.
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

// kept is a message that waits for a template.
type kept struct {
	message message
	source  *source
	place   *list.Element // in Reader.waiting
	missing uint16
	giveUp  bool // the template does not matter any more
}

const (
	// maxKeptBySource bounds the bytes of messages kept for a source. An eighth of the bound
	// for all sources does, too.
	maxKeptBySource = 256 << 10
	// keptCost is about the memory of a message without its bytes.
	keptCost = 512
)

// hold is how long messages wait for their templates. Exporters send these each minute to
// each half hour.
const hold = 5 * time.Minute

// keep keeps a message until its template comes, or there is too much to keep.
func (r *Reader) keep(m *message, s *source, missing uint16) {
	k := &kept{message: *m, source: s, missing: missing}
	k.message.data = slices.Clone(m.data)
	k.place = r.waiting.PushBack(k)
	s.waiting = append(s.waiting, k)
	r.change(k, 1)
	for s.keptBytes > min(maxKeptBySource, r.mostKept/8) {
		r.giveUp(s.waiting[0])
	}
	for r.keptBytes > r.mostKept {
		r.giveUp(r.oldest())
	}
}

// oldest returns the message that has waited for longest, nil if none waits.
func (r *Reader) oldest() *kept {
	if e := r.waiting.Front(); e != nil {
		return e.Value.(*kept)
	}
	return nil
}

// change counts a message that is kept from now on (1), or not any more (-1).
func (r *Reader) change(k *kept, by int) {
	size := by * (len(k.message.data) + keptCost)
	r.keptBytes += size
	k.source.keptBytes += size
	r.counts.Waiting += uint64(by)
}

// release lets the messages of a source go on that wait for a template.
func (r *Reader) release(s *source, id uint16, giveUp bool) {
	s.waiting = slices.DeleteFunc(s.waiting, func(k *kept) bool {
		if k.missing != id {
			return false
		}
		r.change(k, -1)
		r.waiting.Remove(k.place)
		k.giveUp = giveUp
		r.ready = append(r.ready, k)
		return true
	})
}

// giveUp lets a message go on without its template, and so all of the source that wait for
// it or come until it does: nobody waits twice.
func (r *Reader) giveUp(k *kept) {
	k.source.learn(k.missing, &template{missing: true})
	r.sources.settle(k.source)
	r.release(k.source, k.missing, true)
}

// expire gives up messages that have waited for too long.
func (r *Reader) expire() {
	for k := r.oldest(); k != nil && calendar.Since(r.now, k.message.received) > int64(hold); k = r.oldest() {
		r.giveUp(k)
	}
}

// flush gives all up.
func (r *Reader) flush() {
	for k := r.oldest(); k != nil; k = r.oldest() {
		r.giveUp(k)
	}
}
