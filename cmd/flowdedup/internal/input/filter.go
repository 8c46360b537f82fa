package input

import "github.com/flowdedup/flowdedup/capture"

// filterFlag is the flag of the filter that removes packets.
const filterFlag = "--filter"

// filterStep is how many packets are matched before those that do not match are removed:
// their descriptions then stay in the first-level cache.
const filterStep = 512

// keep removes the packets of a batch that do not match m, and returns how many they are.
// Blocks stay between the packets that surrounded them. wanted is room for a bit for each
// packet.
func keep(b *capture.Batch, m *Matcher, wanted []uint64) (removed int) {
	n, kept := len(b.Frames), 0
	for from := 0; from < n; from += filterStep {
		to := min(from+filterStep, n)
		m.Match(wanted[from/64:], b, from, to)
		for i := from; i < to; i++ {
			b.Frames[kept] = b.Frames[i] // without a branch, which would often go wrong
			kept += int(wanted[i/64] >> (i % 64) & 1)
		}
	}
	moveBlocks(b.Blocks, wanted, n)
	b.Frames = b.Frames[:kept]
	return n - kept
}

// moveBlocks lets Before count the wanted ones of n packets. It overwrites wanted.
func moveBlocks(blocks []capture.Block, wanted []uint64, n int) {
	if len(blocks) == 0 {
		return
	}
	drop := capture.Complement(wanted, wanted, n)
	at, kept := 0, uint64(0)
	for i := range blocks {
		before := int(blocks[i].Before)
		kept += capture.CountKept(drop, at, before)
		at, blocks[i].Before = before, uint32(kept)
	}
}
