// SPDX-License-Identifier: Apache-2.0

package chain

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/flowdedup/flowdedup/engine/hubclient"
)

// ErrShape is wrapped by the errors of Shape.Check.
var ErrShape = errors.New("impossible filter")

// The words of a Shape.
const (
	Horizontal = "horizontal" // an element's bits lie in one slice
	Vertical   = "vertical"   // in any
	HV         = "hv"         // horizontal slices, each cut vertically
	VH         = "vh"         // vertical slices, each cut horizontally

	Bloom  = "bloom"  // bits, never cleared
	Timers = "timers" // a window of time
	Events = "events" // a window of the last deliveries

	TestAndSet       = "test-and-set"
	FirstTestThenSet = "first-test-then-set"

	ByDensity     = "density"     // the share of bits that are set
	ByCardinality = "cardinality" // the bits that elements have set, counted for each element
)

// Layouts, Filters, Primitives and Growths are all words of each kind.
var (
	Layouts    = []string{Horizontal, Vertical, HV, VH}
	Filters    = []string{Bloom, Timers, Events}
	Primitives = []string{TestAndSet, FirstTestThenSet}
	Growths    = []string{ByDensity, ByCardinality}
)

// Limits of a Shape.
const (
	MaxSlices = 1000
	MaxHashes = 32

	leastBytes = 8 // of a slice
	maxBytes   = 1 << 40
	maxEvents  = 1 << 30
	maxFilters = 64 // of a slice
)

// Shape says which filter slices are parts of. All hubs of a filter have the same. The zero
// value stands for rows of whole digests, which package slice has.
type Shape struct {
	Layout string `json:"layout"`
	// H and V are the numbers of horizontal and vertical slices. With HV and VH each of one
	// kind is cut into as many as the other number says.
	H      int    `json:"h"`
	V      int    `json:"v"`
	Filter string `json:"filter"`
	Hashes int    `json:"hashes"` // k
	Bytes  int    `json:"bytes"`  // of all slices together
	// Primitive is TestAndSet or FirstTestThenSet.
	Primitive string `json:"primitive"`
	// Equal is k' of the equal timers heuristic: the number of an element's timers that
	// have to be equal. 0 requires none.
	Equal int `json:"equal"`
	// AtLeast is x of the fault tolerance heuristic: an element is a duplicate if at
	// least x of its k answers come, and all of them say so. With 0 an element without
	// any answer is a duplicate (closed), with k an element that lacks an answer is new (open).
	AtLeast int `json:"at_least"`
	// Deliveries is the window of Events: how many new elements of a chain it counts.
	Deliveries int `json:"deliveries,omitempty"`
	// WindowUS is the window of Timers, in microseconds.
	WindowUS int64 `json:"window_us,omitempty"`
	// Grow says when a slice of Bloom or Timers that is full takes one more filter of its size:
	// ByDensity or ByCardinality, or never if it is empty. A filter is full when its false positive
	// rate is FPR, if all slices are like it. All filters of all slices together have Limit bytes
	// at most.
	Grow  string  `json:"grow,omitempty"`
	FPR   float64 `json:"grow_fpr,omitempty"`
	Limit int     `json:"limit_bytes,omitempty"`
}

// Rows reports whether it is the zero value.
func (s Shape) Rows() bool { return s == Shape{} }

// Check returns an error for an impossible shape. Errors wrap ErrShape.
func (s Shape) Check() error {
	one := s.H == 1 && s.Layout == Vertical || s.V == 1 && s.Layout == Horizontal
	switch {
	case !slices.Contains(Layouts, s.Layout) || !slices.Contains(Filters, s.Filter) || !slices.Contains(Primitives, s.Primitive):
		return fmt.Errorf("%w: layout %q, filter %q, primitive %q", ErrShape, s.Layout, s.Filter, s.Primitive)
	case s.H < 1 || s.V < 1 || s.H > MaxSlices || s.V > MaxSlices/s.H || !one && (s.Layout == Vertical || s.Layout == Horizontal):
		return fmt.Errorf("%w: %d by %d slices, want 1 to %d in all", ErrShape, s.H, s.V, MaxSlices)
	case s.Hashes < 1 || s.Hashes > MaxHashes:
		return fmt.Errorf("%w: %d hash functions, want 1 to %d", ErrShape, s.Hashes, MaxHashes)
	case s.Bytes < leastBytes*s.Slices() || s.Bytes > min(maxBytes, math.MaxInt):
		return fmt.Errorf("%w: %d bytes, want %d for each slice", ErrShape, s.Bytes, leastBytes)
	case s.Equal < 0 || s.Equal > s.Hashes || s.Equal > 0 && s.Filter == Bloom:
		return fmt.Errorf("%w: %d equal timers of %d", ErrShape, s.Equal, s.Hashes)
	case s.AtLeast < 0 || s.AtLeast > s.Hashes:
		return fmt.Errorf("%w: %d answers of %d", ErrShape, s.AtLeast, s.Hashes)
	case s.Filter == Events && (s.Deliveries < 1 || s.Deliveries > maxEvents):
		return fmt.Errorf("%w: a window of %d events, want 1 to %d", ErrShape, s.Deliveries, maxEvents)
	case s.Filter == Events && s.Size()*s.Links() < s.Hashes*s.Deliveries:
		return fmt.Errorf("%w: %d timers of a chain for %d events: they could all run, and no event would be new again", ErrShape, s.Size()*s.Links(), s.Deliveries)
	case s.Filter == Timers && (s.WindowUS < 1 || s.WindowUS > (24*time.Hour).Microseconds()):
		return fmt.Errorf("%w: a window of %d us, want 1 to a day", ErrShape, s.WindowUS)
	case s.Filter != Bloom && s.Primitive == TestAndSet && s.Links() > 1:
		return fmt.Errorf("%w: timers of several slices are set when all have been tested: %s", ErrShape, FirstTestThenSet)
	}
	return s.checkGrowth()
}

// checkGrowth is Check for filters of dynamic size.
func (s Shape) checkGrowth() error {
	switch {
	case s.Grow == "" && s.FPR == 0 && s.Limit == 0:
		return nil
	case !slices.Contains(Growths, s.Grow) || s.Filter == Events:
		return fmt.Errorf("%w: growth %q of filter %q", ErrShape, s.Grow, s.Filter)
	case !(s.FPR > 0 && s.FPR < 1) || s.capacity() < 1:
		return fmt.Errorf("%w: slices that grow at a rate of %g of false positives", ErrShape, s.FPR)
	case s.Limit < s.Bytes || s.Limit > min(maxBytes, math.MaxInt) || s.Limit/s.Bytes > maxFilters:
		return fmt.Errorf("%w: growth from %d to %d bytes, want up to %d times as many", ErrShape, s.Bytes, s.Limit, maxFilters)
	}
	return nil
}

// capacity returns the number of positions at which a filter of a slice is full: by density the
// bits or timers that are set, else what its elements have set, counted for each element.
func (s Shape) capacity() uint64 {
	density := math.Pow(s.FPR, 1/float64(s.Hashes))
	if s.Grow == ByDensity {
		return uint64(math.Ceil(float64(s.Size()) * density))
	}
	elements := -float64(s.Size()) / float64(s.Hashes) * math.Log1p(-density)
	return uint64(s.Hashes) * uint64(elements)
}

// filters returns the largest number of filters of a slice.
func (s Shape) filters() int {
	if s.Grow == "" {
		return 1
	}
	return s.Limit / s.Bytes
}

// Slices returns the number of all slices.
func (s Shape) Slices() int { return s.H * s.V }

// Chains returns the number of chains. A digest chooses one of them.
func (s Shape) Chains() int {
	if s.Layout == Vertical || s.Layout == VH {
		return 1
	}
	return s.H
}

// Links returns how many slices a chain has.
func (s Shape) Links() int { return s.Slices() / s.Chains() }

// Number returns the slice that is a link of a chain. Numbers 0 to Chains-1 are the first
// links, which sites send to.
func (s Shape) Number(chain, link int) int { return link*s.Chains() + chain }

// Place returns the chain of a slice and its link in the chain.
func (s Shape) Place(number int) (chain, link int) { return number % s.Chains(), number / s.Chains() }

// timerBytes is the size of a timer.
const timerBytes = 4

// Size returns how many bits or timers a slice has.
func (s Shape) Size() int {
	if s.Filter == Bloom {
		return int(uint64(s.Bytes) * 8 / uint64(s.Slices()))
	}
	return s.Bytes / timerBytes / s.Slices()
}

// windowUnits is how many units of time a window has at most: a finer unit would cost nothing
// in a filter, but wear out its timers sooner.
const windowUnits = 1024

// Unit returns the unit of time in hubclient.DeltaUnit, at least 1: so that a window has no more
// than windowUnits of them.
func (s Shape) Unit() uint64 {
	return max(1, uint64(s.WindowUS)/(windowUnits*hubclient.DeltaUnit))
}

// Window returns the window in units: of time, or of deliveries. An element counts as seen
// while fewer have passed. It is 0 without a window.
func (s Shape) Window() uint64 {
	switch s.Filter {
	case Timers:
		unit := s.Unit() * hubclient.DeltaUnit
		return (uint64(s.WindowUS)+unit-1)/unit + 1 // an element's unit is not a whole unit
	case Events:
		return uint64(s.Deliveries) + 1 // the delivery of the element itself included
	}
	return 0
}

// String describes the shape in a few words.
func (s Shape) String() string {
	if s.Rows() {
		return "rows"
	}
	text := s.Layout + " " + strconv.Itoa(s.H*s.V)
	if s.Layout == HV || s.Layout == VH {
		text = fmt.Sprintf("%s %d,%d", s.Layout, s.H, s.V)
	}
	text = fmt.Sprintf("%s, %s, %d hash functions, %s", text, s.Filter, s.Hashes, s.Primitive)
	if s.Grow != "" {
		text += ", grows by " + s.Grow
	}
	return text
}
