// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"fmt"

	"github.com/flowdedup/flowdedup/capture"
)

// TimesError says that times of an input cannot be right. It is no damage.
type TimesError struct {
	Input string
	What  string
	Whole bool // it is about all packets of the input, which has ended
}

// Error names the input.
func (e *TimesError) Error() string { return e.Input + ": " + e.What }

// fewEqual is the least number of packets whose equal times are doubted. Equal times of 0 are
// doubted from two packets on.
const fewEqual = 10

// times looks at the times of an input as it is read.
type times struct {
	all      uint64 // packets so far
	packets  uint64 // the same, until times differ
	first    int64
	differ   bool
	reported bool // invalid times were reported
}

// add takes the next packets. Once two times differ it has nothing to do.
func (t *times) add(frames []capture.Frame) {
	t.all += uint64(len(frames))
	for i := 0; i < len(frames) && !t.differ; i++ {
		if t.packets++; t.packets == 1 {
			t.first = frames[i].Time
		}
		t.differ = frames[i].Time != t.first
	}
}

// allEqual reports whether all packets have the same time, and too many for a burst.
func (t *times) allEqual() bool {
	if t.differ || t.packets < 2 || t.first == capture.NoTime {
		return false
	}
	return t.first == 0 || t.packets >= fewEqual
}

// noteTimes reports times that cannot be right: impossible fractions of a second as soon as they
// come, and equal times at the end.
func (r *reader) noteTimes(b *capture.Batch) {
	r.times.add(b.Frames)
	if r.note == nil {
		return
	}
	if p, ok := r.format.(*pcap); ok && p.invalid > 0 && !r.times.reported {
		r.times.reported = true
		r.note(&TimesError{Input: r.name, What: fmt.Sprintf("fractions of a second are above %d, as %d of the first %d packets have it: such packets count as without a time%s",
			p.second()-1, p.invalid, r.times.all, p.likely())})
	}
	if r.err != nil && !r.ended {
		r.ended = true
		if r.times.allEqual() {
			r.note(&TimesError{Input: r.name, What: fmt.Sprintf("all %d packets have the same time: windows of time say nothing about them", r.times.packets), Whole: true})
		}
	}
}

// second returns how many ticks a second has.
func (p *pcap) second() uint32 {
	if p.nano {
		return 1e9
	}
	return 1e6
}

// likely explains invalid times.
func (p *pcap) likely() string {
	if p.nano {
		return ""
	}
	return "; most likely these are nanoseconds under the magic number of microseconds"
}
