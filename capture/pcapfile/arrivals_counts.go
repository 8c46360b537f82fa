// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"sync/atomic"

	"github.com/flowdedup/flowdedup/capture"
)

// ArrivalCounts are counts of one input.
type ArrivalCounts struct {
	Packets uint64 // that were delivered
	Late    uint64 // of these packets, how many came too late to be in order
}

// arrivalCounts are ArrivalCounts that are being made.
type arrivalCounts struct{ packets, late atomic.Uint64 }

// count counts frames. A frame is late if it comes after later frames of other captures, though in
// the order of its own capture.
func (a *Arrivals) count(in *arrival, frames []capture.Frame) {
	late := uint64(0)
	for i := range frames {
		t, before := frames[i].Time, in.last
		if t == capture.NoTime {
			continue
		}
		switch in.last = t; {
		case t < before && before == a.latest:
			a.latest = a.findLatest(in)
		case t >= before && t < a.latest:
			late++
		}
		a.latest = max(a.latest, t)
	}
	counts := &a.counts[in.Input]
	counts.packets.Add(uint64(len(frames)))
	if late > 0 {
		counts.late.Add(late)
	}
}

// findLatest returns the latest of the last times of all captures. So a clock that was ahead, and is
// right again, makes no packets of other captures late.
func (a *Arrivals) findLatest(current *arrival) int64 {
	latest := current.last
	for _, in := range a.pending {
		latest = max(latest, in.last)
	}
	for _, in := range a.heap {
		latest = max(latest, in.owner.last)
	}
	return latest
}

// Counts returns the counts of each input. It may be called on any goroutine.
func (a *Arrivals) Counts() []ArrivalCounts {
	all := make([]ArrivalCounts, len(a.counts))
	for i := range all {
		all[i] = ArrivalCounts{a.counts[i].packets.Load(), a.counts[i].late.Load()}
	}
	return all
}

// Late returns how many packets came too late to be in order. It may be called on any
// goroutine.
func (a *Arrivals) Late() uint64 {
	late := uint64(0)
	for _, c := range a.Counts() {
		late += c.Late
	}
	return late
}
