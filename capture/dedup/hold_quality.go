// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"github.com/flowdedup/flowdedup/capture/identity"
)

// The quality of a packet orders equal ones, 0 being best: first by unfit, then by rank, then by
// defects, the least important last.
const (
	away       = 1 << iota // it is not from home
	wrongSum               // it is whole, and its checksum is wrong
	truncated              // it was captured in part
	rankShift  = 3
	unfitShift = rankShift + 8
)

// quality returns how good a packet is.
func (x *holdBatch) quality(i int) (quality uint64) {
	v := &x.verdicts
	if len(v.ranks) > 0 {
		quality = uint64(v.ranks[i]) << rankShift
	}
	if x.hold.homes != nil && !isSet(x.home, i) {
		quality |= away
	}
	if v.unfit.is(i) {
		quality |= 1 << unfitShift
	}
	if len(v.unfit.integrity) > 0 {
		switch v.unfit.integrity[i] {
		case identity.Truncated:
			quality |= truncated
		case identity.WrongChecksum:
			quality |= wrongSum
		}
	}
	return quality
}

// count counts a copy that is kept because a packet of the same rank has a defect.
func (h *hold) count(out, in uint64) {
	const rank = 0xff << rankShift
	switch lost := out &^ in; {
	case (out^in)&rank != 0:
	case lost&truncated != 0:
		h.stats.Whole++
	case lost&wrongSum != 0:
		h.stats.Checksum++
	}
}
