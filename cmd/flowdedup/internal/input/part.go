// SPDX-License-Identifier: Apache-2.0

package input

import (
	"context"
	"math"
	"slices"

	"github.com/flowdedup/flowdedup/capture"
)

// Part is the part of a stream that is wanted. The zero value is all of it.
type Part struct {
	From, To *Bound // packets from From on, and before To; nil is no bound
	Count    uint64 // the first packets of these that the filter leaves, at most; 0 is all
}

// Bound is a time, in nanoseconds since 1970 UTC, or an offset in nanoseconds from the first
// packet of the stream that has a time.
type Bound struct {
	Time   int64
	Offset bool
}

// at returns the time of the bound, none without a bound.
func (b *Bound) at(first, none int64) int64 {
	switch {
	case b == nil:
		return none
	case !b.Offset:
		return b.Time
	case first > math.MaxInt64-b.Time:
		return math.MaxInt64
	}
	return first + b.Time
}

// parting takes the part of a stream, batch after batch in their order.
type parting struct {
	Part
	first int64  // the time of the first packet that has a time
	known bool   // whether first is set
	taken uint64 // packets, if they are counted
	end   context.CancelCauseFunc
}

// span returns the times of a batch that are wanted: from from on, and before to.
func (p *parting) span(b *capture.Batch) (from, to int64) {
	for i := 0; i < len(b.Frames) && !p.known; i++ {
		p.first = b.Frames[i].Time
		p.known = p.first != capture.NoTime
	}
	return p.From.at(p.first, math.MinInt64), p.To.at(p.first, math.MaxInt64)
}

// outside removes the packets of a batch that lie outside of a span, and returns how many they
// are. Packets without a time stay.
func outside(b *capture.Batch, from, to int64, bits []uint64) (removed int) {
	return pick(b, func(b *capture.Batch, i int) bool {
		t := b.Frames[i].Time
		return t >= from && t < to || t == capture.NoTime
	}, bits)
}

// cut ends a batch, whose packets were all before the filter and the times removed some, behind
// the last packet that is wanted. It returns how many of the removed packets come before, and
// whether the part is complete. Blocks behind that packet are removed, too, so that outputs do
// not depend on the size of batches.
func (p *parting) cut(b *capture.Batch, all []capture.Frame) (removed int, full bool) {
	left := p.Count - p.taken
	if uint64(len(b.Frames)) < left {
		p.taken += uint64(len(b.Frames))
		return len(all) - len(b.Frames), false
	}
	b.Frames = b.Frames[:left]
	b.Blocks = slices.DeleteFunc(b.Blocks, func(k capture.Block) bool { return uint64(k.Before) >= left })
	if p.taken = p.Count; left > 0 {
		removed = slices.Index(all, b.Frames[left-1]) + 1 - int(left)
	}
	return removed, true
}
