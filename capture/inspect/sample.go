// SPDX-License-Identifier: Apache-2.0

package inspect

import "math/bits"

// All packets of the first 2^18 are measured, then those whose digests have some bits 0:
// one of four of the next 2^18, and from there on one of 16.
// The sample has a packet and all its copies, or none of them, and each of them counts for
// those that it stands for. What is sampled depends on the stream alone.
const (
	allBits  = 18 // log2 of how many packets are all measured
	maxLevel = 4  // log2 of the packets that one stands for, at last
)

// levelOf returns how many bits of a digest must be 0 for a packet, by its number from 1
// on.
func levelOf(number uint64) uint {
	return uint(min(2*max(bits.Len64(number-1)-allBits, 0), maxLevel))
}

// weight returns how many packets s stands for.
func (s *sighting) weight() uint64 { return 1 << levelOf(s.number) }
