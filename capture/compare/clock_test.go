// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// TestHull compares how far pairs lie above lines with all pairs.
func TestHull(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := 1; n < 3000; n = n*3/2 + 1 {
		var d delays
		var all []pair
		now := int64(0)
		for range n {
			now += r.Int64N(1000)
			p := pair{now, r.Int64N(5000) - 2000}
			d.add(p)
			all = append(all, p)
		}
		d.extend()
		d.level = 1 // else the sample has all
		for range 20 {
			l := line{origin: r.Int64N(now + 1), offset: r.Int64N(100), slope: r.Float64()*8 - 4}
			above, below := math.Inf(-1), math.Inf(1)
			for _, p := range all {
				above, below = max(above, l.residual(p)), min(below, l.residual(p))
			}
			each, most := d.spread(&l, all)
			if math.Abs(most-(above-below)) > 1e-6*math.Abs(most) || len(each) != n || slices.Min(each) > 1e-6 {
				t.Fatalf("%d pairs: %v, want %v", n, most, above-below)
			}
		}
	}
	// A parabola has nothing but corners. They stay few, and the answer nearly right.
	var h hull
	for i := range int64(50_000) {
		h.add(pair{i * 1000, -(i - 25_000) * (i - 25_000)})
	}
	if most := h.most(&line{}); len(h.corners) > mostCorners || most < -1e5 || most > 0 {
		t.Errorf("%d corners, the highest at %v", len(h.corners), most)
	}
	var back delays // a sample with all pairs knows times that go back
	back.add(pair{1000, 0}, pair{0, 0})
	if _, most := back.spread(&line{slope: 1}, back.sorted()); most != 1000 {
		t.Errorf("the slowest at %v, want 1000", most)
	}
}

// TestSlope fits lines to pairs of which a third is wrong.
func TestSlope(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{40, 100, 512, 513, 5000} {
		for _, slope := range []float64{0, 20e-6, -150e-6, 0.5} {
			pairs := make([]pair, n)
			for i := range pairs {
				at := int64(i) * 100 * ms
				pairs[i] = pair{at, 777 + int64(slope*float64(at)) + r.Int64N(2001) - 1000}
				if i%3 == 1 {
					pairs[i].delta += r.Int64N(20*ms) - 10*ms
				}
			}
			l := fit(pairs, 0)
			if near := 200e-6 / float64(n); math.Abs(l.slope-slope) > near || calendar.Distance(l.offset, 777) > 3000 {
				t.Errorf("%d pairs of slope %v: %+v", n, slope, l)
			}
		}
	}
	if l := fit([]pair{{5, 10}, {5, 12}, {6, 900}}, 5); l.slope != 0 || l.offset != 12 {
		t.Errorf("%+v", l)
	}
}

// TestTracker follows a drifting clock over a pause.
func TestTracker(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	k := newTracker(line{offset: 1000 * ms})
	const ppm = 80e-6
	now := int64(0)
	truth := func() int64 { return 1000*ms + int64(ppm*float64(now)) }
	for range 3000 {
		for range 20 {
			now += ms
			k.add(pair{now, truth() + r.Int64N(200*us) - 100*us})
		}
		k.update()
	}
	now += 4 * 3600 * 1000 * ms // drifts by more than a second
	if wrong := k.at(now) - truth(); max(wrong, -wrong) > 60*ms {
		t.Errorf("off by %d ms after a pause", wrong/ms)
	}
	if len(k.anchors) > mostAnchors || len(k.recent) > mostRecent {
		t.Errorf("%d anchors, %d recent", len(k.anchors), len(k.recent))
	}
}

// TestSample checks that the sample of delays is bounded, and stands for all.
func TestSample(t *testing.T) {
	var d delays
	const n = 5 * mostPairs
	for i := range int64(n) {
		d.add(pair{i, i})
	}
	var r Report
	d.report(&r)
	if len(d.pairs) > mostPairs || r.Sampled != 8 || math.Abs(float64(len(d.pairs))*8/n-1) > 0.02 {
		t.Errorf("%d pairs, one of %d", len(d.pairs), r.Sampled)
	}
}

// TestMedian compares medians with the middle of sorted values, of which many are equal or in order, too.
func TestMedian(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for n := 1; n < 5000; n = n*5/4 + 1 {
		for name, value := range map[string]func(i int) int64{
			"random": func(int) int64 { return r.Int64() - r.Int64() }, "few": func(int) int64 { return r.Int64N(3) },
			"equal": func(int) int64 { return 7 }, "rising": func(i int) int64 { return int64(i) }, "falling": func(i int) int64 { return -int64(i) },
			"pipes": func(i int) int64 { return int64(min(i, n-i)) }, "alternating": func(i int) int64 { return int64(i%2) * int64(i) },
		} {
			values := make([]int64, n)
			for i := range values {
				values[i] = value(i)
			}
			sorted := slices.Sorted(slices.Values(values))
			if got := medianOf(values); got != sorted[(n-1)/2] {
				t.Fatalf("%s: of %d values %d, want %d", name, n, got, sorted[(n-1)/2])
			}
			slices.Sort(values)
			if !slices.Equal(values, sorted) {
				t.Fatalf("%s: of %d values some were lost", name, n)
			}
		}
	}
}

// TestBursts fits lines to pairs of which most lie in a burst whose delays say nothing of the clocks, and finds
// the offset although a time is wrong by a year.
func TestBursts(t *testing.T) {
	for _, burst := range []int{100, 150, 170, 198} {
		pairs := make([]pair, 200)
		for i := range pairs {
			if pairs[i] = (pair{int64(i), 777 - int64(i)}); i >= burst {
				pairs[i] = pair{3_600_000*ms + int64(i), 777 - int64(i)}
			}
		}
		if l := fit(pairs, 0); math.Abs(l.slope) > 1e-9 {
			t.Errorf("%d of 200 pairs in a burst: a slope of %v", burst, l.slope)
		}
		for i := range pairs {
			pairs[i] = pair{int64(i) * ms, int64(i%4/3) * 1000 * ms}
		}
		pairs[0].time = -365 * 86_400_000 * ms
		if n := len(densest(pairs, 100_000_000)); n != 150 {
			t.Errorf("%d pairs of an offset, want 150", n)
		}
	}
}

// TestCrossPairs checks that digests, which depend on the key, do not decide which pairs are left out.
func TestCrossPairs(t *testing.T) {
	var want []pair
	for key := range uint64(5) {
		var seen []probe
		for d := range uint64(5) {
			for i := range 1000 {
				at := int64(d) + int64(i/2)*10
				seen = append(seen, probe{digest: digest.Digest{(d + key) % 5}, time: at, side: uint8(i % 2)})
			}
		}
		slices.SortStableFunc(seen, func(a, b probe) int {
			return cmp.Or(cmp.Compare(a.digest[0], b.digest[0]), cmp.Compare(a.side, b.side))
		})
		got := crossPairs(seen, mostCross)
		if want == nil {
			want = got
		}
		if len(got) != 1_000_000 || !slices.Equal(got, want) {
			t.Errorf("key %d: other pairs", key)
		}
	}
}
