// SPDX-License-Identifier: Apache-2.0

package hold

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/backlog"
	"github.com/flowdedup/flowdedup/capture/traits"
	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/layout"
)

// Config says which of equal packets stays, and how long packets wait for better copies. With the
// zero value the first stays, except where the caller ranks packets.
type Config struct {
	// Flow keeps the packet from the home of its conversation: the capture point (VLANs, tunnel,
	// interface and input) of the conversation's first packet. The files of a rotated capture are the
	// same input. Where no packet comes from home in time, the first stays.
	Flow bool
	// Intact prefers packets that were captured whole, and of these packets whose checksum of
	// TCP, UDP or ICMP is not wrong: see identity.IntegrityOf.
	Intact bool
	// For is the largest distance in time of a packet and a better copy of it.
	For time.Duration
	// Clock makes packets wait by their arrival, for Wait, and not by their times. It returns
	// the time since some start. It is for live captures: their packets must not wait for later
	// packets, and their times come from several rings. nil is for captures that were saved.
	Clock func() time.Duration
	Wait  time.Duration
}

// Validate returns an error for values that cannot be.
func (c *Config) Validate() error {
	if c.For < 0 || c.Wait < 0 {
		return fmt.Errorf("packets wait for %v, by their arrival for %v", c.For, c.Wait)
	}
	return nil
}

// Stream says what a Hold has to know of the packets that it gets, and who hears of its choices.
type Stream struct {
	// Window is the window of the filter, if copies further apart do not exist: a longer
	// Config.For is cut to it. Else it is 0.
	Window time.Duration
	// Sightings says how conversations are read. Its Fields and Groups have no meaning.
	Sightings traits.SightingConfig
	// Exchanged, if not nil, gets each packet in that is kept in the place of packet out. Both
	// have interfaces of b. Calls come from Batch.Judge.
	Exchanged func(b *capture.Batch, out, in *capture.Frame)
	// Mark, if not nil, makes the batches that are written: see traits.Marker.Mark. Calls come
	// from Batch.Write and Finish.
	Mark func(b *capture.Batch, digests []digest.Digest, drop []uint64, later []uint32, next []*capture.Batch) (*capture.Batch, []uint64)
}

// mostHeld bounds the packets that wait, in bytes: on small machines layout.MemoryBudget does.
const mostHeld = 256 << 20

// Hold keeps batches back until it is settled which of equal packets stays. It is for one
// goroutine at a time, but its Batches may be prepared side by side.
//
// Equal packets are compared by these, in this order:
//
//	fit before unfit; the lowest rank   see Verdicts
//	whole before truncated              with Config.Intact
//	no wrong checksum                   with Config.Intact
//	from home                           with Config.Flow
//	the first of the stream
//
// A first sighting waits if a better copy may replace it. Packets behind it wait, too, so that
// packets leave in their order. A first sighting from home has no better copy. So while all
// packets come from one point nothing waits, and no batch is kept back.
//
// A packet waits until the times of later packets say that no better copy can come: for up to
// one and a half of Config.For, and as much longer as times were seen to step back, up to a
// second. A time that steps back further, or is ahead by more than [calendar.Tolerance], is
// believed when [calendar.Quorum] packets have such times. Then packets wait for as many more, and
// for Config.For after them. Waiting packets are settled at once if a run of packets has no times
// that are believed. They are settled early if more than 256 MiB would wait, as of large packets, or
// where many come between equal packets. Packets without a time are neither exchanged nor taken in
// exchange. Which packets stay does not depend on how the stream is cut into batches, unless they
// wait by their arrival.
type Hold struct {
	cfg        Config
	stream     Stream
	within     uint64 // nanoseconds between a packet and a better copy
	limit      int    // bytes
	homes      *homes
	lone       atomic.Pointer[uint64] // the point of all first sightings, where homes are not noted
	candidates candidates

	next    uint64 // number of the next packet
	settled uint64 // of the first packet that is not settled
	decided uint64 // of the first packet that may be exchanged
	idle    bool   // none may be exchanged, and there is no part
	clock   clock
	parts   backlog.Queue[part]
	bytes   int      // of parts
	part    lastPart // after them
	stats   Stats

	open    backlog.Queue[*held] // whose packets are not settled; for Judge
	waiting backlog.Queue[*held] // to be written; for Write
	waits   atomic.Bool          // there are some
	// following are the batches that wait behind the batch that is marked; for Write.
	following []*capture.Batch

	memory backlog.Store[held]
}

// Stats are the counts of packets that wait for better copies.
type Stats struct {
	Bytes     int    // of packets that wait now, about
	HeldBytes int    // the most that waited at a time
	Early     uint64 // packets that were settled before their time, for want of memory
	// Whole and Checksum count the packets that are kept, for Intact, in the place of a truncated
	// packet, and of a packet with a wrong checksum.
	Whole, Checksum uint64
}

// New makes a Hold of a valid configuration. Errors come from layout.NewArena.
func New(cfg Config, s Stream) (*Hold, error) {
	if s.Window > 0 {
		cfg.For = min(cfg.For, s.Window)
	}
	h := &Hold{
		cfg: cfg, stream: s, within: uint64(cfg.For), limit: min(mostHeld, layout.MemoryBudget()),
		clock: newClock(uint64(cfg.For)), idle: true, candidates: newCandidates(),
	}
	h.part.from = calendar.NoTime
	if cfg.Flow {
		var err error
		if h.homes, err = newHomes(conversations/layout.HomeCells, cfg.For); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// Stats returns the counts so far. It must not be called while a batch is judged.
func (h *Hold) Stats() Stats {
	s := h.stats
	s.Bytes = h.bytes
	return s
}

// Waits reports whether batches wait, as of the last Batch.Write. Any goroutine may call
// it.
func (h *Hold) Waits() bool { return h.waits.Load() }

// Close gives the memory back. Stats still works.
func (h *Hold) Close() error {
	if h.homes == nil {
		return nil
	}
	return h.homes.Close()
}

// Finish writes the waiting batches. It must be called after the last Batch.Write. It
// returns the first error of write, after which it writes no more.
func (h *Hold) Finish(write func(b *capture.Batch, drop []uint64) error) error {
	if !h.idle {
		h.closePart()
	}
	return h.write(h.next, write)
}
