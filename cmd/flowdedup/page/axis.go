// SPDX-License-Identifier: Apache-2.0

package page

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/flowdedup/flowdedup/engine/calendar"
)

// Scale is how an axis spreads its values.
type Scale int

const (
	Log    Scale = iota // by decades; leaves out values that are not above 0
	Sizes               // by powers of two, written as sizes in bytes; leaves them out, too
	Delays              // nanoseconds by decades, written with units; leaves them out, too
	Linear              // evenly, with 0
	Times               // nanoseconds since 1970 UTC, evenly, written as times of day
)

// Axis is one axis of a chart.
type Axis struct {
	Label string // the quantity, with the unit
	Scale Scale
	Zone  *time.Location // of Times; nil is UTC
}

const (
	// Ticks beyond these crowd an axis: at the left, where labels are low, and below, where they
	// are wide.
	mostTicks, mostBelow = 9, 5
	// largest keeps sums and the next power of ten finite.
	largest = 1e300
	// The logarithm of a power may differ from a whole number in its last bits. Without
	// slack it would be rounded to the next whole number.
	slack = 1e-9
	// latest are the last nanoseconds that a time.Time shows exactly.
	latest = 1 << 62
)

// takes reports whether the axis has a place for v.
func (a Axis) takes(v float64) bool {
	switch a.Scale {
	case Linear:
		return math.Abs(v) <= largest
	case Times:
		return math.Abs(v) <= latest
	}
	return v >= 1/largest && v <= largest
}

// says writes a value in full.
func (a Axis) says(v float64) string {
	switch a.Scale {
	case Times:
		zone := a.Zone
		if zone == nil {
			zone = time.UTC
		}
		return time.Unix(0, int64(v)).In(zone).Format("2006-01-02 15:04:05.999")
	case Delays:
		return time.Duration(v).String()
	case Sizes:
		return humanize.IBytes(uint64(v))
	}
	return humanize.Commaf(math.Round(100*v) / 100)
}

// A tick is a labeled position of an axis, from 0 at its start to 1 at its end.
type tick struct {
	at    float64
	label string
}

// A span is the part of an axis that a chart shows. low and high are exponents of the
// scales that have some.
type span struct {
	scale     Scale
	low, high float64
	most      int // ticks
	ticks     []tick
	changes   []tick // of the clocks, on an axis of times
}

// span fits the axis around values from low to high. It has most ticks at most, or two more.
func (a Axis) span(low, high float64, most int) span {
	s := span{scale: a.Scale, most: most}
	switch a.Scale {
	case Log:
		s.decades(low, high, decimal)
	case Delays:
		s.decades(low, high, delay)
	case Sizes:
		s.powers(low, high)
	case Linear:
		s.even(min(low, 0), max(high, 0))
	case Times:
		zone := a.Zone
		if zone == nil {
			zone = time.UTC
		}
		s.times(low, high, zone)
	}
	return s
}

// at returns the position of v: 0 at the start of the axis, 1 at its end.
func (s *span) at(v float64) float64 {
	switch s.scale {
	case Log, Delays:
		v = math.Log10(v)
	case Sizes:
		v = math.Log2(v)
	}
	return s.place(v)
}

func (s *span) place(v float64) float64 { return (v - s.low) / (s.high - s.low) }

// mark adds a tick.
func (s *span) mark(v float64, label string) {
	s.ticks = append(s.ticks, tick{s.place(v), label})
}

// decades ends the axis at powers of ten. If there is room, 2 and 5 get ticks too.
func (s *span) decades(low, high float64, label func(m, e int) string) {
	first, last := exponents(math.Log10(low), math.Log10(high))
	s.low, s.high = float64(first), float64(last)
	stride := (last-first)/s.most + 1
	for e := first; e <= last; e++ {
		if e%stride != 0 {
			continue
		}
		s.mark(float64(e), label(1, e))
		if 3*(last-first)+1 > s.most || e == last {
			continue
		}
		s.mark(float64(e)+math.Log10(2), label(2, e))
		s.mark(float64(e)+math.Log10(5), label(5, e))
	}
}

// powers ends the axis at powers of two.
func (s *span) powers(low, high float64) {
	first, last := exponents(math.Log2(low), math.Log2(high))
	s.low, s.high = float64(first), float64(last)
	stride := 1
	for (last-first)/stride >= s.most {
		stride *= 2
	}
	for e := first; e <= last; e++ {
		if e%stride == 0 {
			s.mark(float64(e), size(e))
		}
	}
}

// even ends the axis at multiples of a step of 1, 2 or 5 times a power of ten.
func (s *span) even(low, high float64) {
	if low == high {
		high = low + 1
	}
	most := float64(s.most)
	e := math.Floor(math.Log10((high - low) / most))
	step := 0.0
	for _, m := range []float64{1, 2, 5, 10, 20} {
		step = m * math.Pow(10, e)
		if math.Ceil(high/step-slack)-math.Floor(low/step+slack) <= most {
			break
		}
	}
	first, last := math.Floor(low/step+slack), math.Ceil(high/step-slack)
	s.low, s.high = first*step, last*step
	for i := first; i <= last; i++ {
		s.mark(i*step, short(i*step, step))
	}
}

// timeSteps are the distances of ticks between a second and a day.
var timeSteps = []time.Duration{
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour,
}

// timesRoom is how many letters of labels of times fit next to each other.
const timesRoom = 42

// fits reports whether the labels of a length of time, within a day or not, fit with a tick every step.
func fits(length, step time.Duration, day bool) bool {
	return length/step < time.Duration(timesRoom/(len(timeFormat(step, day))+1))
}

// times ends the axis at the values. Ticks are round times of the zone, by the calendar that
// windows follow.
func (s *span) times(low, high float64, zone *time.Location) {
	if high-low < 1e6 { // a float64 holds no more than half a microsecond of our century
		low, high = low-5e8, high+5e8
	}
	s.low, s.high = low, high
	length := time.Duration(high - low)
	day := time.Unix(0, int64(low)).In(zone).YearDay() == time.Unix(0, int64(high)).In(zone).YearDay() && length < 24*time.Hour
	step := timeStep(length, day)
	format := timeFormat(step, day)
	rounds := calendar.Calendar{Every: step, Location: zone}
	at, next := rounds.Window(int64(low))
	if float64(at) < low {
		at = next
	}
	for ; float64(at) <= high; _, at = rounds.Window(at) {
		s.mark(float64(at), time.Unix(0, at).In(zone).Format(format))
	}
	s.clockChanges(low, high, zone)
	if len(s.ticks) < 2 { // the axis is shorter than two steps
		s.ticks = nil
		for _, at := range []float64{low, high} {
			s.mark(at, time.Unix(0, int64(at)).In(zone).Format(timeFormat(length/1000, day)))
		}
	}
}

// mostChanges are how many changes of the clocks are marked. On an axis of years with more of
// them an hour is invisible.
const mostChanges = 2

// clockChanges marks where the zone's clocks were changed, with the names of the zone before and
// after: the first for labels to the left, the second for labels to the right.
func (s *span) clockChanges(low, high float64, zone *time.Location) {
	t := time.Unix(0, int64(low)).In(zone)
	for {
		_, end := t.ZoneBounds()
		if end.IsZero() || float64(end.UnixNano()) > high || !end.After(t) {
			return
		}
		before, was := end.Add(-1).Zone()
		after, is := end.Zone()
		switch {
		case was == is:
		case len(s.changes) == mostChanges:
			s.changes = nil
			return
		default:
			s.changes = append(s.changes, tick{s.place(float64(end.UnixNano())), before + " → " + after})
		}
		t = end
	}
}

// timeStep returns the distance of the ticks of a length of time, within a day or not.
func timeStep(length time.Duration, day bool) time.Duration {
	for unit := time.Duration(1000); unit < time.Second; unit *= 10 {
		for _, m := range []time.Duration{1, 2, 5} {
			if fits(length, m*unit, day) {
				return m * unit
			}
		}
	}
	for _, step := range timeSteps {
		if fits(length, step, day) {
			return step
		}
	}
	step := 24 * time.Hour
	for !fits(length, step, day) {
		step *= 2
	}
	return step
}

// timeFormat returns how ticks with the distance are written: within a day without the date.
func timeFormat(step time.Duration, day bool) string {
	switch {
	case step >= 24*time.Hour:
		return "2006-01-02"
	case step >= time.Hour && !day:
		return "Jan 2 15:04"
	case step >= time.Minute:
		return "15:04"
	case step >= time.Second:
		return "15:04:05"
	case step >= time.Millisecond:
		return "15:04:05.000"
	}
	return "15:04:05.000000"
}

// exponents rounds two logarithms outwards to whole numbers, at least one apart.
func exponents(low, high float64) (first, last int) {
	first, last = int(math.Floor(low+slack)), int(math.Ceil(high-slack))
	if first == last {
		last++
	}
	return first, last
}

// decimal formats m times ten to the e, for m below 10: 0.001, 1e-5, 200, 2e6.
func decimal(m, e int) string {
	switch {
	case e < -4 || e > 5:
		return fmt.Sprintf("%de%d", m, e)
	case e < 0:
		return "0." + strings.Repeat("0", -e-1) + strconv.Itoa(m)
	}
	return strconv.Itoa(m) + strings.Repeat("0", e)
}

// delay formats m times ten to the e nanoseconds, for m below 10: 1 µs, 20 ms.
func delay(m, e int) string {
	units := [...]string{"ns", "µs", "ms", "s"}
	if e < 0 {
		return decimal(m, e) + " ns"
	}
	unit := min(e/3, len(units)-1)
	return decimal(m, e-3*unit) + " " + units[unit]
}

// short formats a multiple of a step: 1500, 20k, 1.5M.
func short(v, step float64) string {
	if v == 0 {
		return "0"
	}
	for _, unit := range []struct {
		value float64
		name  string
	}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if math.Abs(v) >= unit.value*(1-slack) && math.Abs(v) < 1000*unit.value && math.Abs(v) >= 10000*(1-slack) {
			return strconv.FormatFloat(v/unit.value, 'f', decimals(step/unit.value), 64) + unit.name
		}
	}
	if math.Abs(v) >= 1e6 || step < 1e-4 {
		return strconv.FormatFloat(v, 'g', 6, 64)
	}
	return strconv.FormatFloat(v, 'f', decimals(step), 64)
}

// decimals returns how many digits behind the point multiples of a step need.
func decimals(step float64) int {
	return max(0, -int(math.Floor(math.Log10(step)+slack)))
}

// size formats two to the e bytes.
func size(e int) string {
	units := [...]string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	if e < 0 || e >= 10*len(units) {
		return fmt.Sprintf("2^%d B", e)
	}
	return fmt.Sprintf("%d %s", 1<<(e%10), units[e/10])
}
