package dedup

import (
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/flow"
)

// tally counts what a run of packets shows without a look at any other.
type tally struct {
	count, bytes                        uint64
	nonIP, snapped, outOfOrder, untimed uint64
	first, last                         int64 // times of the first and the last packet that have one, or NoTime
}

func newTally() tally { return tally{first: capture.NoTime, last: capture.NoTime} }

// packets enters packets behind those entered before.
func (t *tally) packets(frames []capture.Frame, protocols []flow.Protocol) {
	t.count += uint64(len(frames))
	for i := range frames {
		f := &frames[i]
		t.bytes += uint64(f.CapLen)
		if f.CapLen < f.WireLen {
			t.snapped++
		}
		if f.Time == capture.NoTime {
			t.untimed++
			continue
		}
		// NoTime is less than any time.
		if f.Time < t.last {
			t.outOfOrder++
		}
		if t.last == capture.NoTime {
			t.first = f.Time
		}
		t.last = f.Time
	}
	for _, p := range protocols {
		if p == flow.NonIP {
			t.nonIP++
		}
	}
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
