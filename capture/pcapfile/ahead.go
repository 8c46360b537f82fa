// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"io"
	"os"
)

// A decompressor may be aheadChunks chunks ahead of its reader: 1 MiB in all keeps both
// busy.
const (
	aheadChunks    = 4
	aheadChunkSize = 256 << 10
)

// readAhead reads a stream on a goroutine. The goroutine ends with the stream, or when stop
// is closed and its current read returns.
type readAhead struct {
	filled chan readResult
	free   chan []byte
	stop   chan struct{}
	done   chan struct{}

	current readResult // the data that Read returns, from off on
	off     int
}

type readResult struct {
	buf []byte
	err error // the error that came with or after buf
}

// startReadAhead reads r on a goroutine that calls end when it is done.
func startReadAhead(r io.Reader, end func()) *readAhead {
	a := &readAhead{
		filled: make(chan readResult, aheadChunks),
		free:   make(chan []byte, aheadChunks),
		stop:   make(chan struct{}),
		done:   make(chan struct{}),
	}
	for range aheadChunks {
		a.free <- nil // allocated when needed
	}
	go func() {
		defer close(a.done)
		defer end()
		a.run(r)
	}()
	return a
}

func (a *readAhead) run(r io.Reader) {
	for {
		var buf []byte
		select {
		case <-a.stop:
			return
		case buf = <-a.free:
		}
		if buf == nil {
			buf = make([]byte, aheadChunkSize)
		}
		n, err := r.Read(buf[:aheadChunkSize])
		select {
		case <-a.stop:
			return
		case a.filled <- readResult{buf[:n], err}:
		}
		if err != nil {
			return
		}
	}
}

// Read waits for the next chunk only if it has nothing for p yet.
func (a *readAhead) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if a.off < len(a.current.buf) {
			m := copy(p[n:], a.current.buf[a.off:])
			a.off += m
			n += m
			continue
		}
		if a.current.err != nil {
			if n > 0 {
				return n, nil
			}
			return 0, a.current.err
		}
		if !a.next(n == 0) {
			break
		}
	}
	return n, nil
}

// next makes the next chunk current, after a wait for it if wait is set. It returns false if none
// has come.
func (a *readAhead) next(wait bool) bool {
	var p readResult
	if wait {
		select {
		case p = <-a.filled:
		case <-a.stop:
			p.err = os.ErrClosed
		}
	} else {
		select {
		case p = <-a.filled:
		default:
			return false
		}
	}
	if a.current.buf != nil {
		a.free <- a.current.buf
	}
	a.current, a.off = p, 0
	return true
}
