package plan

import (
	"maps"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/engine/sizing"
	"github.com/flowdedup/flowdedup/engine/window"
)

// maxTracked is how many different elements are followed at a time, in about 64 MiB.
const maxTracked = 1 << 20

// tracker finds repeats in bounded memory: it follows those elements whose digests
// fall into a share of 2^-shift of all, each with everything that happens to it. When
// there are too many it halves the share. What is counted of an element stands for
// 2^shift elements, so shares are right whatever the shift was at the time.
type tracker struct {
	window   window.Window
	landmark bool
	limit    int
	shift    uint
	seen     map[digest.Digest]occurrence
	position uint64

	distinct, repeats float64
	gaps, times       sizing.Histogram // in elements and nanoseconds
	peak              peak
}

// occurrence is the last one of an element.
type occurrence struct {
	position uint64
	time     int64
}

func newTracker(window window.Window, landmark bool, limit int) *tracker {
	return &tracker{
		window: window, landmark: landmark, limit: limit,
		seen: make(map[digest.Digest]occurrence), peak: newPeak(window, landmark),
	}
}

// add takes the next element of the stream. One without a time is no element of a
// window of time.
func (t *tracker) add(d digest.Digest, at int64) {
	if t.window.Duration > 0 && at == capture.NoTime {
		return
	}
	t.position++
	t.peak.add(at)
	if d[0]&(1<<t.shift-1) != 0 {
		return
	}
	now := occurrence{position: t.position, time: at}
	weight := float64(uint64(1) << t.shift)
	if before, found := t.seen[d]; found && t.within(before, now) {
		t.repeats += weight
		t.gaps.Add(float64(now.position-before.position), weight)
		if now.time != capture.NoTime && before.time != capture.NoTime {
			t.times.Add(float64(calendar.Distance(before.time, now.time)), weight)
		}
	} else {
		t.distinct += weight
	}
	t.seen[d] = now
	if len(t.seen) > t.limit {
		t.halveSample(now)
	}
}

// within tells whether the second sighting repeats the first one in the window.
func (t *tracker) within(before, now occurrence) bool {
	switch {
	case t.window.Packets > 0 && t.landmark:
		n := uint64(t.window.Packets)
		return (before.position-1)/n == (now.position-1)/n
	case t.window.Packets > 0:
		return now.position-before.position <= uint64(t.window.Packets)
	case t.window.Duration > 0 && t.landmark:
		return calendar.Index(before.time, int64(t.window.Duration)) == calendar.Index(now.time, int64(t.window.Duration))
	case t.window.Duration > 0:
		return calendar.Distance(before.time, now.time) <= uint64(t.window.Duration)
	}
	return true
}

// halveSample forgets elements that cannot be repeated any more, and half of the others if
// these were few.
func (t *tracker) halveSample(now occurrence) {
	maps.DeleteFunc(t.seen, func(_ digest.Digest, s occurrence) bool { return !t.within(s, now) })
	for len(t.seen) > t.limit/2 && t.shift < 63 {
		t.shift++
		maps.DeleteFunc(t.seen, func(d digest.Digest, _ occurrence) bool { return d[0]&(1<<t.shift-1) != 0 })
	}
}

// distinctShare is the share of new elements, 1 if there are no elements.
func (t *tracker) distinctShare() float64 {
	if t.distinct == 0 {
		return 1
	}
	return t.distinct / (t.distinct + t.repeats)
}

// windowElements is the largest number of elements in a window. Where elements come out
// of order the longest gap may show more than the clock does.
func (t *tracker) windowElements(gaps sizing.Gaps) float64 {
	if t.window.Packets > 0 {
		return float64(t.window.Packets)
	}
	t.peak.finish()
	return max(1, float64(t.peak.highest), gaps.Quantile(1))
}
