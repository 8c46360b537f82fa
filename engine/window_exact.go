package engine

import (
	"maps"
	"math"
	"slices"

	"github.com/flowdedup/flowdedup/asm"
)

// ExactWindowConfig configures NewExactWindow; the fields are those of
// TimedConfig.
type ExactWindowConfig struct {
	Window  Window
	Refresh bool
	Across  bool
}

const (
	// pruneSpan is how many stream positions an element is remembered for at
	// least, however its time looks. Pruning looks back twice as far.
	pruneSpan   = 1 << 16
	sampleEvery = 1 << 8
	samples     = 2 * pruneSpan / sampleEvery
)

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
// judged by the times of every 256th of the last 131,072 elements, without the
// sixteenth part that is earliest and the one that is latest: what lies more than
// twice the window outside of these times, and more than 65,536 elements back,
// is forgotten. So a stream out of order stays right as long as no element
// comes both so many elements and a window too late, and clocks that are
// wrong now and then neither make it forget nor keep it from forgetting.
// Without a window nothing is ever forgotten.
type ExactWindow struct {
	cfg      ExactWindowConfig
	kept     map[asm.Digest]keptElement
	position int64 // of the next element

	pruneAt int // number of elements that calls for pruning
	peak    int // the greatest number of elements
	recent  [samples]int64
	sampled int // how many samples were ever taken
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
		e.position++
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
	if now.position%sampleEvery == 0 {
		e.recent[e.sampled%samples] = now.time
		e.sampled++
	}
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
		first, last := e.near()
		maps.DeleteFunc(e.kept, func(_ asm.Digest, k keptElement) bool {
			return e.position-k.position > pruneSpan && (k.time < first || k.time > last)
		})
	}
	e.pruneAt = max(2*len(e.kept), 4*pruneSpan)
}

// near returns between which times elements are worth keeping: those that most
// of the stream has now, and two windows more on both sides, as far as times go.
func (e *ExactWindow) near() (first, last int64) {
	times := slices.Sorted(slices.Values(e.recent[:min(e.sampled, samples)]))
	if len(times) == 0 {
		return math.MinInt64, math.MaxInt64
	}
	outer := len(times) / 16
	first, last = times[outer], times[len(times)-1-outer]
	for range 2 {
		first = max(first, math.MinInt64+e.reach()) - e.reach()
		last = min(last, math.MaxInt64-e.reach()) + e.reach()
	}
	return first, last
}

// Stats implements PacketFilter. MemoryBytes is an estimate, for the greatest
// number of elements.
func (e *ExactWindow) Stats() PacketStats {
	return PacketStats{Method: "exact", MemoryBytes: mapBytes(max(e.peak, len(e.kept)), 16+24)}
}

// Close implements PacketFilter.
func (e *ExactWindow) Close() error {
	e.peak = max(e.peak, len(e.kept))
	e.kept = nil
	return nil
}
