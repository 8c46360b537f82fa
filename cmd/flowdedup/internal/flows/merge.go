package flows

import (
	"errors"
	"io"

	"github.com/flowdedup/flowdedup/capture/records"
	"github.com/flowdedup/flowdedup/capture/records/match"
)

// merged reads several inputs in the order of their records' times. What is behind a
// record of an input comes after it, whatever its time.
type merged struct {
	inputs []*cursor
}

// cursor is how far an input was read.
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
	first, second, err := m.first()
	if err != nil {
		return err
	}
	if first == nil {
		return io.EOF
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

// first returns the input whose next record is the oldest, and the one after it.
func (m *merged) first() (first, second *cursor, err error) {
	for _, c := range m.inputs {
		if err := c.fill(); err != nil {
			return nil, nil, err
		}
		switch {
		case c.over:
		case first == nil || c.time() < first.time():
			first, second = c, first
		case second == nil || c.time() < second.time():
			second = c
		}
	}
	return first, second, nil
}

// fill reads a batch if none is there.
func (c *cursor) fill() error {
	for !c.read && !c.over {
		err := c.reader.ReadBatch(&c.batch)
		if errors.Is(err, io.EOF) {
			c.over = true
			return nil
		}
		if err != nil {
			return err
		}
		c.next, c.read = 0, len(c.batch.Records)+len(c.batch.Raw) > 0
	}
	return nil
}

// time is that of the next record; messages without records come at once.
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
