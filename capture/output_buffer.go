package capture

import "io"

const (
	// outBufferSize makes one write call cost little beside the copying of its
	// bytes into the page cache, and still fits L2 beside a batch.
	outBufferSize = 256 << 10
	// passThrough is the length from which a slice is written as it lies: a
	// system call costs less than copying so many bytes once more. For shorter
	// ones writev is no gain: with one small packet dropped in ten the system
	// takes as long for the pieces as copying them does, with one in two longer.
	passThrough = 64 << 10
	// maxExtend is the most that extend hands out at once.
	maxExtend = 64
)

// outBuffer gathers small writes and lets large ones through uncopied. It is
// bufio.Writer with two differences: a large write first flushes instead of
// filling the buffer up, and extend gives room to encode headers in place.
// The first error sticks and turns everything after it into a no-op.
type outBuffer struct {
	w      io.Writer
	buf    []byte
	passed int64 // bytes that w took
	err    error
}

func newOutBuffer(w io.Writer) *outBuffer {
	return &outBuffer{w: w, buf: make([]byte, 0, outBufferSize)}
}

// Write is write with the signature of io.Writer.
func (o *outBuffer) Write(p []byte) (int, error) {
	o.write(p)
	if o.err != nil {
		return 0, o.err
	}
	return len(p), nil
}

// write appends p to the stream.
func (o *outBuffer) write(p []byte) {
	if len(p) < passThrough && len(p) <= cap(o.buf)-len(o.buf) {
		o.buf = append(o.buf, p...)
		return
	}
	o.flush()
	if len(p) < passThrough {
		o.buf = append(o.buf, p...)
		return
	}
	o.send(p)
}

// extend returns the next n bytes of the stream to be filled in before any
// other call; n is at most maxExtend. They hold old bytes, not zeros.
func (o *outBuffer) extend(n int) []byte {
	if cap(o.buf)-len(o.buf) < maxExtend {
		o.flush()
	}
	at := len(o.buf)
	o.buf = o.buf[:at+n]
	return o.buf[at:]
}

// flush passes everything gathered on and returns the first error so far.
func (o *outBuffer) flush() error {
	if len(o.buf) > 0 {
		o.send(o.buf)
		o.buf = o.buf[:0]
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
