// SPDX-License-Identifier: Apache-2.0

package pcapoverip

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flowdedup/flowdedup/capture"
)

// stream is the capture of one connection. Its first Next completes the connection, and
// waits for the header.
type stream struct {
	name   string
	raw    net.Conn
	ready  func(context.Context, net.Conn) (net.Conn, error) // nil if it is complete
	begin  begin
	sound  func(*stream) error // called once the header has come; may be nil
	within time.Duration       // of the begin, in which the header is to come; 0 for any time
	host   string              // of the peer, if several may connect
	ended  func(s *stream, err error) error
	once   sync.Once // for ended
	result error     // of it

	ctx    context.Context // is done once the stream is stopped
	cancel context.CancelFunc
	conn   net.Conn       // raw, or TLS over it
	src    capture.Source // nil before the header
	read   atomic.Int64   // bytes
}

// begin makes the source of a peer's stream: see ReceiverConfig.Begin.
type begin func(r io.Reader, name string, from netip.AddrPort) (capture.Source, error)

// newStream makes the capture of a connection. The error at its end, nil for a clean end, goes
// to ended once. ended returns the error for Next, nil for io.EOF.
func newStream(name string, conn net.Conn, begin begin, ended func(*stream, error) error) *stream {
	s := &stream{name: name, raw: conn, conn: conn, begin: begin, ended: ended}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// open completes the connection, and reads the header.
func (s *stream) open() error {
	if s.within == 0 {
		return s.complete()
	}
	// These fail only if the connection was closed, as the next read says.
	_ = s.raw.SetReadDeadline(time.Now().Add(s.within))
	err := s.complete()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = &capture.ReadError{Input: s.name, Err: fmt.Errorf("no header within %v of the connection", s.within)}
	}
	_ = s.raw.SetReadDeadline(time.Time{})
	return err
}

func (s *stream) complete() (err error) {
	if s.ready != nil {
		if s.conn, err = s.ready(s.ctx, s.raw); err != nil {
			return &capture.ReadError{Input: s.name, Err: err}
		}
	}
	var from netip.AddrPort
	if tcp, ok := s.raw.RemoteAddr().(*net.TCPAddr); ok {
		from = tcp.AddrPort()
	}
	src, err := s.begin(connReader{s}, s.name, from)
	if err == nil && s.sound != nil {
		err = s.sound(s)
	}
	if err == nil {
		s.src = src
	}
	return err
}

// connReader reads from a connection, with errors that say only the reason.
type connReader struct{ *stream }

func (r connReader) Read(p []byte) (int, error) {
	n, err := r.conn.Read(p)
	r.read.Add(int64(n))
	if err != nil && err != io.EOF {
		err = reason(err)
	}
	return n, err
}

// Next reads about one chunk; see capture.Source.
func (s *stream) Next(b *capture.Batch) (err error) {
	if s.src == nil {
		err = s.open()
	}
	if err == nil {
		err = s.src.Next(b)
	}
	if err == nil {
		return nil
	}
	b.Reset()
	if err == io.EOF || s.ctx.Err() != nil {
		err = nil
	}
	if err = s.end(err); err != nil {
		return err
	}
	return io.EOF
}

// end passes on the error that ended the stream, once.
func (s *stream) end(err error) error {
	s.once.Do(func() { s.result = s.ended(s, err) })
	return s.result
}

// Refuse ends the stream because of its content.
func (s *stream) Refuse(reason error) error {
	defer s.Stop() // afterwards: Next has no reason
	return s.end(reason)
}

// Stop ends Next.
func (s *stream) Stop() {
	s.cancel()
	_ = s.raw.Close() // it was only read
}

// Inputs returns the name of the stream.
func (s *stream) Inputs() []string { return []string{s.name} }

// Offset returns the bytes that were read.
func (s *stream) Offset() (done, total int64) { return s.read.Load(), 0 }

// Size returns 0: unknown.
func (s *stream) Size() int64 { return 0 }

// Close closes the connection.
func (s *stream) Close() error {
	s.Stop()
	return nil
}
