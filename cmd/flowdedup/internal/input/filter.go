package input

import "github.com/flowdedup/flowdedup/capture"

// filterFlag is the flag of the filter that removes packets.
const filterFlag = "--filter"

// remove removes the packets of a batch whose bit in drop is set, and returns how many
// they are. Blocks stay between the packets that surrounded them.
func remove(b *capture.Batch, drop []uint64) (removed int) {
	n := len(b.Frames)
	at, before := 0, uint64(0)
	for i := range b.Blocks {
		k := &b.Blocks[i]
		before += capture.CountKept(drop, at, int(k.Before))
		at, k.Before = int(k.Before), uint32(before)
	}
	kept := 0
	for lo, hi := capture.NextRun(drop, 0, n); lo < n; lo, hi = capture.NextRun(drop, hi, n) {
		kept += copy(b.Frames[kept:], b.Frames[lo:hi])
	}
	b.Frames = b.Frames[:kept]
	return n - kept
}
