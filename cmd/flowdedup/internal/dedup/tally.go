package dedup

import (
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/flow"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// tally counts what a run of packets shows without a look at any other.
type tally struct {
	count, bytes                        uint64
	nonIP, snapped, outOfOrder, untimed uint64
	first, last                         int64 // times of the first and the last packet that have one, or NoTime
}

func newTally() tally { return tally{first: capture.NoTime, last: capture.NoTime} }

// packets enters packets behind those entered before, and writes the times that may be
// relied on. It takes two passes, each of which has registers for all that it counts.
func (t *tally) packets(times []int64, frames []capture.Frame, protocols []flow.Protocol) {
	if t.last == capture.NoTime {
		t.first = firstTime(frames)
	}
	t.clock(times, frames)
	t.sizes(frames, protocols)
}

// clock goes through the times. Its one branch is on what holds for all packets of a
// capture or for none.
func (t *tally) clock(times []int64, frames []capture.Frame) {
	times = times[:len(frames)]
	last, outOfOrder, untimed := t.last, uint64(0), uint64(0)
	for i := range frames {
		at := frames[i].Time
		times[i] = calendar.Usable(at)
		if at == capture.NoTime {
			untimed++
			continue
		}
		older := uint64(0)
		if at < last { // NoTime is less than any time
			older = 1
		}
		outOfOrder += older
		last = at
	}
	t.last = last
	t.untimed += untimed
	t.outOfOrder += outOfOrder
}

// sizes goes through lengths and protocols.
func (t *tally) sizes(frames []capture.Frame, protocols []flow.Protocol) {
	protocols = protocols[:len(frames)]
	var bytes, snapped, nonIP uint64
	for i := range frames {
		f := &frames[i]
		captured := uint64(f.CapLen)
		bytes += captured
		snapped += (captured - uint64(f.WireLen)) >> 63
		nonIP += uint64(protocols[i] / flow.NonIP)
	}
	t.count += uint64(len(frames))
	t.bytes += bytes
	t.snapped += snapped
	t.nonIP += nonIP
}

// firstTime returns the time of the first packet that has one, or NoTime.
func firstTime(frames []capture.Frame) int64 {
	for i := range frames {
		if frames[i].Time != capture.NoTime {
			return frames[i].Time
		}
	}
	return capture.NoTime
}

// add enters the packets of another tally behind those entered before.
func (t *tally) add(next *tally) {
	t.count += next.count
	t.bytes += next.bytes
	t.nonIP += next.nonIP
	t.snapped += next.snapped
	t.untimed += next.untimed
	t.outOfOrder += next.outOfOrder
	if next.last == capture.NoTime {
		return
	}
	if next.first < t.last {
		t.outOfOrder++
	}
	if t.last == capture.NoTime {
		t.first = next.first
	}
	t.last = next.last
}
