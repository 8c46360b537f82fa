package distinct

import (
	"math/bits"

	"github.com/flowdedup/flowdedup/capture/flow"
)

// mostPerPacket is how many elements of any key a packet has at most.
const mostPerPacket = 2

// perPacket returns how many elements of a key a packet has at most.
func perPacket(of flow.Of) int {
	if of == flow.IP || of == flow.MACs {
		return mostPerPacket
	}
	return 1
}

// packetsOf counts how many packets elements come from, without those in drop: equal
// frame numbers follow each other.
func packetsOf(frames []uint32, drop []uint64, each int) uint64 {
	n := uint64(len(frames))
	if each == 1 && drop == nil {
		return n
	}
	if first, last := frames[0], frames[n-1]; each == 1 && uint64(last-first) == n-1 {
		return n - countBits(drop, first, last)
	}
	n = 0
	last := ^uint32(0) // no frame has this number
	for _, f := range frames {
		if f != last && (drop == nil || drop[f/64]>>(f%64)&1 == 0) {
			n++
		}
		last = f
	}
	return n
}

// countBits counts the bits from number first to number last.
func countBits(words []uint64, first, last uint32) (n uint64) {
	for w := first / 64; w <= last/64; w++ {
		word := words[w]
		if w == first/64 {
			word &= ^uint64(0) << (first % 64)
		}
		if w == last/64 {
			word &= ^uint64(0) >> (63 - last%64)
		}
		n += uint64(bits.OnesCount64(word))
	}
	return n
}
