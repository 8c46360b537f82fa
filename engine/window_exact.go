package engine

import (
	"maps"
	"math"
	"math/bits"

	"github.com/flowdedup/flowdedup/asm"
)

// ExactWindowConfig configures NewExactWindow; the fields are those of
// TimedConfig.
type ExactWindowConfig struct {
	Window  Window
	Refresh bool
	Across  bool
}

// pruneSpan is how many stream positions an element is remembered for at
// least, however its time looks, and half of what a pruning looks back on.
const pruneSpan = 1 << 16

// ExactWindow is the packet filter that remembers whole digests: method exact,
// and the measure for Timed. Its memory follows the traffic.
//
// It holds, for each digest, the time and the point of the element that was
// kept last, and takes an element for a copy if that one is at most the window
// away, before or after (time windows), or at most so many positions back
// (count windows), or there at all (no window); with Across, only if it was
// seen at another point. A copy leaves it as it is; with Refresh the later of
// both times is kept. Elements without a time are neither copies nor
// remembered in a time window.
//
// When the number of elements has doubled, those are forgotten that can no
// longer be copied. In count windows that is certain. In time windows it is
// judged by the last 65,536 elements or more: what is older than these and
// further than twice the window before the first or after the last of their
// times, is forgotten. So a stream out of order stays right as long as no
// element comes both 65,536 elements and a window too late, and a clock that
// went wrong does harm only if it stays wrong for so long. Without a window
// nothing is ever forgotten.
type ExactWindow struct {
	cfg      ExactWindowConfig
	kept     map[asm.Digest]keptElement
	position int64 // of the next element

	pruneAt int // number of elements that calls for pruning
	peak    int // the greatest number of elements
	recent  timeRange
	before  timeRange // of the pruneSpan elements before those of recent
}

// keptElement is what is remembered of a digest.
type keptElement struct {
	time     int64 // in count windows: the position
	position int64
	point    uint32
}

// NewExactWindow makes an empty filter. Errors wrap ErrWindow.
func NewExactWindow(cfg ExactWindowConfig) (*ExactWindow, error) {
	if err := cfg.Window.check(); err != nil {
		return nil, err
	}
	return &ExactWindow{
		cfg:     cfg,
		kept:    make(map[asm.Digest]keptElement),
		pruneAt: 4 * pruneSpan,
		recent:  noTimes,
		before:  noTimes,
	}, nil
}

// TestAndSet implements PacketFilter.
func (e *ExactWindow) TestAndSet(seen []uint64, d []asm.Digest, times []int64, points []uint32) {
	checkPacketArguments("ExactWindow.TestAndSet", seen, d, times, points, e.cfg.Across)
	clear(seen[:(len(d)+63)/64])
	for i := range d {
		now := keptElement{time: times[i], position: e.position}
		if e.cfg.Across {
			now.point = points[i]
		}
		e.advance()
		switch {
		case e.cfg.Window.Packets > 0:
			now.time = now.position
		case now.time == noTime && !e.cfg.Window.None:
			continue
		}
		if e.testAndSet(d[i], now) {
			seen[i/64] |= 1 << (i % 64)
		}
	}
}

func (e *ExactWindow) testAndSet(d asm.Digest, now keptElement) (isCopy bool) {
	e.recent.add(now.time)
	old, found := e.kept[d]
	isCopy = found && e.within(old.time, now.time) && !(e.cfg.Across && old.point == now.point)
	switch {
	case isCopy && !e.cfg.Refresh:
		return true
	case isCopy:
		now.time, now.point = max(old.time, now.time), old.point
	}
	e.kept[d] = now
	if len(e.kept) >= e.pruneAt {
		e.prune()
	}
	return isCopy
}

// within says whether two times are at most the window apart.
func (e *ExactWindow) within(a, b int64) bool {
	if e.cfg.Window.None {
		return true
	}
	return uint64(max(a, b))-uint64(min(a, b)) <= uint64(e.reach())
}

// reach is the window's size, in nanoseconds or positions.
func (e *ExactWindow) reach() int64 {
	return max(int64(e.cfg.Window.Duration), e.cfg.Window.Packets)
}

// advance moves on to the next position.
func (e *ExactWindow) advance() {
	e.position++
	if e.position%pruneSpan == 0 {
		e.before, e.recent = e.recent, noTimes
	}
}

// prune forgets what no element is likely to copy any more.
func (e *ExactWindow) prune() {
	e.peak = max(e.peak, len(e.kept))
	switch {
	case e.cfg.Window.None:
	case e.cfg.Window.Packets > 0:
		maps.DeleteFunc(e.kept, func(_ asm.Digest, k keptElement) bool {
			return !e.within(k.time, e.position)
		})
	default:
		near := e.recent.join(e.before).widen(e.reach()).widen(e.reach())
		maps.DeleteFunc(e.kept, func(_ asm.Digest, k keptElement) bool {
			return e.position-k.position > pruneSpan && !near.has(k.time)
		})
	}
	e.pruneAt = max(2*len(e.kept), 4*pruneSpan)
}

// Stats implements PacketFilter. MemoryBytes is an estimate: what Go's map of
// the greatest number of elements takes, at seven of eight places used and a
// size that is a power of two, with a byte of control for each place.
func (e *ExactWindow) Stats() PacketStats {
	const place = 16 + 24 + 1
	n := uint(max(e.peak, len(e.kept)))
	places := 8
	if n > 7 {
		places = 1 << bits.Len(n*8/7)
	}
	return PacketStats{Method: "exact", MemoryBytes: places * place}
}

// Close implements PacketFilter.
func (e *ExactWindow) Close() error {
	e.peak = max(e.peak, len(e.kept))
	e.kept = nil
	return nil
}

// timeRange is a range of times with both ends.
type timeRange struct{ first, last int64 }

// noTimes is the empty range.
var noTimes = timeRange{first: math.MaxInt64, last: math.MinInt64}

func (r *timeRange) add(t int64) {
	r.first, r.last = min(r.first, t), max(r.last, t)
}

func (r timeRange) join(o timeRange) timeRange {
	return timeRange{first: min(r.first, o.first), last: max(r.last, o.last)}
}

func (r timeRange) has(t int64) bool { return r.first <= t && t <= r.last }

// widen moves both ends of a range that is not empty by d, as far as times go.
func (r timeRange) widen(d int64) timeRange {
	return timeRange{
		first: max(r.first, math.MinInt64+d) - d,
		last:  min(r.last, math.MaxInt64-d) + d,
	}
}
