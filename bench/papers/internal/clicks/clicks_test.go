// SPDX-License-Identifier: Apache-2.0

package clicks

import (
	"math"
	"testing"

	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
)

// requireNear requires a measured rate to be within 6 standard deviations of independent
// errors (once in 5e8 runs) and 2 %, for fillings that errors share.
func requireNear(t *testing.T, name string, c stream.Score, want float64) {
	t.Helper()
	allowed := 6*math.Sqrt(want*(1-want)/float64(c.Distinct)) + .02*want
	if got := rateOf(c); !(math.Abs(got-want) <= allowed) { // NaN is not measured
		t.Errorf("%s is %g, want %g within %g", name, got, want, allowed)
	}
}

func TestLandmarkMeasures(t *testing.T) {
	s := landmarkSetup{window: 10_000, errors: 500, mostRuns: 20}
	for _, d := range []int{1, 4, 6} {
		for _, partitioned := range []bool{false, true} {
			requireNear(t, "landmark rate", s.measure(d, partitioned), bounds[d-1]/landmarkRatios()[d-1])
		}
	}
	if c := s.measure(16, false); c.Distinct != 0 {
		t.Errorf("d = 16 is measured: %+v", c)
	}
}

func TestJumpingMeasures(t *testing.T) {
	s := jumpingSetup{subWindow: 3_000, subWindows: 4, windows: 8, errors: 500, mostRuns: 10}
	for _, d := range []int{1, 4, 6} {
		fromEmpty, steady := s.measure(d)
		requireNear(t, "rate from empty", fromEmpty, s.closed(d).RateFromEmpty(s.windows))
		requireNear(t, "steady rate", steady, s.closed(d).SteadyRate())
	}
}

func TestFullRate(t *testing.T) {
	// 0.046 % of 400,000 are 184 errors: 7 % is a standard deviation.
	for bits, c := range map[float64][2]float64{9.6: {.01, .1}, 16: {.00046, .4}} {
		if got := fullRate(bits, 10_000, 400_000, 0); math.Abs(got/c[0]-1) > c[1] {
			t.Errorf("%g bits: %v, %v printed", bits, got, c[0])
		}
	}
}

// TestMeanLargest compares with all ways to put d balls into n boxes.
func TestMeanLargest(t *testing.T) {
	for _, c := range [][2]int{{1, 1}, {2, 2}, {4, 3}, {5, 4}, {3, 9}} {
		d, n, ways := c[0], c[1], int(math.Pow(float64(c[1]), float64(c[0])))
		sum := 0
		for way := range ways {
			counts, largest := make([]int, n), 0
			for range d {
				counts[way%n]++
				largest = max(largest, counts[way%n])
				way /= n
			}
			sum += largest
		}
		if got, want := meanLargest(d, n), float64(sum)/float64(ways); math.Abs(got-want) > 1e-9 {
			t.Errorf("%d balls in %d boxes: %g, want %g", d, n, got, want)
		}
	}
}
