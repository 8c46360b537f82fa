// SPDX-License-Identifier: Apache-2.0

package reassemble

import (
	"sync"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
)

// liveTimeout is how long a datagram waits for its fragments in a live capture, in packet time, and
// while no packets come. The packets behind it wait as long.
const liveTimeout = 100 * time.Millisecond

// Source is a capture.Source with the fragments of tunnels put together.
type Source struct {
	capture.Source
	joiner *Joiner
	live   bool
	heard  time.Time // when the latest packets came, in a live capture

	mu    sync.Mutex
	stats Stats
}

// NewSource returns src with the fragments of tunnels put together, which owns src. It delivers
// batches as src does: see capture.Preloader, capture.LiveSource and capture.Lender. live says that
// packets come in their own time. They wait for less time then.
// tunnels are as of New.
func NewSource(src capture.Source, live bool, tunnels *headers.Tunnels) (capture.Source, *Source) {
	s := &Source{Source: src, joiner: New(tunnels), live: live}
	if live {
		s.joiner.wait = int64(liveTimeout)
	}
	if p, ok := src.(capture.Preloader); ok {
		return &preloader{s, p}, s
	}
	return &arriving{s}, s
}

// Stats returns the counts so far. Any goroutine may call it.
func (s *Source) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}

// Next returns the next packets that do not wait.
func (s *Source) Next(b *capture.Batch) error {
	err := s.Source.Next(b)
	if err != nil {
		s.joiner.Rest(b)
	} else {
		s.joiner.Pass(b, s.live && s.silent(b))
	}
	s.mu.Lock()
	s.stats = s.joiner.stats
	s.mu.Unlock()
	if err != nil && len(b.Frames)+len(b.Blocks) == 0 {
		return err
	}
	return nil
}

// silent reports whether no packets have come for as long as datagrams wait. Sources give empty
// batches earlier than that.
func (s *Source) silent(b *capture.Batch) bool {
	now := time.Now()
	if len(b.Frames) > 0 {
		s.heard = now
	}
	return now.Sub(s.heard) >= liveTimeout
}

// preloader is a Source whose input several goroutines read.
type preloader struct {
	*Source
	from capture.Preloader
}

// Reserve implements capture.Preloader.
func (p *preloader) Reserve(b *capture.Batch) { p.from.Reserve(b) }

// ReadReserved implements capture.Preloader.
func (p *preloader) ReadReserved(b *capture.Batch) { p.from.ReadReserved(b) }

// arriving is any other Source.
type arriving struct{ *Source }

// GiveBack passes a batch on to a capture.Lender.
func (a *arriving) GiveBack(b *capture.Batch) {
	if lender, ok := a.Source.Source.(capture.Lender); ok {
		lender.GiveBack(b)
	}
}

// Behind passes the question on. A source that does not know is read at once.
func (a *arriving) Behind() bool {
	live, ok := a.Source.Source.(capture.LiveSource)
	return !ok || live.Behind()
}
