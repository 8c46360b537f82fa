// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"math/bits"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/identity"
)

// doubts are the packets of a batch that were truncated too short: see identity.Doubt. Those
// without a checksum can equal different packets of their flow. They are judged if copies come only
// from other points. Otherwise they are kept and not remembered.
type doubts struct {
	some        bool     // undecidable has a bit
	undecidable []uint64 // a bit for each packet that is not judged
	checksum    []uint64 // a bit for each packet that is known only by a checksum
	decidables  []uint64

	captured identity.Captured

	undecided, checksums uint64 // packets of the batch: not judged, and removed only by a checksum
}

// reset begins a batch, whose bitmaps have this many words.
func (d *doubts) reset(words int) {
	*d = doubts{undecidable: capture.Zeroed(d.undecidable, words), checksum: capture.Zeroed(d.checksum, words), decidables: d.decidables}
}

// add adds the packets of a run that begins with packet from.
func (d *doubts) add(all []identity.Doubt, from int, across bool) {
	for _, doubt := range all {
		if doubt.Checksum {
			capture.SetBit(d.checksum, from+int(doubt.Number))
		} else if !across {
			capture.SetBit(d.undecidable, from+int(doubt.Number))
			d.some = true
		}
	}
}

// decidable returns the packets that can be judged: among those in only, or among all n if only
// is nil.
func (d *doubts) decidable(only []uint64, n int) []uint64 {
	d.decidables = capture.Complement(d.decidables, d.undecidable, n)
	for w, word := range only {
		d.decidables[w] &= word
	}
	return d.decidables
}

// fix adds undecidable packets, which stay, to fixed, which already has the packets that are
// not judged.
func (d *doubts) fix(fixed []uint64) {
	for w, word := range d.undecidable {
		d.undecided += uint64(bits.OnesCount64(word &^ fixed[w]))
		fixed[w] |= word
	}
}

// count counts the removed packets that are known only by a checksum.
func (d *doubts) count(drop []uint64) {
	for w, word := range d.checksum {
		d.checksums += uint64(bits.OnesCount64(word & drop[w]))
	}
}
