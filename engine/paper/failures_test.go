package paper

import (
	"math"
	"testing"

	"github.com/flowdedup/flowdedup/engine/theory"
)

// TestFailuresAgainstClosedForms fills filters of 40 slices with distinct elements, has 8
// slices fail and then gives old elements and new ones. A fifth of all bits is gone, in
// which the binomial bounds are 1e-6 on each side; the FPR comes from the closed form of
// the set bits at half of the new elements.
func TestFailuresAgainstClosedForms(t *testing.T) {
	const m, k, slices, failed, n, probes = 160_000, 8, 40, 8, 16_000, 8_000
	form := theory.Sliced{Bits: m, K: k, Slices: slices}
	for _, k1 := range []int{1, 2, 8} {
		for _, atLeast := range []int{0, 1, 3, 4, 5, 8} {
			f, err := NewSplit(SlicedConfig{Bits: m, K: k, Slices: slices, AtLeast: atLeast}, k1)
			mustSlice(t, f, err)
			for id := range n {
				f.TestAndSet(digestOf(uint64(id)))
			}
			for slice := range failed {
				if err := f.Fail(slice * slices / failed); err != nil {
					t.Fatal(err)
				}
			}
			missed := probes - countSeen(f, 0, probes)
			reported := countSeen(f, n, n+probes)
			p, err := form.SplitFPR(k1, n+probes/2)
			if err != nil {
				t.Fatal(err)
			}
			fpr, fnr, err := form.SplitHybrid(k1, failed, p, atLeast)
			if err != nil {
				t.Fatal(err)
			}
			if low, high := interval(probes, fnr); missed < low || missed > high {
				t.Errorf("k1 = %d, at least %d: %d missed, want %d to %d", k1, atLeast, missed, low, high)
			}
			if low, high := interval(probes, fpr); reported < low || reported > high {
				t.Errorf("k1 = %d, at least %d: %d reported, want %d to %d", k1, atLeast, reported, low, high)
			}
		}
	}
}

// TestDicedFailures compares diced filters with Eq. 7: bits at failed sites taken as
// set. The failed sites are spread evenly over the outer slices.
func TestDicedFailures(t *testing.T) {
	const m, k, failed, n, probes = 160_000, 4, 8, 16_000, 8_000
	for name, c := range map[string]struct {
		slices, inner int
		make          func(SlicedConfig, int) (*Sliced, error)
		rate          func(d theory.Diced, n int) (float64, error)
	}{
		"h-v": {8, 8, NewHVDiced, theory.Diced.HVFPR},
		"v-h": {32, 2, NewVHDiced, theory.Diced.VHFPR},
	} {
		f, err := c.make(SlicedConfig{Bits: m, K: k, Slices: c.slices}, c.inner)
		mustSlice(t, f, err)
		for id := range n {
			f.TestAndSet(digestOf(uint64(id)))
		}
		for i := range failed {
			if err := f.Fail(i*(f.Slices()/failed) + i%c.inner); err != nil {
				t.Fatal(err)
			}
		}
		form := theory.Diced{Bits: m, K: k, Slices: c.slices, Inner: c.inner}
		p, err := c.rate(form, n+probes/2)
		if err != nil {
			t.Fatal(err)
		}
		want, err := form.FailedFPR(failed, p)
		if err != nil {
			t.Fatal(err)
		}
		reported := countSeen(f, n, n+probes)
		if low, high := interval(probes, want); reported < low || reported > high {
			t.Errorf("%s: %d reported, want %d to %d", name, reported, low, high)
		}
	}
}

// interval is that of 1e-6 on each side, of all trials or none if that is certain.
func interval(trials int, p float64) (low, high int) {
	if p == 0 || p == 1 {
		only := int(math.Round(p * float64(trials)))
		return only, only
	}
	return binomialInterval(trials, p, 1e-6)
}

// countSeen gives a filter the ids from first to below end, and counts those reported
// as duplicates.
func countSeen(f Filter, first, end int) int {
	seen := 0
	for id := first; id < end; id++ {
		if f.TestAndSet(digestOf(uint64(id))) {
			seen++
		}
	}
	return seen
}
