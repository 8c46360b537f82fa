package engine

import (
	"unsafe"

	"github.com/flowdedup/flowdedup/asm"
	"github.com/flowdedup/flowdedup/layout"
)

// timedRound is what elements have beside their digests. Their numbers are places in
// it.
type timedRound struct {
	ticks  []int64
	points []uint32 // with Across
}

// timedKernel is that of timed rows.
type timedKernel struct {
	params *asm.TimedParams
	round  *timedRound
	counts asm.TimedCounts
	picked *timedPicked // with several workers
}

// timedPicked is what a worker picked of a round.
type timedPicked struct {
	ticks  [shardPart]int64
	points [shardPart]uint32
}

func newTimedKernel(p *asm.TimedParams, r *timedRound, workers int) *timedKernel {
	k := &timedKernel{params: p, round: r}
	if workers > 1 {
		k.picked = new(timedPicked)
	}
	return k
}

func (k *timedKernel) TestAndSet(lines []layout.Line, seen []uint64, d []asm.Digest, position uint64, order []uint32) {
	ticks, points := k.round.ticks[position:], k.round.points
	if k.params.Across {
		points = points[position:]
	}
	if order != nil {
		ticks, points = k.picked.gather(ticks, points, order)
	}
	asm.TestAndSetTimed(lines, seen, d, ticks, points, k.params, &k.counts)
}

// gather returns the ticks and points, if there are any, at the places of order.
func (p *timedPicked) gather(ticks []int64, points []uint32, order []uint32) ([]int64, []uint32) {
	for i, at := range order {
		p.ticks[i%shardPart] = ticks[at]
	}
	if points == nil {
		return p.ticks[:], nil
	}
	for i, at := range order {
		p.points[i%shardPart] = points[at]
	}
	return p.ticks[:], p.points[:]
}

func (k *timedKernel) Bytes() int {
	sum := int(unsafe.Sizeof(*k))
	if k.picked != nil {
		sum += int(unsafe.Sizeof(*k.picked))
	}
	return sum
}
