// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/identity"
)

// The quality of a packet orders equal ones, 0 being best: first by rank, then by defects, the
// least important last.
const (
	away      = 1 << iota // it is not from home
	wrongSum              // it is whole, and its checksum is wrong
	truncated             // it was captured in part
	// unjudged says that wrongSum and truncated are not known yet.
	unjudged  = 1 << (qualityBits - 1)
	rankShift = 3
)

// quality returns how good a packet is, as far as that is known without a look into it.
func (x *holdBatch) quality(i int) (quality uint64) {
	if len(x.verdicts.ranks) > 0 {
		quality = uint64(x.verdicts.ranks[i]) << rankShift
	}
	if x.hold.homes != nil && !isSet(x.home, i) {
		quality |= away
	}
	if x.hold.cfg.Intact {
		quality |= unjudged
	}
	return quality
}

// atBest returns the best quality that a packet may turn out to have.
func atBest(quality uint64) uint64 { return quality &^ unjudged }

// atWorst returns the worst one.
func atWorst(quality uint64) uint64 {
	if quality&unjudged != 0 {
		return quality&^unjudged | truncated | wrongSum
	}
	return quality
}

// judge looks into packet at of a batch that waits, unless that was done before.
func (h *hold) judge(quality uint64, k *heldBatch, at int) uint64 {
	if quality&unjudged == 0 {
		return quality
	}
	h.decoder.Decode(h.header[:], &k.view, at)
	quality &^= unjudged
	switch identity.IntegrityOf(&h.header[0], &k.view, at) {
	case identity.Truncated:
		quality |= truncated
	case identity.WrongChecksum:
		quality |= wrongSum
	}
	return quality
}

// isBetter reports whether copy i is better than candidate c, which is packet at of batch
// from, and returns its quality. It looks into both only if the answer depends on that.
func (x *holdBatch) isBetter(i int, quality uint64, c *candidate, from *heldBatch, at int) (uint64, bool) {
	h, kept := x.hold, c.quality()
	if atWorst(quality) < atBest(kept) {
		return quality, true
	}
	kept = h.judge(kept, from, at)
	if c.set(c.number(), kept); kept == 0 {
		c.value = 0 // no copy is better
		from.waiting[at/64] &^= 1 << (uint(at) % 64)
	}
	if atBest(quality) >= kept {
		return quality, false
	}
	if quality = h.judge(quality, x.own, i); quality >= kept {
		return quality, false
	}
	h.count(kept, quality)
	return quality, true
}

// count counts a copy that is kept because a packet of the same rank has a defect.
func (h *hold) count(out, in uint64) {
	switch lost := out &^ in; {
	case out>>rankShift != in>>rankShift:
	case lost&truncated != 0:
		h.stats.Whole++
	case lost&wrongSum != 0:
		h.stats.Checksum++
	}
}

// viewOf returns the parts of a batch that judge needs. It stays as it is until the packets
// are settled, while write moves the batch.
func viewOf(b *capture.Batch) capture.Batch {
	return capture.Batch{Buf: b.Buf, Frames: b.Frames, Interfaces: b.Interfaces, Sections: b.Sections}
}
