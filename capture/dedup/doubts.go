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
	words       int
	some, weak  bool     // whether there are any of each
	undecidable []uint64 // a bit for each packet that is not judged; of no meaning unless some
	checksum    []uint64 // a bit for each packet that is known only by a checksum; likewise for weak
	decidables  []uint64

	captured identity.Captured

	undecided, checksums uint64 // packets of the batch: not judged, and removed only by a checksum
}

// reset begins a batch.
func (d *doubts) reset(words int) {
	*d = doubts{words: words, undecidable: d.undecidable, checksum: d.checksum, decidables: d.decidables}
}

// add adds the packets of a run that begins with packet from.
func (d *doubts) add(all []identity.Doubt, from int, across bool) {
	for _, doubt := range all {
		if doubt.Checksum {
			d.checksum = set(d.checksum, from+int(doubt.Number), d.words, &d.weak)
		} else if !across {
			d.undecidable = set(d.undecidable, from+int(doubt.Number), d.words, &d.some)
		}
	}
}

// set sets a bit of a bitmap, which is empty unless begun.
func set(bitmap []uint64, i, words int, begun *bool) []uint64 {
	if !*begun {
		bitmap, *begun = capture.Resize(bitmap, words), true
		clear(bitmap)
	}
	bitmap[i/64] |= 1 << (i % 64)
	return bitmap
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
	if !d.some {
		return
	}
	for w, word := range d.undecidable {
		d.undecided += uint64(bits.OnesCount64(word &^ fixed[w]))
		fixed[w] |= word
	}
}

// count counts the removed packets that are known only by a checksum.
func (d *doubts) count(drop []uint64) {
	if !d.weak {
		return
	}
	for w, word := range d.checksum {
		d.checksums += uint64(bits.OnesCount64(word & drop[w]))
	}
}
