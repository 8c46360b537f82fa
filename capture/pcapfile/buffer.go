// SPDX-License-Identifier: Apache-2.0

package pcapfile

import "io"

const (
	// outBufferSize makes one write call cheap compared with copying its bytes into the page
	// cache, and still fits L2 together with a batch.
	outBufferSize = 256 << 10
	// directSize is the length from which a slice is written without a copy: the system
	// call costs less than the copy. writev gains nothing for shorter slices: it takes as long
	// as a copy if every tenth small packet is dropped, and longer if every second is.
	directSize = 64 << 10
	// maxExtend is the most that extend hands out at once.
	maxExtend = 64
)

// outBuffer gathers small writes, and passes large writes on without a copy. It differs from
// bufio.Writer in three ways: a large write first passes on the buffer instead of filling it;
// extend gives room to encode headers in place; and w gets whole records, up to a mark. After
// the first error it does nothing.
type outBuffer struct {
	w      io.Writer
	buf    []byte
	whole  int   // how many bytes of buf are whole records
	passed int64 // bytes that w took
	err    error

	marked, taken uint64 // packets up to the last mark, and the packets of these that w took
}

func newOutBuffer(w io.Writer) *outBuffer {
	return &outBuffer{w: w}
}

// allocate gets the memory of the buffer, which is empty, if it has none.
func (o *outBuffer) allocate() {
	if o.buf == nil {
		o.buf = make([]byte, 0, outBufferSize)
	}
}

// mark says that whole records end here, with this number of packets since the last mark.
func (o *outBuffer) mark(packets int) {
	o.whole = len(o.buf)
	o.marked += uint64(packets)
	if o.whole == 0 && o.err == nil {
		o.taken = o.marked
	}
}

// put appends whole records.
func (o *outBuffer) put(p []byte, packets int) {
	o.write(p)
	o.mark(packets)
}

// len returns how many bytes were written.
func (o *outBuffer) len() int64 { return o.passed + int64(len(o.buf)) }

// write appends p to the stream.
func (o *outBuffer) write(p []byte) {
	if o.fits(p) {
		o.buf = append(o.buf, p...)
		return
	}
	o.flushWhole()
	o.allocate()
	if o.fits(p) || len(o.buf) > 0 && len(p) <= cap(o.buf)-len(o.buf) {
		o.buf = append(o.buf, p...)
		return
	}
	_ = o.flush() // err lasts
	o.send(p)
}

func (o *outBuffer) fits(p []byte) bool {
	return len(p) < directSize && len(p) <= cap(o.buf)-len(o.buf)
}

// extend appends n bytes to the stream, at most maxExtend, and returns them. The caller
// fills them before any other call. They hold old bytes, not zeros.
func (o *outBuffer) extend(n int) []byte {
	if cap(o.buf)-len(o.buf) < maxExtend {
		o.flushWhole()
	}
	if cap(o.buf)-len(o.buf) < maxExtend {
		_ = o.flush() // err lasts
		o.allocate()
	}
	at := len(o.buf)
	o.buf = o.buf[:at+n]
	return o.buf[at:]
}

// flushWhole passes on the whole records, and keeps the start of the next record.
func (o *outBuffer) flushWhole() {
	if o.whole == 0 {
		return
	}
	o.send(o.buf[:o.whole])
	o.buf = o.buf[:copy(o.buf, o.buf[o.whole:])]
	o.whole = 0
	if o.err == nil {
		o.taken = o.marked
	}
}

// flush passes everything gathered on and returns the first error so far.
func (o *outBuffer) flush() error {
	if len(o.buf) > 0 {
		o.send(o.buf)
		o.buf, o.whole = o.buf[:0], 0
		if o.err == nil {
			o.taken = o.marked
		}
	}
	return o.err
}

func (o *outBuffer) send(p []byte) {
	if o.err != nil {
		return
	}
	n, err := o.w.Write(p)
	if err == nil && n != len(p) {
		err = io.ErrShortWrite
	}
	o.passed += int64(n)
	o.err = err
}
