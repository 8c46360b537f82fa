// SPDX-License-Identifier: Apache-2.0

// Package sliding counts the distinct elements of the last hour, or another span W, at
// every instant:
//
//	counter, err := sliding.New(sliding.Config{Window: time.Hour})
//	counter.TestAndSet(nil, digests, times)
//	n := counter.Count(now).Distinct
//
// Rows is the counter to use, Map its reference, and Addresses makes
// digests of IPv4 addresses for both. For counts since a start see package distinct; for
// several keys at once see package windows. Errors about configurations
// wrap engine.ErrConfig, errors about snapshots snapshot.ErrInvalid.
//
//	question                                  file
//	elements and the rows they go to          rows.go, rows_lookup.go
//	steps, wrong clocks, sweeps               rows_clock.go
//	counts, exact or of a sample              rows_count.go
//	rows that grow, or thin to a sample       rows_grow.go
//	snapshots                                 rows_saved.go
//	the reference; digests of IPv4 addresses  map.go
package sliding

import (
	"fmt"
	"math/bits"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/engine/internal/rowtable"
	"github.com/flowdedup/flowdedup/layout"
)

// Config configures New.
type Config struct {
	// Window is the span that is counted over, W, up to 366 days.
	Window time.Duration
	// Step is the resolution of sighting dates. Counts of windows whose bounds are
	// multiples of it, from 1970 UTC, are exact. W is at most 4096 steps. 0 stands for a
	// thousandth of W, or up to twice that if only that divides W.
	Step time.Duration
	// Memory bounds the size of the rows, in bytes, rounded down to a power of two from
	// 64 KiB on. 0 stands for 64 MiB. Rows start with 64 KiB and double as they fill.
	// Rows.Limit sets another bound.
	Memory int
}

const (
	// maxSteps keeps dates unambiguous: they are compared over up to four such windows
	// (see Rows.sweep). One advance is no longer than a window.
	maxSteps     = 4096
	maxWindow    = 366 * 24 * time.Hour
	defaultSteps = 1000
	// rowLoad is the average number of elements in a line, out of 8, at which lines
	// double.
	rowLoad = 5
	// sweepsInWindow is how often a window sweeps all lines, if enough elements come.
	sweepsInWindow = 4
	defaultMemory  = 64 << 20
	dateMask       = layout.SlidingPresent - 1
)

// Rows counts the distinct elements of the last W, at every instant. It remembers when
// each element was last seen, in rows of 48 bits of its digest and a date
// (line.TestAndSetSliding). An element costs one cache line. Rows also keeps a count of
// elements for each date, so Count does not look at the rows.
//
//   - Lines double when five of their eight cells are taken on average, up to the bound
//     of their memory. There is no pause, as 512 lines move every 512 elements. At that
//     load 2.4 % of the elements find eight cells taken, and go to small hash tables.
//     Sweeps remove cells older than the window, some lines at a time. So a live element
//     takes 13 to 32 bytes.
//   - Where there is no more memory, a sample is counted (Gibbons, Tirthapura, Estimating
//     Simple Functions on the Union of Data Streams, SPAA 2001): every second element by
//     a bit of its digest, then every fourth, and so on. Count returns an estimate with
//     bounds. At 64 MiB that begins at 5.2 million elements, and the error is a tenth of
//     a percent. When the rows empty, the sample becomes all elements again.
//   - Elements may be late by up to W: an element's last sighting is the sighting of
//     the latest time, not the last to arrive. Rows does not count elements that are
//     later than that, without a time, or with a time before 1824 or after 2115.
//   - A time more than W away from the latest time is not believed at once, as one wrong
//     clock must not empty the window. A calendar.Clock quarantines such elements, and a
//     quorum of them sets it, forward or back. Until then Count counts the quarantined
//     elements that lie in its window.
//
// The contents of Rows depend only on the stream, not on how it is cut into calls.
// Digests must be keyed. Rows are not safe for concurrent use.
type Rows struct {
	rowsState
	rows         rowtable.Rows[uint64]
	sides        *rowtable.Sides[uint64] // nil before the first pass
	clock        calendar.Clock
	steps        int64               // in a window, rounded up
	currentStart int64               // when the current step began
	counts       []uint32            // of elements by the date of their last sighting
	thinned      []uint32            // of those below the mark, while the sample is halved; else nil
	levels       []uint8             // of the sample by date
	recent       [recentSlots]uint64 // by slot: the last element entered in the current step
	quarantine   []datedElement      // in quarantine
	pending      pendingElements
}

// rowsState is the state of Rows that snapshots have.
type rowsState struct {
	window, step int64
	maxLines     int // lines
	started      bool
	current      int64 // the current step
	sweepDebt    int64 // of lines to be swept, in parts of a window
	taken        int   // cells and overflow words that are not empty
	level        uint  // 1 of 2^level elements is sampled
	levelStep    int64 // the step in which that changed
	ignored      uint64
}

// recentSlots is the number of the current step's elements that Rows knows by their
// digests, in a part of the first-level cache. They are the most frequent, and need
// no further work until the next step.
const recentSlots = 1 << 10

// recentSlot returns the slot of an element.
func recentSlot(digest uint64) uint64 { return digest >> 33 % recentSlots }

// datedElement is an element in quarantine.
type datedElement struct {
	digest digest.Digest
	time   int64
}

// pendingElements are elements that go to the rows together. They never cross a position
// at which Rows decides on its size.
type pendingElements struct {
	count       int
	position    int                   // of its first element, modulo Step
	words       [rowtable.Step]uint64 // of digests
	dates       [rowtable.Step]uint16
	places      [rowtable.Step]uint32 // places in the call
	before      [rowtable.Step]uint16
	overflowing [rowtable.Step]uint32
	overflow    [rowtable.Step]uint64 // words that overflow
	// Scratch for the elements on one side of the mark, while lines move.
	sideDates, sideBefore [rowtable.Step]uint16
}

// New returns an empty counter. Errors wrap engine.ErrWindow or engine.ErrMemory, or come
// from layout.NewArena.
func New(cfg Config) (*Rows, error) {
	step, err := chooseStep(cfg.Window, cfg.Step)
	if err != nil {
		return nil, err
	}
	if cfg.Memory < 0 {
		return nil, fmt.Errorf("%w: %d bytes", engine.ErrMemory, cfg.Memory)
	}
	if cfg.Memory == 0 {
		cfg.Memory = defaultMemory
	}
	s, err := newRows(int64(cfg.Window), int64(step))
	if err != nil {
		return nil, err
	}
	s.Limit(cfg.Memory)
	return s, nil
}

// newRows returns a counter that may not grow.
func newRows(window, step int64) (*Rows, error) {
	s := &Rows{
		rowsState:  rowsState{window: window, step: step, maxLines: layout.SlidingLines},
		steps:      (window-1)/step + 1,
		quarantine: make([]datedElement, 0, calendar.Quorum),
		clock:      calendar.Clock{Ahead: time.Duration(window), Behind: time.Duration(window)},
	}
	shape := rowtable.Shape{Name: "sliding rows", Width: 64, Cells: func(int) int { return 8 }, Dated: true, Factor: layout.Golden}
	if err := s.rows.Open(shape, layout.SlidingLines); err != nil {
		return nil, err
	}
	ring := 1 << bits.Len(uint(s.steps+1))
	s.counts, s.levels = make([]uint32, ring), make([]uint8, ring)
	s.forgetRecent()
	return s, nil
}

// chooseStep returns the resolution of a window's dates.
func chooseStep(window, step time.Duration) (time.Duration, error) {
	if window <= 0 || window > maxWindow {
		return 0, fmt.Errorf("%w: %v, must be above 0 and at most %v", engine.ErrWindow, window, maxWindow)
	}
	if step == 0 {
		for n := time.Duration(defaultSteps); n > defaultSteps/2; n-- {
			if window%n == 0 {
				return window / n, nil
			}
		}
		return window/defaultSteps + 1, nil
	}
	if step < 0 || step > window || (window-1)/step >= maxSteps {
		return 0, fmt.Errorf("%w: steps of %v, must be from 1/%d of %v to all of it", engine.ErrWindow, step, maxSteps, window)
	}
	return step, nil
}

// TestAndSet remembers elements with their times, in nanoseconds since 1970 UTC or
// math.MinInt64 for none. Unless seen is nil, it sets bit i of seen if element i was seen
// within W, give or take a step, and clears the other bits of the words that cover len(d)
// elements. Elements that are not in the sample, or in quarantine, count as not seen. It
// panics if seen or times is too short. It allocates only when the rows grow or overflow.
func (s *Rows) TestAndSet(seen []uint64, d []digest.Digest, times []int64) {
	s.rows.Table.Arena.CheckOpen("sliding: Rows.TestAndSet")
	if len(times) < len(d) {
		panic("sliding: Rows.TestAndSet: times shorter than digests")
	}
	m := marks{seen, seenWithin}
	m.clear(len(d))
	for i := 0; i < len(d); {
		if n := s.leading(times[i:len(d)]); n > 0 {
			s.enqueueAll(m, d[i:i+n], i)
			i += n
			continue
		}
		s.observe(m, &d[i], times[i], i)
		i++
	}
	s.flush(m)
}

// TestAndSetStep is TestAndSet for elements of one step, with t as the latest of their
// times. It only sets the bits of elements that were already seen in that step, for which
// nothing changes. Elements with a later sighting count as not seen.
func (s *Rows) TestAndSetStep(seen []uint64, d []digest.Digest, t int64) {
	s.rows.Table.Arena.CheckOpen("sliding: Rows.TestAndSetStep")
	m := marks{seen, seenInStep}
	m.clear(len(d))
	for i := 0; i < len(d); {
		n := s.enqueueable(len(d) - i)
		if n == 0 || !s.inCurrentStep(t) {
			s.observe(m, &d[i], t, i)
			i++
			continue
		}
		s.clock.Pass(t)
		s.enqueueAll(m, d[i:i+n], i)
		i += n
	}
	s.flush(m)
}

// inCurrentStep reports whether t is in the current step.
func (s *Rows) inCurrentStep(t int64) bool { return uint64(t)-uint64(s.currentStart) < uint64(s.step) }

// enqueueable returns how many of the given elements of the current step enqueueAll may
// take: none while there is a sample or a quarantine, else those up to the next decision.
func (s *Rows) enqueueable(elements int) int {
	if !s.started || s.level > 0 || s.rows.Thinning || len(s.quarantine) > 0 {
		return 0
	}
	return min(elements, rowtable.Step-s.pending.position-s.pending.count)
}

// leading counts the elements up to the first element of another step, as far as enqueueAll may
// take them, and moves the clock.
func (s *Rows) leading(times []int64) (n int) {
	times = times[:s.enqueueable(len(times))]
	latest := s.clock.Latest()
	for n < len(times) && s.inCurrentStep(times[n]) {
		latest = max(latest, times[n])
		n++
	}
	if n > 0 {
		s.clock.Pass(latest)
	}
	return n
}

// enqueueAll appends elements of the current step to the pending elements, except recent
// elements. It does not branch on which elements are recent: in the traffic of most
// networks that is as good as random.
func (s *Rows) enqueueAll(m marks, d []digest.Digest, place int) {
	for len(d) > 0 {
		n := min(len(d), 64-place%64)
		known := s.enqueueWord(d[:n], place)
		if m.bits != nil {
			m.bits[place/64] |= known << (place % 64)
		}
		d, place = d[n:], place+n
	}
	s.decideIfDue(m)
}

// enqueueWord is enqueueAll for up to 64 elements. It returns a bit for each that is
// recent.
func (s *Rows) enqueueWord(d []digest.Digest, place int) (known uint64) {
	p, date := &s.pending, uint16(s.current&dateMask)
	n := uint(p.count)
	for i := range d {
		digest := d[i][0]
		recent := &s.recent[recentSlot(digest)]
		p.words[n%rowtable.Step], p.dates[n%rowtable.Step], p.places[n%rowtable.Step] = digest, date, uint32(place+i)
		same := uint64(0)
		if *recent == digest {
			same = 1
		}
		*recent = digest
		n += 1 - uint(same)
		known = bits.RotateLeft64(known|same, -1)
	}
	p.count = int(n)
	return bits.RotateLeft64(known, len(d))
}

// forgetRecent empties the slots: it gives each a digest that belongs to another slot.
func (s *Rows) forgetRecent() {
	for i := range s.recent {
		s.recent[i] = ^(uint64(i) << 33)
	}
}

// enqueue appends an element to the pending elements, if it is in the sample.
func (s *Rows) enqueue(m marks, d *digest.Digest, step int64, place int) {
	level := uint(s.levels[step&int64(len(s.levels)-1)])
	if s.rows.Thinning && d[0] < s.rows.Mark() {
		level = max(level, s.level+1)
	}
	if layout.SlidingCell(d[0])&sampleMask(level) != 0 {
		return
	}
	p := &s.pending
	p.words[p.count], p.dates[p.count], p.places[p.count] = d[0], uint16(step&dateMask), uint32(place)
	p.count++
	s.decideIfDue(m)
}

// decideIfDue decides on the size of the rows if the stream is at a multiple of Step.
func (s *Rows) decideIfDue(m marks) {
	if s.pending.position+s.pending.count == rowtable.Step {
		s.flush(m)
		s.pending.position = 0
		s.decide()
	}
}

// sampleMask returns the bits that are 0 in the cells that belong to the sample of a
// level.
func sampleMask(level uint) uint64 {
	return (1<<level - 1) << (layout.SlidingDateBits + 1)
}

// Step returns the resolution of dates: see Config.
func (s *Rows) Step() time.Duration { return time.Duration(s.step) }

// Reset forgets everything, and returns the memory that the counter grew by.
func (s *Rows) Reset() {
	s.empty()
	s.level, s.started, s.ignored, s.pending.position = 0, false, 0, 0
	s.currentStart, s.current = 0, 0
	s.clock.Reset()
	clear(s.levels)
	s.quarantine = s.quarantine[:0]
}

// empty forgets all elements that are not in quarantine, and returns their memory.
func (s *Rows) empty() {
	s.rows.Restart(layout.SlidingLines)
	clear(s.counts)
	s.thinned = nil
	s.taken, s.sweepDebt = 0, 0
	s.forgetRecent()
}

// Ignored returns the number of elements without a time, or with a time that was rejected
// in the end.
func (s *Rows) Ignored() uint64 { return s.ignored }

// Close returns the memory. No method may be called afterwards.
func (s *Rows) Close() error { return s.rows.Close() }
