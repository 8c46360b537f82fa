package sizing

import (
	"math"
	"testing"

	"github.com/flowdedup/flowdedup/engine/theory"
)

// TestDifferent compares D with the mean number of different elements in stretches of a
// stream.
func TestDifferent(t *testing.T) {
	s := newTestStream(200_000, 0.5, 1<<10, 5)
	distinct, gaps := s.load(1 << 12)
	for _, length := range []int{1, 2, 3, 10, 100, 1000, 10_000} {
		sum, stretches := 0.0, 0.0
		for at := 1 << 12; at+length < len(s.gap); at += max(length, 97) {
			for i, g := range s.gap[at : at+length] {
				if g == 0 || g > i {
					sum++
				}
			}
			stretches++
		}
		want := sum / stretches
		if got := distinctAmong(distinct, gaps, float64(length)); math.Abs(got/want-1) > 0.02 {
			t.Errorf("among %d elements: %.4g different, the stream has %.4g", length, got, want)
		}
	}
}

// TestCellAgainstStable compares the model of cells with the closed form of the stable Bloom
// filter for a stream of new elements.
func TestCellAgainstStable(t *testing.T) {
	l := newLoad(1, logGaps(1<<20))
	for _, filter := range []theory.Stable{
		{Cells: 10_000, K: 1, P: 5, Max: 1},
		{Cells: 10_000, K: 3, P: 12, Max: 3},
		{Cells: 1_000_000, K: 6, P: 150, Max: 15},
	} {
		at := ratesOf(l, cell{
			setting:  float64(filter.K) / float64(filter.Cells),
			clearing: float64(filter.P) / float64(filter.Cells), top: filter.Max,
		}, filter.K)
		fps, err := filter.FPS()
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(at.fpr/fps-1) > 0.005 {
			t.Errorf("%+v: FPR %.5g, closed form %.5g", filter, at.fpr, fps)
		}
		m := at.misses()
		for i, b := range l.between {
			if b != math.Floor(b) || b < 300 || b > 1e7 {
				continue // the closed form is for whole numbers, and has discrete steps
			}
			want, err := filter.FNR(int(b))
			if err != nil {
				t.Fatal(err)
			}
			if want > 1e-9 && math.Abs(m[i]/want-1) > 0.02 {
				t.Errorf("%+v: FNR at %g is %.5g, closed form %.5g", filter, b, m[i], want)
			}
		}
	}
}

// TestSettled wants the golden ratio: a BSBF with two arrays settles on a stream of new
// elements where its share x of set bits solves x^2 + x = 1: an insertion sets
// 2(1-x)/(1-x^2) bits on average and clears 2x.
func TestSettled(t *testing.T) {
	l := newLoad(1, logGaps(1<<10))
	const s = 1 << 20
	r := fixedPoint(l, 2, 1.0/s, 1.0/s, func(at rates) float64 { return at.distinctReports(l) / s })
	if want := (math.Sqrt(5) - 1) / 2; math.Abs(r.set-want) > 1e-3 {
		t.Errorf("share of set bits is %.5f, want %.5f", r.set, want)
	}
	full := fixedPoint(l, 1, 1.0/s, 1.0/s, func(at rates) float64 { return at.distinctReports(l) / (2 * s) })
	if full.fpr != 1 || full.set != 1 {
		t.Errorf("a filter that sets more than it clears has FPR %v", full.fpr)
	}
}

// TestClusters compares Panjer's recursion with plain summation for two different
// elements at most.
func TestClusters(t *testing.T) {
	c := clusters{different: 1e-4, again: 0.6}
	for _, k := range []int{1, 2, 5} {
		one := c.different * math.Exp(-c.different) * math.Pow(c.again, float64(k-1))
		if got := c.atLeast(k); math.Abs(got/one-1) > 1e-3 {
			t.Errorf("P(at least %d) is %g, want about %g", k, got, one)
		}
	}
	if got, want := c.anyOf(1), -math.Expm1(-c.different); math.Abs(got/want-1) > 1e-9 {
		t.Errorf("P(any) is %g, want %g", got, want)
	}
}
