package rotate

import (
	"fmt"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/outfile"
)

// untimed stands in names where no packet had a time; it comes before all times.
const untimed = "00000000T000000.000Z"

// names makes the names of files. They come in the order of their times, also where packets
// do not, but for those of an interval that the rotation went back to.
type names struct {
	stem, ending string
	every        time.Duration // of the intervals, 0 for one
	time         int64         // the latest in a name, in whole milliseconds, or NoTime
	number       int           // of the latest name with that time
}

// newNames takes a name apart: cap.pcapng.zst into cap and .pcapng.zst.
func newNames(name string, every time.Duration) names {
	stem, ending := outfile.SplitName(name)
	return names{stem: stem, ending: ending, every: every, time: capture.NoTime}
}

// begin turns to a file whose first packet of its interval has this time, or NoTime.
func (n *names) begin(first int64) {
	if first == capture.NoTime {
		return
	}
	at := floorTime(first, time.Millisecond)
	if at > n.time || n.every > 0 && at < floorTime(n.time, n.every) {
		n.time, n.number = at, 0
	}
}

// next returns the next name of that file.
func (n *names) next() string {
	at := untimed
	if n.time != capture.NoTime {
		at = time.Unix(0, n.time).UTC().Format("20060102T150405.000Z")
	}
	n.number++
	if n.number > 1 {
		at += fmt.Sprintf("_%03d", n.number)
	}
	return n.stem + "-" + at + n.ending
}
