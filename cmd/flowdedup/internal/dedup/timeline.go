// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// Timeline counts packets and copies over time, in at most maxBins bins of equal width. It
// widens them as the stream gets longer, so it takes constant memory.
type Timeline struct {
	Start int64 // of the first bin, in nanoseconds since 1970 UTC
	Width time.Duration
	Bins  []timelineBin
}

// timelineBin counts the packets of one bin, and how many of them are copies.
type timelineBin struct{ Packets, Copies uint64 }

const (
	maxBins = 400
	// leastBin is the width of the first bins.
	leastBin = time.Millisecond
	// widestBin ends the widening: times that lie farther apart cannot all be right.
	widestBin = 1 << 55
)

// add counts the packets of a batch. drop marks the copies.
func (t *Timeline) add(b *capture.Batch, drop []uint64) {
	for i := range b.Frames {
		at := calendar.Usable(b.Frames[i].Time)
		if at == capture.NoTime {
			continue
		}
		if n := t.bin(at); n != nil {
			n.Packets++
			n.Copies += drop[i/64] >> (i % 64) & 1
		}
	}
}

// bin returns the bin of a time, or nil if it is too far from the others, or beyond
// calendar.Farthest. Differences are unsigned, as such times need all 64 bits.
func (t *Timeline) bin(at int64) *timelineBin {
	if at < -calendar.Farthest || at > calendar.Farthest {
		return nil
	}
	if t.Width == 0 {
		t.Width = leastBin
		t.Start = at - mod(at, t.Width)
	}
	for at < t.Start || uint64(at)-uint64(t.Start) >= uint64(t.Width)*maxBins {
		if t.Width >= widestBin {
			return nil
		}
		t.widen()
		if at >= t.Start {
			continue
		}
		width, short := uint64(t.Width), uint64(t.Start)-uint64(at)
		if short < width*uint64(maxBins-len(t.Bins)) {
			t.prepend(int((short + width - 1) / width))
		}
	}
	n := int((uint64(at) - uint64(t.Start)) / uint64(t.Width))
	for len(t.Bins) <= n {
		t.Bins = append(t.Bins, timelineBin{})
	}
	return &t.Bins[n]
}

// widen makes one bin of two.
func (t *Timeline) widen() {
	if mod(t.Start, 2*t.Width) != 0 {
		t.prepend(1)
	}
	for i := range t.Bins {
		n := t.Bins[i]
		t.Bins[i] = timelineBin{}
		t.Bins[i/2].Packets += n.Packets
		t.Bins[i/2].Copies += n.Copies
	}
	t.Bins = t.Bins[:(len(t.Bins)+1)/2]
	t.Width *= 2
}

// prepend adds empty bins before the first one.
func (t *Timeline) prepend(n int) {
	t.Bins = append(make([]timelineBin, n, n+len(t.Bins)), t.Bins...)
	t.Start -= int64(n) * int64(t.Width)
}

// mod is the remainder of a division that rounds down.
func mod(at int64, width time.Duration) int64 {
	return ((at % int64(width)) + int64(width)) % int64(width)
}
