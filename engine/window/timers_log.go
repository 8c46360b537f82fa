// SPDX-License-Identifier: Apache-2.0

package window

import (
	"math/bits"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/line"
)

// timersLog has the lines that elements came to since some sweep, as long as these are
// few. A sweep of its lines does for a sweep of all lines, so packets that are rare for the
// window do not have all lines swept for each. An element stays in it for up to three
// sweeps: so their cost is constant for each element.
type timersLog struct {
	entries []timersEntry // in the order of their ticks
	full    bool          // elements since the last sweep are missing
	whole   bool          // all timers that are not zero belong to entries
	missing uint64        // the latest tick of a missing element, unless whole
}

type timersEntry struct{ line, tick uint64 }

const (
	// linesForEntry keeps a sweep of the log cheaper than a sweep of all lines.
	linesForEntry = 8
	// mostLogEntries bounds the log to 64 KiB, which do not count as the filter's memory.
	mostLogEntries = 4096
)

func newTimersLog(lines int) timersLog {
	return timersLog{entries: make([]timersEntry, 0, min(lines/linesForEntry, mostLogEntries)), whole: true}
}

// add appends elements of the given ticks, which go to one of the given number of lines.
func (l *timersLog) add(d []digest.Digest, ticks []uint64, lines int) {
	switch {
	case len(d) == 0:
	case l.full || len(d) > cap(l.entries)-len(l.entries):
		l.full, l.whole, l.missing = true, false, ticks[len(d)-1]
	default:
		for i := range d {
			at, _ := bits.Mul64(d[i][1], uint64(lines))
			l.entries = append(l.entries, timersEntry{at, ticks[i]})
		}
	}
}

// swept drops what a sweep at a tick cleared: the timers that were set a window ago.
func (l *timersLog) swept(tick, window uint64) {
	expired := len(l.entries)
	if !l.full {
		expired = 0
		for expired < len(l.entries) && tick-l.entries[expired].tick >= window {
			expired++
		}
	}
	l.entries = l.entries[:copy(l.entries, l.entries[expired:])]
	l.full = false
	l.whole = l.whole || tick-l.missing >= window
}

// sweep clears the timers that do not run at a tick.
func (f *Timers) sweep(tick uint64) {
	if f.counts.NonZero > 0 {
		lines := f.arena.Lines()
		if f.log.whole {
			for _, e := range f.log.entries {
				f.copying.KeepRange(int(e.line), int(e.line)+1)
				line.SweepTimers(lines[e.line:e.line+1], tick, f.rule, &f.counts)
			}
		} else {
			f.copying.KeepRange(0, len(lines))
			line.SweepTimers(lines, tick, f.rule, &f.counts)
		}
		f.peak = max(f.peak, f.counts.NonZero)
	}
	f.log.swept(tick, f.window)
}
