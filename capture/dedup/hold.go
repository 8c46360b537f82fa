// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"cmp"
	"sync/atomic"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/capture/internal/backlog"
	"github.com/flowdedup/flowdedup/capture/traits"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// Keep says which of equal packets is kept.
type Keep uint8

const (
	// KeepFirst keeps the one that came first.
	KeepFirst Keep = iota
	// KeepFlow keeps the one from the home of its conversation: the capture point (VLANs,
	// tunnel, interface and input) of the conversation's first packet. Files of a rotated
	// capture are one input. Where none comes from there in time, it keeps the first.
	KeepFlow
)

// HoldConfig says which packets wait for better copies, and how long.
type HoldConfig struct {
	Keep Keep
	// Intact prefers packets that were captured whole, and of these packets whose checksum of
	// TCP, UDP or ICMP is not wrong: see identity.IntegrityOf. Only packets that have copies
	// are inspected.
	Intact bool
	// Hold is the largest distance in time of a packet and a better copy of it.
	Hold time.Duration
	// Window is the window of the filter, if copies further apart do not exist: a longer
	// Hold is cut to it. Else it is 0.
	Window time.Duration
	// Secret keys conversations and points.
	Secret engine.Secret
	// Memory is how many bytes may wait, 0 for 256 MiB. Large packets, and many between equal
	// ones, fill it early, and packets are then settled early.
	Memory int
	// Clock makes packets wait by their arrival, for Wait, and not by their times. It returns
	// the time since some start. It is for live captures: their packets must not wait for later
	// ones, and their times come from several rings.
	Clock func() time.Duration
	Wait  time.Duration

	// identity says whether conversations and points are taken from the innermost headers.
	identity identity.Config
	within   traits.Points // conversations at points that these distinguish are different ones
	// swapped, if not nil, gets each packet in that is kept in the place of packet out. Both
	// have interfaces of b. Calls come from holdBatch.judge.
	swapped func(b *capture.Batch, out, in *capture.Frame)
	// stays gets the number of each packet in b that is paired with an unfit one, which could not
	// give place to it, so that both stay. Calls come from holdBatch.judge.
	stays func(p *BatchDetector, b *capture.Batch, i int)
	// mark, if not nil, has all packets of a batch written, with comments on copies: see
	// traits.Marker.Mark. Calls come from holdBatch.write and finish.
	mark func(b *capture.Batch, digests []digest.Digest, drop []uint64, later []uint32, next []*capture.Batch) *capture.Batch
}

// homeFields make two homes different. TEIDs do not: both directions of a conversation have
// their own. Nor do the files of a rotated capture: a conversation goes on in the next one.
const homeFields = traits.PointVLAN | traits.PointVNI | traits.PointOrigin

// heldLimit is the default of HoldConfig.Memory.
const heldLimit = 256 << 20

// hold keeps batches back until it is settled which of equal packets stays. The filter decides
// which packets are copies: the first of equal packets stays, and the others are copies. A
// hold exchanges the first for a better copy that comes within HoldConfig.Hold. The number of
// packets that stay, and their places in the stream, are the same as without a hold.
//
// Of equal packets the best is the one of the lowest rank, which the caller gives. With
// HoldConfig.Intact, ties go to a whole packet, then to one without a wrong checksum. With
// KeepFlow, they then go to a packet from home. The last criterion is the order of the stream:
// the first. Packets that Config.Only leaves out, or that Config.Protect matches, are not
// exchanged.
//
// A first sighting waits if a better copy may replace it. Packets behind it wait, too, so that
// packets leave in their order. A first sighting from home has no better copy. So while all
// packets come from one point nothing waits, and no batch is kept back.
//
// A packet waits until the times of later packets say that no better copy can come: for up to
// one and a half holds, and as much longer as times were seen to step back, up to a second. A
// time that steps back further, or is ahead by more than [calendar.Tolerance], is believed
// when [calendar.Quorum] packets have such times. Then packets wait for as many more, and for
// a hold after them. Waiting packets are settled at once if a run of packets has no times that
// are believed. They are settled early if more than HoldConfig.Memory would wait. Packets
// without a time are neither exchanged nor taken in exchange. Which packets stay does not
// depend on how the stream is cut into batches, unless they wait by their arrival.
type hold struct {
	cfg        HoldConfig
	within     uint64 // nanoseconds between a packet and a better copy
	limit      int    // bytes
	homes      *homes
	lone       atomic.Pointer[uint64] // the point of all first sightings, where homes are not noted
	candidates candidates

	next    uint64 // number of the next packet
	settled uint64 // of the first packet that is not settled
	decided uint64 // of the first packet that may be exchanged
	idle    bool   // none may be exchanged, and there is no part
	clock   holdClock
	parts   backlog.Queue[part]
	bytes   int      // of parts
	part    lastPart // after them
	stats   HoldStats

	open    backlog.Queue[*heldBatch] // whose packets are not settled; for judge
	waiting backlog.Queue[*heldBatch] // to be written; for write
	waits   atomic.Bool               // there are some
	// following are the batches that wait behind the one that is marked; for write.
	following []*capture.Batch

	memory backlog.Store[heldBatch]
}

// HoldStats are the counts of packets that wait for better copies.
type HoldStats struct {
	Bytes     int    // of packets that wait now, about
	HeldBytes int    // the most that waited at a time
	Early     uint64 // packets that were settled before their time, for want of memory
	// Whole and Checksum count the packets that are kept, for Intact, in the place of one that
	// was truncated, and of one with a wrong checksum.
	Whole, Checksum uint64
}

// newHold makes a hold. Errors come from newHomes.
func newHold(cfg HoldConfig) (*hold, error) {
	if cfg.Window > 0 {
		cfg.Hold = min(cfg.Hold, cfg.Window)
	}
	h := &hold{cfg: cfg, within: uint64(cfg.Hold), limit: cmp.Or(cfg.Memory, heldLimit), clock: newHoldClock(uint64(cfg.Hold)), idle: true, candidates: newCandidates()}
	h.part.from = calendar.NoTime
	if cfg.Keep == KeepFlow {
		var err error
		if h.homes, err = newHomes(cfg.Hold); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// currentStats returns the counts so far. It must not be called while a batch is applied.
func (h *hold) currentStats() HoldStats {
	s := h.stats
	s.Bytes = h.bytes
	return s
}

// isWaiting reports whether batches wait, as of the last holdBatch.write. Any goroutine may call
// it.
func (h *hold) isWaiting() bool { return h.waits.Load() }

// Close gives the memory back. currentStats still works.
func (h *hold) Close() error {
	if h.homes == nil {
		return nil
	}
	return h.homes.Close()
}

// finish writes the waiting batches. It must be called after the last holdBatch.write. It
// returns the first error of write, after which it writes no more.
func (h *hold) finish(write func(b *capture.Batch, drop []uint64) error) error {
	if !h.idle {
		h.closePart()
	}
	return h.write(h.next, write)
}

// holdBatch takes one batch at a time through a hold. A pipeline needs one for each batch in
// flight.
type holdBatch struct {
	hold      *hold
	sightings *traits.SightingReader // nil without KeepFlow
	seen      traits.Sightings
	unread    []packetRun // of seen: home has the packets of the one point
	home      []uint64
	verdicts  verdicts
	detector  *BatchDetector // whose verdicts these are
	own       *heldBatch
	kept      bool   // own waits, or is marked
	decided   uint64 // as of judge
}

// newBatch makes a holdBatch.
func (h *hold) newBatch() *holdBatch {
	x := &holdBatch{hold: h}
	if h.homes != nil {
		cfg := Within(homeFields, h.cfg.identity, h.cfg.Secret)
		cfg.Apart = h.cfg.within
		x.sightings = traits.NewSightingReader(cfg)
	}
	return x
}

// verdicts is the input of judge for a batch.
type verdicts struct {
	digests             []digest.Digest
	times               []int64
	drop, copies, fixed []uint64 // as in BatchDetector
	ranks               []uint8
	unfit               *unfit
	paired              []uint64
}

// reset makes room for a batch of n packets, which Read then takes part by part.
func (x *holdBatch) reset(n int) {
	s := &x.seen
	s.Conversation, s.Fragment, s.Point = capture.Resize(s.Conversation, n), capture.Resize(s.Fragment, n), capture.Resize(s.Point, n)
	x.home = capture.Resize(x.home, (n+63)/64)
	x.unread = x.unread[:0]
}

// prepare reads the conversations and points of the packets from to to-1 of a batch, which p
// has just prepared. Meanwhile, others may prepare theirs.
func (x *holdBatch) prepare(b *capture.Batch, p *BatchDetector, from, to int) {
	if x.sightings == nil {
		return
	}
	if lone := x.hold.lone.Load(); lone != nil && x.sightings.At(x.home[from/64:], *lone, b, from, p.messages) {
		x.unread = append(x.unread, packetRun{from, to})
		return
	}
	x.sightings.ReadIdentities(x.seen.Run(from, to), b, from, p.messages)
}

// judge takes the verdicts on a prepared batch, which p has judged, and changes some of them
// for the writer only. ranks says how good each packet is, 0 being best; empty is 0 for all.
// Calls must come for one batch after another, in the order of the stream.
func (x *holdBatch) judge(b *capture.Batch, p *BatchDetector, ranks []uint8) {
	x.verdicts = verdicts{digests: p.digests, times: p.times, drop: p.drop, copies: p.copies, fixed: p.fixed, ranks: ranks, unfit: &p.unfit, paired: p.paired}
	x.detector = p
	h := x.hold
	h.arrive()
	x.accept(b)
	if h.homes != nil {
		x.findHomes(b, p)
	}
	x.choose(b)
	h.advance()
	x.decided = h.decided
	if x.kept = h.cfg.mark != nil || x.decided < x.own.end; x.kept {
		x.keep(b)
	}
}
