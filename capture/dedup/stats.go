// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"math/bits"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/hold"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/capture/traits"
	"github.com/flowdedup/flowdedup/engine"
)

// Counts count the packets of a stream, and the decisions about them. Their JSON is for the
// run that goes on with them: see Detector.Continue.
type Counts struct {
	Tally
	// Copies counts the packets that the filter finds to be copies, without the copies that
	// Config.Protect keeps. CopyBytes are the captured bytes of removed packets: where a copy
	// takes the place of a packet, the bytes of that packet.
	Copies           uint64
	CopyBytes        uint64
	CopiesByProtocol [headers.ProtocolCount]uint64
	// Unjudged counts packets that Config.Only has not chosen, Protected copies that
	// Config.Protect has.
	Unjudged, Protected uint64
	// Undecidable counts packets that stay since they were truncated too short to be distinguished
	// from others. ChecksumOnly counts copies that are known only by a checksum of 16 bits. Two
	// different packets of one flow and length are then taken for copies at a rate of
	// identity.ChecksumError.
	Undecidable, ChecksumOnly uint64
	// Whole and Checksum count the packets that hold.Config.Intact kept instead of a truncated packet,
	// and instead of a packet with a wrong checksum.
	Whole, Checksum uint64
	Hub             HubCounts `json:",omitzero"`
}

// HubCounts count the hub's verdicts on packets that the filter left. They are in none of the
// other counts.
type HubCounts struct {
	Copies     uint64   `json:",omitempty"` // packets that other sites have sent
	Unchecked  uint64   `json:",omitempty"` // packets that stay since the hub did not answer
	Bytes      uint64   `json:",omitempty"` // captured bytes of the copies
	ByProtocol []uint64 `json:",omitempty"` // the copies by headers.Protocol; nil without a hub
}

// Stats describes a Detector: its filter, and its work so far.
type Stats struct {
	engine.PacketStats
	Counts
	// Held describes the packets that wait for better copies; nil if none does.
	Held *hold.Stats
	// InTunnels is the share of packets, by a sample, in tunnels that identity L3 does not
	// open, from 0 to 1. Tunnels are their kinds, the most frequent one first. Both are empty
	// for other identities.
	InTunnels float64
	Tunnels   []headers.Tunnel
	// Captured describes the datagrams that were cut. Copies may differ if these do.
	Captured identity.Captured
	// Unverified counts packets that stay as stream.Verified did not know them; 0 with other
	// filters.
	Unverified uint64
	// SharedPoints counts packets whose capture point shares its number with others, because
	// there are too many points.
	SharedPoints uint64
	// OnePoint says that Across compared capture points, and there was no other than the first.
	OnePoint bool
	// Conversations are the counts of Config.Conversations.
	Conversations traits.SplitCounts
}

// Stats returns the counts. It must not be called while a batch is judged.
func (d *Detector) Stats() Stats {
	s := Stats{PacketStats: d.cfg.Filter.Stats(), Counts: d.Counts(), SharedPoints: d.cfg.Points.Shared(), Captured: d.captured}
	s.InTunnels, s.Tunnels = d.tunnels.Share()
	s.OnePoint = d.cfg.Across && len(d.cfg.Points.List()) == 1
	if d.landmarks != nil {
		s.EdgeError = 0 // the digests say where a window ends
	}
	if d.hold != nil {
		held := d.hold.Stats()
		s.Held = &held
	}
	if f, ok := d.cfg.Filter.(interface{ Unverified() uint64 }); ok {
		s.Unverified = f.Unverified()
	}
	if c := d.cfg.Conversations; c != nil {
		s.Conversations = c.Counts()
	}
	return s
}

// Counts returns the counts of Stats, in less time. It must not be called while a batch is
// judged.
func (d *Detector) Counts() Counts {
	c := d.counts
	if d.hold != nil {
		held := d.hold.Stats()
		c.Whole, c.Checksum = c.Whole+held.Whole, c.Checksum+held.Checksum
	}
	if d.hub != nil {
		c.Hub = d.hub.counts()
	}
	return c
}

// Continue goes on with the counts of an earlier Detector, in place of the counts so far. It
// must not be called while a batch is judged.
func (d *Detector) Continue(before Counts) {
	if d.hub != nil {
		d.hub.resume(&before.Hub)
	}
	d.counts = before
}

// count adds a judged batch.
func (d *Detector) count(p *BatchDetector, b *capture.Batch) {
	c := &d.counts
	c.merge(&p.tally)
	for w, word := range p.v.Drop {
		for ; word != 0; word &= word - 1 {
			i := w*64 + bits.TrailingZeros64(word)
			c.Copies++
			c.CopyBytes += uint64(b.Frames[i].CapLen)
			c.CopiesByProtocol[p.protocols[i]]++
		}
	}
	c.Unjudged += p.notJudged
	c.Protected += p.protectedCopies
	c.Undecidable += p.doubts.undecided
	c.ChecksumOnly += p.doubts.checksums
	d.captured.Merge(p.doubts.captured)
	if d.cfg.Identity.Kind == identity.L3 {
		d.tunnels.Add(b)
	}
}
