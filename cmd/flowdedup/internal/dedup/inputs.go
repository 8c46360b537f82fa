package dedup

import (
	"math/bits"

	"github.com/flowdedup/flowdedup/capture"
)

// InputCount is what came from one input. Which of its packets no other input has seen
// is not among it: a filter remembers that a packet was kept, and not where its copies
// turned up, so that in constant memory it can be told of copies only.
type InputCount struct {
	Input      string `json:"input"` // the name as the user gave it; "stdin" for "-"
	Packets    uint64 `json:"packets"`
	Duplicates uint64 `json:"duplicates"`
}

// byInput counts packets by the input that they came from.
type byInput []InputCount

// newByInput returns counts for inputs of these names, or nil if they are not several.
func newByInput(names []string) byInput {
	if len(names) < 2 {
		return nil
	}
	counts := make(byInput, len(names))
	for i, name := range names {
		counts[i].Input = name
	}
	return counts
}

// add enters the packets of a batch, of which drop says that they are duplicates.
func (c byInput) add(b *capture.Batch, drop []uint64) {
	if c == nil {
		return
	}
	for from := 0; from < len(b.Frames); {
		at := b.Frames[from].Interface
		to := from + 1
		for to < len(b.Frames) && b.Frames[to].Interface == at {
			to++
		}
		c[inputOf(b, from)].Packets += uint64(to - from)
		from = to
	}
	for w, word := range drop {
		for ; word != 0; word &= word - 1 {
			c[inputOf(b, w*64+bits.TrailingZeros64(word))].Duplicates++
		}
	}
}

// inputOf returns the number of the input that frame i came from.
func inputOf(b *capture.Batch, i int) int {
	return b.Sections[b.Interfaces[b.Frames[i].Interface].Section].Input
}
