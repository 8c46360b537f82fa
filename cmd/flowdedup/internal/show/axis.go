package show

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Scale is how an axis spreads its values. Both scales leave out values that are not
// above 0.
type Scale int

const (
	Log   Scale = iota // by decades
	Sizes              // by powers of two, written as sizes in bytes
)

// Axis is one axis of a chart.
type Axis struct {
	Label string // what the axis shows, with the unit
	Scale Scale
}

const (
	// Ticks beyond mostTicks crowd the axis.
	mostTicks = 9
	// largest keeps sums and the next power of ten finite.
	largest = 1e300
	// The logarithm of a power may differ from a whole number in its last bits. Without
	// slack it would be rounded to the next one.
	slack = 1e-9
)

// takes reports whether the axis has a place for v.
func (a Axis) takes(v float64) bool { return v >= 1/largest && v <= largest }

// A tick is a labeled position of an axis, from 0 at its start to 1 at its end.
type tick struct {
	at    float64
	label string
}

// A span is the part of an axis that a chart shows, from exponent low to exponent high.
type span struct {
	scale     Scale
	low, high float64
	ticks     []tick
}

// span fits the axis around values from low to high.
func (a Axis) span(low, high float64) span {
	s := span{scale: a.Scale}
	if a.Scale == Log {
		s.decades(low, high)
	} else {
		s.powers(low, high)
	}
	return s
}

// at returns the position of v: 0 at the start of the axis, 1 at its end.
func (s *span) at(v float64) float64 {
	exponent := math.Log2(v)
	if s.scale == Log {
		exponent = math.Log10(v)
	}
	return (exponent - s.low) / (s.high - s.low)
}

// mark adds a tick at an exponent.
func (s *span) mark(exponent float64, label string) {
	s.ticks = append(s.ticks, tick{(exponent - s.low) / (s.high - s.low), label})
}

// decades ends the axis at powers of ten. If there are few decades, 2 and 5 get ticks
// too.
func (s *span) decades(low, high float64) {
	first, last := exponents(math.Log10(low), math.Log10(high))
	s.low, s.high = float64(first), float64(last)
	stride := (last-first)/mostTicks + 1
	for e := first; e <= last; e++ {
		if e%stride != 0 {
			continue
		}
		s.mark(float64(e), decimal(1, e))
		if last-first > 2 || e == last {
			continue
		}
		s.mark(float64(e)+math.Log10(2), decimal(2, e))
		s.mark(float64(e)+math.Log10(5), decimal(5, e))
	}
}

// powers ends the axis at powers of two.
func (s *span) powers(low, high float64) {
	first, last := exponents(math.Log2(low), math.Log2(high))
	s.low, s.high = float64(first), float64(last)
	stride := 1
	for (last-first)/stride >= mostTicks {
		stride *= 2
	}
	for e := first; e <= last; e++ {
		if e%stride == 0 {
			s.mark(float64(e), size(e))
		}
	}
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

// size formats two to the e bytes.
func size(e int) string {
	units := [...]string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	if e < 0 || e >= 10*len(units) {
		return fmt.Sprintf("2^%d B", e)
	}
	return fmt.Sprintf("%d %s", 1<<(e%10), units[e/10])
}
