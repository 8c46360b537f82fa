package engine

import (
	"math/bits"

	"github.com/flowdedup/flowdedup/layout"
)

// exactLines is what counters in exact rows have in common: lines that double, and the
// books of them.
type exactLines struct {
	arena    *layout.Arena
	count    uint64 // distinct elements
	limit    uint64 // the count at which to grow
	position int    // in the stream, modulo counterStep
	first    int    // lines to start with
	newArena func(lines int) (*layout.Arena, error)

	spills [counterStep]uint32
	seen   [counterStep / 64]uint64
}

// book counts those of n elements that x.seen does not mark.
func (x *exactLines) book(n int) {
	x.count += uint64(n)
	for _, word := range x.seen[:(n+63)/64] {
		x.count -= uint64(bits.OnesCount64(word))
	}
}

// restart empties the lines and the books, and returns the lines to go on with: as many as
// there were at first, or where there is no memory for those, all that there are.
func (x *exactLines) restart() *layout.Arena {
	x.count, x.position = 0, 0
	if len(x.arena.Lines()) != x.first {
		if arena, err := x.newArena(x.first); err == nil {
			x.arena.Close()
			return arena
		}
	}
	x.arena.Clear()
	return x.arena
}

// Close is as Counter says.
func (x *exactLines) Close() error { return x.arena.Close() }
