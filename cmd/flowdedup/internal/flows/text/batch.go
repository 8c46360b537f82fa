// SPDX-License-Identifier: Apache-2.0

package text

import (
	"io"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/records"
)

// ReadBatch reads the records that have come, and waits for the first; see records.Reader.
func (r *Reader) ReadBatch(b *records.Batch) error {
	*b = records.Batch{Records: b.Records[:0], Kind: records.CSV}
	if r.json {
		b.Kind = records.JSON
	}
	for {
		begin := r.at
		for r.one(b, begin) && (len(b.Records) == 0 || len(b.Records) < batchRecords && r.at-begin < batchBytes) {
		}
		b.Raw = r.buf[begin:r.at:r.at]
		if len(b.Records) > 0 {
			r.counts.Records += uint64(len(b.Records))
			return nil
		}
		switch err := r.fill(); {
		case err == io.EOF && r.at < len(r.buf):
			r.last()
		case err == io.EOF:
			return err
		case err != nil:
			return capture.Locate(err, r.name, r.done+int64(r.at), false)
		}
	}
}

// last flushes an unterminated final line as a record.
func (r *Reader) last() {
	if !r.array {
		r.buf = append(r.buf, '\n')
		return
	}
	if !r.skip {
		r.count(false)
	}
	r.at = len(r.buf)
}

// one reads the next record. It returns false if its end is not there yet.
func (r *Reader) one(b *records.Batch, begin int) bool {
	n := 0
	if r.array {
		if r.scan.at == 0 && !r.skip && !r.nextObject() {
			return false
		}
		if r.scan.at == 0 && !r.skip {
			n = r.shapes.match(r.buf[r.at:])
		}
		if n == 0 {
			n = r.scan.end(r.buf[r.at:])
		}
	} else if r.json {
		n = r.lineEnd()
	} else {
		n = r.line()
	}
	switch {
	case n == 0 && len(r.buf)-r.at > maxRecord:
		if !r.skip {
			r.count(false)
		}
		r.skip, r.at, r.scan.at = true, len(r.buf), 0
		return false
	case n == 0:
		return false
	case !r.skip:
		r.record(b, r.buf[r.at:r.at+n], r.at-begin)
	}
	r.skip = false
	r.at += n
	return true
}

// nextObject goes to the next object of an array. Anything else counts as damage. It returns
// false if no object has come yet.
func (r *Reader) nextObject() bool {
	for {
		r.between()
		if r.at == len(r.buf) || r.buf[r.at] == '{' {
			return r.at < len(r.buf)
		}
		r.count(false)
		for r.at < len(r.buf) && r.buf[r.at] != '{' && r.buf[r.at] != ',' {
			r.at++
		}
	}
}

// count counts a record.
func (r *Reader) count(sound bool) {
	r.counts.Messages++
	if !sound {
		r.counts.Undecodable++
	}
}

// record reads a record that stands at an offset of the batch.
func (r *Reader) record(b *records.Batch, line []byte, offset int) {
	body := trim(line)
	r.over = r.over || !r.json && r.format.name == "nfdump" && string(body) == "Summary"
	if len(body) == 0 || r.over || !r.json && r.apart(body) {
		return
	}
	b.Records = append(b.Records, records.Record{})
	rec := &b.Records[len(b.Records)-1]
	r.rec = rec
	r.values = values{}
	rec.Offset, rec.Length, rec.Input = offset, len(body), r.config.Input
	for i := range line {
		if !isSpace(line[i]) {
			rec.Offset += i
			break
		}
	}
	sound := false
	if r.json {
		sound = r.jsonRecord(body)
	} else {
		sound = r.csvRecord(line)
	}
	r.count(sound)
	if !sound || r.passed() {
		if sound {
			r.counts.Other++
		}
		b.Records = b.Records[:len(b.Records)-1]
		return
	}
	r.finish(rec, &r.values)
	if r.values.lost != 0 {
		r.countUnread()
	}
}

// passed reports whether the current record is not about a flow.
func (r *Reader) passed() bool {
	return r.format.flows != "" && !r.values.isFlow || r.values.isOther
}

// takeValue enters a value of JSON.
func (r *Reader) takeValue(path, v []byte) {
	if t := r.format.names[string(path)]; t != 0 {
		r.enter(t, v)
	}
}

// takeField enters a field of a line.
func (r *Reader) takeField(i int, v []byte) {
	if i < len(r.columns.targets) && r.columns.targets[i] != 0 {
		r.enter(r.columns.targets[i], v)
	}
}
