// SPDX-License-Identifier: Apache-2.0

package traits

import "math/bits"

// Every packet of the first 2^14 is sampled, then bursts of 512 packets in a row: one burst in
// 2 of the next 2^14 packets, one in 4 of the next 2^15, and so on, at last one in 128. That
// starts anew every 2^24 packets, so that the conversations of today count. Bursts show both
// directions of a conversation where single packets seldom would. Only the numbers of packets
// in the stream decide which are sampled.
const (
	burst      = 512
	denseBits  = 14 // log2 of how many packets are sampled at the start
	maxSpacing = 7  // log2 of bursts per burst that is sampled
	period     = 1 << 24
)

// nextBurst returns the first packets to be sampled among those from number at on: from
// to to-1.
func nextBurst(at uint64) (from, to uint64) {
	begin, in := at&^(period-1), at%period
	if in < 1<<denseBits {
		return at, begin + 1<<denseBits
	}
	step := uint64(burst) << min(bits.Len64(in)-denseBits, maxSpacing)
	from = in &^ (step - 1)
	if in < from+burst {
		return at, begin + from + burst
	}
	from += begin + step
	return from, from + burst
}
