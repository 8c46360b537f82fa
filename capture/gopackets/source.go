// SPDX-License-Identifier: Apache-2.0

package gopackets

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"syscall"

	"github.com/google/gopacket"

	"github.com/flowdedup/flowdedup/capture"
)

// SourceConfig configures NewSource. The zero value is ready to use.
type SourceConfig struct {
	// Name stands for the handle in Inputs and errors. "" stands for "gopacket".
	Name string
	// LinkType is as in Config.
	LinkType capture.LinkType
	// Temporary reports whether more packets may follow an error. Errors whose method
	// Timeout returns true, and syscall.EINTR, are temporary without it. libpcap has
	// pcap.NextErrorTimeoutExpired, afpacket ErrTimeout.
	Temporary func(error) bool
}

// maxBatch is how many packets make a batch of a Source, at most.
const maxBatch = 4096

// Source is a handle of gopacket as a capture.Source. Its batches hold copies of the
// packets, as blocks of one pcapng section with times in nanoseconds. From the first call
// of Next on, a goroutine reads the handle. A batch has all packets since the batch before;
// none waits for others.
type Source struct {
	prefetch *prefetcher
	cfg      SourceConfig
	chunk    chunk
	octets   atomic.Int64
	err      error // how it has ended
}

var _ capture.Source = (*Source)(nil)

// NewSource makes a source of the packets that src returns.
func NewSource(src gopacket.PacketDataSource, cfg SourceConfig) *Source {
	cfg.Name = cmp.Or(cfg.Name, "gopacket")
	return &Source{prefetch: newPrefetcher(newHandle(src, cfg.LinkType), maxBatch, true), cfg: cfg}
}

// Next returns the packets that have come: at least 1, at most 4096, and about
// 512 KiB at most. An error of the handle comes after the packets before it: io.EOF
// unchanged, io.ErrUnexpectedEOF as an InputError that wraps capture.ErrTruncated, others
// as a ReadError. See capture.Source.
func (s *Source) Next(b *capture.Batch) error {
	for s.err == nil {
		s.chunk.batch = *b
		s.prefetch.next(&s.chunk)
		*b = s.chunk.batch
		for i := range b.Frames {
			s.octets.Add(int64(b.Frames[i].CapLen))
		}
		if err := s.chunk.err; err != nil && !s.temporary(err) {
			s.err = s.located(err)
		}
		if len(b.Frames) > 0 {
			return nil
		}
	}
	b.Reset()
	return s.err
}

// temporary reports whether more packets may follow an error.
func (s *Source) temporary(err error) bool {
	var wait interface{ Timeout() bool }
	return errors.As(err, &wait) && wait.Timeout() || errors.Is(err, syscall.EINTR) ||
		s.cfg.Temporary != nil && s.cfg.Temporary(err)
}

// located returns an error of the handle with its place.
func (s *Source) located(err error) error {
	at := s.octets.Load()
	switch {
	case err == io.EOF:
		return err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &capture.InputError{Input: s.cfg.Name, Offset: at, Err: fmt.Errorf("%w: %w", capture.ErrTruncated, err)}
	}
	return &capture.ReadError{Input: s.cfg.Name, Offset: at, Err: err}
}

// Inputs returns the name of the handle.
func (s *Source) Inputs() []string { return []string{s.cfg.Name} }

// Offset returns how many captured bytes came; their total is unknown. Offsets in errors
// count the same.
func (s *Source) Offset() (done, total int64) { return s.octets.Load(), 0 }

// Size returns 0: it is not known.
func (s *Source) Size() int64 { return 0 }

// Close ends reading ahead, and a Next that waits. The caller closes the handle, which ends
// a read that waits.
func (s *Source) Close() error {
	s.prefetch.close()
	return nil
}
