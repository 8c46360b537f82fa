// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/dedup"
	"github.com/flowdedup/flowdedup/layout"
)

// mostHeld bounds the packets that wait for better copies, in bytes.
const mostHeld = 256 << 20

// newHold makes what packets wait in, nil if none waits.
func (d *Detector) newHold() (*dedup.Hold, error) {
	c := &d.cfg.Choice
	if c.Hold == 0 {
		return nil, nil
	}
	hold := dedup.HoldConfig{Keep: dedup.KeepFirst, Intact: c.Intact, Hold: c.Hold, Identity: d.cfg.Identity.Kind, Secret: d.cfg.Secret, Swapped: d.swap}
	hold.Memory = min(mostHeld, layout.MemoryBudget())
	if c.Flow {
		hold.Keep = dedup.KeepFlow
	}
	if !d.cfg.Refresh {
		hold.Window = d.cfg.Window.Duration
	}
	if d.marker != nil {
		hold.Mark = d.marker.Mark
	}
	if d.cfg.Live {
		begin := time.Now()
		hold.Clock = func() time.Duration { return time.Since(begin) }
		hold.Wait = c.Hold + c.Delay
	}
	return dedup.NewHold(hold)
}

// Waits reports whether packets wait for better copies, as of the last Write. Any goroutine
// may call it.
func (d *Detector) Waits() bool { return d.hold != nil && d.hold.Waits() }

// swap corrects the counts when a packet is kept in the place of another.
func (d *Detector) swap(b *capture.Batch, out, in *capture.Frame) {
	d.stats.removed += uint64(out.CapLen) - uint64(in.CapLen)
	if d.swapped != nil {
		d.swapped(b, out, in)
	}
}

// preferred returns how many packets were kept instead of a truncated one, and of one with a
// wrong checksum.
func (d *Detector) preferred() (whole, checksum uint64) {
	whole, checksum = d.stats.whole, d.stats.checksum
	if d.hold != nil {
		held := d.hold.Stats()
		whole, checksum = whole+held.Whole, checksum+held.Checksum
	}
	return whole, checksum
}

// Write passes a judged batch to write with the packets that are not to be kept, or
// batches before it that wait no longer. Then the batch has no content. With Choice.Mark
// it passes all packets on, and copies have comments.
func (p *Packets) Write(b *capture.Batch, write func(b *capture.Batch, drop []uint64) error) error {
	switch marker := p.detector.marker; {
	case p.asked != nil:
		return p.asked.Write(b, write)
	case p.held != nil:
		return p.held.Write(b, write)
	case marker != nil:
		return write(marker.Mark(b, p.packets.Digests(), p.drop, nil, nil), nil)
	}
	return write(b, p.drop)
}

// Finish passes on what waits. It must be called after the last Write.
func (d *Detector) Finish(write func(b *capture.Batch, drop []uint64) error) error {
	switch {
	case d.hub != nil:
		return d.hub.Finish(write)
	case d.hold != nil:
		return d.hold.Finish(write)
	}
	return nil
}
