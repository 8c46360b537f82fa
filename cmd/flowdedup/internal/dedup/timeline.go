// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"slices"
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

// timelineBin counts the packets of a bin, and how many of them are copies.
type timelineBin struct{ Packets, Copies uint64 }

const (
	maxBins = 1000
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

// binWidths are the widths of bins, each a multiple of the width before. Beyond the last, widths double.
var binWidths = []time.Duration{
	leastBin, 10 * time.Millisecond, 100 * time.Millisecond, time.Second, 10 * time.Second, time.Minute, 10 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour,
}

// widen makes one bin of several.
func (t *Timeline) widen() {
	width := 2 * t.Width
	if i := slices.Index(binWidths, t.Width); i >= 0 && i+1 < len(binWidths) {
		width = binWidths[i+1]
	}
	t.join(width)
}

// join makes bins of a width that is a multiple of theirs, which begin at multiples of it.
func (t *Timeline) join(width time.Duration) {
	t.prepend(int(mod(t.Start, width) / int64(t.Width)))
	each := int(width / t.Width)
	for i := range t.Bins {
		n := t.Bins[i]
		t.Bins[i] = timelineBin{}
		t.Bins[i/each].Packets += n.Packets
		t.Bins[i/each].Copies += n.Copies
	}
	t.Bins = t.Bins[:(len(t.Bins)+each-1)/each]
	t.Width = width
}

// columnWidths are the widths of a chart's columns, from the narrowest on.
var columnWidths = func() (all []time.Duration) {
	for unit := time.Millisecond; unit < time.Second; unit *= 10 {
		all = append(all, unit, 2*unit, 5*unit)
	}
	for _, n := range []time.Duration{1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 10800, 6 * 3600, 12 * 3600, 24 * 3600, 48 * 3600} {
		all = append(all, n*time.Second)
	}
	return all
}()

// mostColumns keeps the columns of a chart apart.
const mostColumns = 100

// drawn returns the timeline in at most mostColumns bins of a round width. Wider bins than any
// column's stay.
func (t *Timeline) drawn() Timeline {
	line := Timeline{t.Start, t.Width, slices.Clone(t.Bins)}
	for _, width := range columnWidths {
		if width%t.Width == 0 && uint64(len(t.Bins)+1)*uint64(t.Width) <= mostColumns*uint64(width) {
			line.join(width)
			return line
		}
	}
	for len(line.Bins) > mostColumns {
		line.join(2 * line.Width)
	}
	return line
}

// prepend adds empty bins before the first bin.
func (t *Timeline) prepend(n int) {
	t.Bins = append(make([]timelineBin, n, n+len(t.Bins)), t.Bins...)
	t.Start -= int64(n) * int64(t.Width)
}

// mod is the remainder of a division that rounds down.
func mod(at int64, width time.Duration) int64 {
	return ((at % int64(width)) + int64(width)) % int64(width)
}
