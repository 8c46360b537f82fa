// SPDX-License-Identifier: Apache-2.0

package export

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/encoding"
)

// Stream is a capture.Source of IPFIX messages one after another: an IPFIX file (RFC 5655), or
// the messages of an exporter over TCP (RFC 7011, section 10.4). Each message becomes a UDP
// packet.
type Stream struct {
	r      *bufio.Reader
	name   string
	from   netip.AddrPort
	begun  bool
	iface  uint32
	done   atomic.Int64
	packet []byte

	interfaces []capture.Interface
	sections   []capture.Section
}

var _ capture.Source = (*Stream)(nil)

// NewStream returns a source of the messages of r, which it does not close. Errors call it
// name. From is the exporter that r is connected with, and packets have the times when they
// came. Without an exporter r is a file, and they have the times of their export.
func NewStream(r io.Reader, name string, from netip.AddrPort) *Stream {
	return &Stream{r: bufio.NewReaderSize(r, streamBuffer), name: name, from: from}
}

const (
	// streamBuffer has room for the longest message.
	streamBuffer = 64 << 10
	// streamBatch is about how much a batch holds of a file.
	streamBatch = 128 << 10
)

// IsStream reports whether bytes, 4 or more, begin an IPFIX message.
func IsStream(head []byte) bool {
	return len(head) >= 4 && binary.BigEndian.Uint16(head) == 10 && binary.BigEndian.Uint16(head[2:]) >= headIPX
}

// Next reads the bytes that have come, at least a message. Bytes that are no IPFIX message are
// damage. Nothing is read after it, as only lengths say where messages begin.
func (s *Stream) Next(b *capture.Batch) error {
	b.Interfaces, b.Sections = s.interfaces, s.sections
	b.Reset()
	if !s.begun {
		s.iface = b.AppendInterface(capture.Interface{LinkType: capture.LinkRaw, Name: s.name})
		s.interfaces, s.sections, s.begun = b.Interfaces, b.Sections, true
	}
	now := time.Now().UnixNano()
	for {
		err := s.message(b, now)
		switch {
		case err != nil && len(b.Frames) > 0:
			return nil // it comes again
		case err != nil:
			b.Reset()
			return err
		case len(b.Buf) >= streamBatch || s.r.Buffered() < headIPX:
			return nil
		}
	}
}

// Await waits for the header of the next message. It returns an error if other bytes come, and io.EOF
// at the end of the stream. It consumes nothing.
func (s *Stream) Await() error {
	_, err := s.header()
	return err
}

func (s *Stream) header() ([]byte, error) {
	head, err := s.r.Peek(headIPX)
	switch {
	case err == io.EOF && len(head) == 0:
		return nil, io.EOF
	case err != nil:
		return nil, s.located(err, len(head), headIPX)
	case !IsStream(head):
		return nil, &capture.InputError{Input: s.name, Offset: s.done.Load(), Header: s.done.Load() == 0,
			Err: fmt.Errorf("%w: not an IPFIX message", capture.ErrDamaged)}
	}
	return head, nil
}

// message appends the next message. It consumes nothing if there is an error.
func (s *Stream) message(b *capture.Batch, now int64) error {
	head, err := s.header()
	if err != nil {
		return err
	}
	size := int(binary.BigEndian.Uint16(head[2:]))
	data, err := s.r.Peek(size)
	if err != nil {
		return s.located(err, len(data), size)
	}
	if !s.from.IsValid() {
		now = seconds(data[4:])
	}
	s.packet = encoding.AppendDatagram(s.packet[:0], s.from, data)
	b.Append(capture.Frame{Time: now, Interface: s.iface}, s.packet)
	_, _ = s.r.Discard(size) // it was peeked at
	s.done.Add(int64(size))
	return nil
}

// located makes an error that says where it happened.
func (s *Stream) located(err error, have, need int) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &capture.InputError{Input: s.name, Offset: s.done.Load(),
			Err: fmt.Errorf("message %w: %d of %d bytes", capture.ErrTruncated, have, need)}
	}
	return capture.Locate(capture.FailedRead(err), s.name, s.done.Load(), s.done.Load() == 0)
}

// Inputs returns the name of the stream.
func (s *Stream) Inputs() []string { return []string{s.name} }

// Offset returns the bytes that were read. There is no total.
func (s *Stream) Offset() (done, total int64) { return s.done.Load(), 0 }

// Size returns 0: it is not known.
func (s *Stream) Size() int64 { return 0 }

// Close does nothing: the caller owns the reader below.
func (s *Stream) Close() error { return nil }
