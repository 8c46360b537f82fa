package recordfile

import (
	"errors"
	"io"
	"os"
	"sync/atomic"

	"github.com/flowdedup/flowdedup/capture/records"
)

// merged returns batches in the order of their times.
type merged struct {
	heads []*head
	warn  func(error)
	errs  []error
}

// head is a reader and the batch that it is to give next.
type head struct {
	reader records.Reader
	batch  records.Batch
	time   int64
	full   bool
	over   bool
}

// merge returns a reader of all. A reader that fails does not stop the others: its error
// comes at the end.
func merge(readers []records.Reader, warn func(error)) records.Reader {
	m := &merged{warn: warn}
	for _, r := range readers {
		m.heads = append(m.heads, &head{reader: r})
	}
	return m
}

// ReadBatch gives the batch whose first record is the oldest; see records.Reader.
func (m *merged) ReadBatch(b *records.Batch) error {
	var first *head
	for _, h := range m.heads {
		if !h.full && !h.over {
			m.fill(h)
		}
		if h.full && (first == nil || h.time < first.time) {
			first = h
		}
	}
	if first == nil {
		if len(m.errs) > 0 {
			return errors.Join(m.errs...)
		}
		return io.EOF
	}
	first.full = false
	// What Raw points into stays until the reader is read again: by the next call.
	*b, first.batch = first.batch, records.Batch{Records: b.Records[:0]}
	return nil
}

// fill reads ahead.
func (m *merged) fill(h *head) {
	err := h.reader.ReadBatch(&h.batch)
	if err == nil {
		h.full = true
		if len(h.batch.Records) > 0 {
			h.time = h.batch.Records[0].Received
		}
		return
	}
	h.over = true
	if err == io.EOF {
		return
	}
	m.errs = append(m.errs, err)
	if m.warn != nil {
		m.warn(err)
	}
}

// Counts returns the sum.
func (m *merged) Counts() (n records.Counts) {
	for _, h := range m.heads {
		n = n.Plus(h.reader.Counts())
	}
	return n
}

// counted counts what is read.
type counted struct {
	r *os.File
	n atomic.Int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}
