// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"cmp"
	"errors"
	"io"

	"github.com/flowdedup/flowdedup/capture/records"
	"github.com/flowdedup/flowdedup/capture/records/match"
)

// merged reads several inputs in the order of their records' times. Messages behind a record
// of the same input come after it, whatever their time.
type merged struct {
	inputs []*cursor
	errs   []error // of inputs that ended early
}

// cursor is the position in an input.
type cursor struct {
	reader records.Reader
	batch  records.Batch
	next   int // first record of batch that was not returned
	read   bool
	over   bool
}

func newMerged(readers []records.Reader) *merged {
	m := new(merged)
	for _, r := range readers {
		m.inputs = append(m.inputs, &cursor{reader: r})
	}
	return m
}

// ReadBatch implements records.Reader. Messages stay whole.
func (m *merged) ReadBatch(b *records.Batch) error {
	first, second := m.first()
	if first == nil {
		return cmp.Or(errors.Join(m.errs...), io.EOF)
	}
	from, all := first.next, first.batch.Records
	if kind := first.batch.Kind; kind != records.JSON && kind != records.CSV {
		first.next = len(all)
	} else {
		for first.next++; first.next < len(all) && (second == nil || match.Moment(&all[first.next]) <= second.time()); first.next++ {
			continue
		}
	}
	first.read = first.next < len(all)
	one := first.batch
	one.Records = append(b.Records[:0], all[from:min(first.next, len(all))]...)
	*b = one
	return nil
}

// first returns the inputs whose next records are the oldest and the second oldest. An input that
// fails does not end the others.
func (m *merged) first() (first, second *cursor) {
	for _, c := range m.inputs {
		if err := c.fill(); err != nil {
			m.errs = append(m.errs, err)
		}
		switch {
		case c.over:
		case first == nil || c.time() < first.time():
			first, second = c, first
		case second == nil || c.time() < second.time():
			second = c
		}
	}
	return first, second
}

// fill reads a batch if none is there. Behind an error there is nothing.
func (c *cursor) fill() error {
	for !c.read && !c.over {
		if err := c.reader.ReadBatch(&c.batch); err != nil {
			c.over = true
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		c.next, c.read = 0, len(c.batch.Records)+len(c.batch.Raw) > 0
	}
	return nil
}

// time returns the time of the next record; messages without records come at once.
func (c *cursor) time() int64 {
	if c.next >= len(c.batch.Records) {
		return 0
	}
	return match.Moment(&c.batch.Records[c.next])
}

// Counts implements records.Reader.
func (m *merged) Counts() (sum records.Counts) {
	for _, c := range m.inputs {
		sum = add(sum, c.reader.Counts())
	}
	return sum
}

// add returns the sum of two readers' counts.
func add(a, b records.Counts) records.Counts {
	a.Messages += b.Messages
	a.Records += b.Records
	a.Undecodable += b.Undecodable
	a.Waiting += b.Waiting
	a.Untemplated += b.Untemplated
	a.Lost += b.Lost
	a.Replayed += b.Replayed
	a.Restarts += b.Restarts
	a.Reassembled += b.Reassembled
	a.Fragments += b.Fragments
	a.Remembered = max(a.Remembered, b.Remembered) // only one reader has messages
	a.Templates += b.Templates
	a.Unread += b.Unread
	a.Misdated += b.Misdated
	a.MisdatedAt = cmp.Or(a.MisdatedAt, b.MisdatedAt)
	a.Other += b.Other
	a.Foreign += b.Foreign
	return a
}
