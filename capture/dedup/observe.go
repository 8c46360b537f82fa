// SPDX-License-Identifier: Apache-2.0

package dedup

import "github.com/flowdedup/flowdedup/capture"

// Observer gets the decisions of a Detector, in the order of the stream. A nil function gets
// nothing. None may change or keep its arguments.
type Observer struct {
	// Judged gets each batch with its copies, as Judge returns them. Calls come from Judge and
	// Copies.
	Judged func(b *capture.Batch, copies []uint64)
	// Exchanged gets each packet in that is kept in the place of packet out, which was no copy for
	// Judged. Both have interfaces of b. Calls come from Judge.
	Exchanged func(b *capture.Batch, out, in *capture.Frame)
	// Stays gets each packet that Judged got as a copy and that stays, as no packet could give place
	// to it. It has an interface of b. Calls come from Judge.
	Stays func(b *capture.Batch, f *capture.Frame)
	// Elsewhere gets each batch with the copies that the hub has found. Judged got them as
	// packets that are no copies. Calls come from Write and Finish, while later batches are
	// judged.
	Elsewhere func(b *capture.Batch, copies []uint64)
}

// judged passes the verdicts on a batch on.
func (d *Detector) judged(b *capture.Batch, copies []uint64) {
	for i := range d.cfg.Observers {
		if f := d.cfg.Observers[i].Judged; f != nil {
			f(b, copies)
		}
	}
}

// exchanged corrects the counts when packet in is kept in the place of packet out.
func (d *Detector) exchanged(b *capture.Batch, out, in *capture.Frame) {
	d.counts.CopyBytes += uint64(out.CapLen) - uint64(in.CapLen)
	for i := range d.cfg.Observers {
		if f := d.cfg.Observers[i].Exchanged; f != nil {
			f(b, out, in)
		}
	}
}

// stays corrects the counts when packet i, which the batch says is a copy, stays.
func (d *Detector) stays(p *BatchDetector, b *capture.Batch, i int) {
	f := &b.Frames[i]
	d.counts.Copies--
	d.counts.CopyBytes -= uint64(f.CapLen)
	d.counts.CopiesByProtocol[p.protocols[i]]--
	for k := range d.cfg.Observers {
		if get := d.cfg.Observers[k].Stays; get != nil {
			get(b, f)
		}
	}
}

// elsewhere passes the verdicts of the hub on.
func (d *Detector) elsewhere(b *capture.Batch, copies []uint64) {
	for i := range d.cfg.Observers {
		if f := d.cfg.Observers[i].Elsewhere; f != nil {
			f(b, copies)
		}
	}
}

// final returns the function that writes batches to w, and shows them to the observers of
// written packets.
func (d *Detector) final(w PacketWriter) func(b *capture.Batch, drop []uint64) error {
	conversations := d.cfg.Conversations
	if conversations == nil {
		return w.Write
	}
	return func(b *capture.Batch, drop []uint64) error {
		conversations.Add(b, drop)
		return w.Write(b, drop)
	}
}
