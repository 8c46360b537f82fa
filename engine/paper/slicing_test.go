// SPDX-License-Identifier: Apache-2.0

package paper

import (
	"math"
	"testing"
)

// TestVHDicedChoices looks at the parts that an element has bits in. Within a vertical
// slice it is one part. Two slices choose independently: in one of three pairs the numbers
// are equal.
func TestVHDicedChoices(t *testing.T) {
	const vertical, inner, elements = 4, 3, 20_000
	f := must[*Sliced](t)(NewVHDiced(SlicedConfig{Bits: 120_000, K: 6, Slices: vertical}, inner))
	same, pairs := 0.0, 0.0
	for id := range uint64(elements) {
		f.locate(digestOf(id))
		var chosen [vertical]uint64 // part + 1, 0 where the element has no bit
		for _, at := range f.pos {
			slice, part := at/f.size/inner, at/f.size%inner
			if chosen[slice] != 0 && chosen[slice] != part+1 {
				t.Fatalf("element %d has bits in two parts of vertical slice %d", id, slice)
			}
			chosen[slice] = part + 1
		}
		for i, a := range chosen {
			for _, b := range chosen[:i] {
				if a != 0 && b != 0 {
					pairs++
					if a == b {
						same++
					}
				}
			}
		}
	}
	if got, bound := same/pairs, 6*math.Sqrt(2./9/elements); math.Abs(got-1./inner) > bound {
		t.Errorf("%.4f of the pairs have parts of the same number, want 1/%d", got, inner)
	}
}

// TestTimerSlicesSpread looks at the two timers of elements of the same slice. The hash
// that chose the slice says nothing about them: all distances between them occur as
// often.
func TestTimerSlicesSpread(t *testing.T) {
	const timers, slices, elements, ranges = 8000, 8, 40_000, 8
	s := must[*TimerSlices](t)(NewTimerSlices(TimerConfig{Timers: timers, K: 2, Window: 10}, slices))
	var count [slices][ranges]float64
	for id := range uint64(elements) {
		d := digestOf(id)
		i := s.Of(d)
		slice := s.Slice(d)
		slice.locate(d)
		const each = timers / slices
		count[i][(slice.pos[1]+each-slice.pos[0])%each*ranges/each]++
	}
	for i := range count {
		for at, got := range count[i] {
			const want = elements / slices / ranges
			if math.Abs(got-want) > 6*math.Sqrt(want) {
				t.Errorf("slice %d: %.0f elements with timers %d eighths apart, want about %d", i, got, at, want)
			}
		}
	}
}
