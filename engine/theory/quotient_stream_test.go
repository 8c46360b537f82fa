package theory

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// variantSim runs a quotient hash table over a uniform stream and returns its errors
// and what they are errors of.
func variantSim(q Quotient, variant QuotientVariant, s UniformStream, seed uint64) (falsePositives, fresh, falseNegatives, duplicates int) {
	r := rand.New(rand.NewPCG(seed, uint64(variant)))
	row, fingerprint := make([]int, s.Universe), make([]int, s.Universe)
	for i := range row {
		row[i], fingerprint[i] = r.IntN(q.Rows), r.IntN(q.S)
	}
	came, rows := make([]bool, s.Universe), make([][]int, q.Rows)
	for range s.Elements {
		id := r.IntN(s.Universe)
		cells := &rows[row[id]]
		seen := slices.Contains(*cells, fingerprint[id])
		if came[id] {
			duplicates++
			if !seen {
				falseNegatives++
			}
		} else {
			fresh++
			if seen {
				falsePositives++
			}
		}
		came[id] = true
		switch {
		case seen && variant == QHT:
		case len(*cells) < q.K:
			*cells = append(*cells, fingerprint[id])
		case variant == QQHTD:
			*cells = append(slices.Delete(*cells, 0, 1), fingerprint[id])
		default:
			(*cells)[r.IntN(q.K)] = fingerprint[id]
		}
	}
	return falsePositives, fresh, falseNegatives, duplicates
}

// Streams that end long before, at and after saturation, three runs each. The universe
// has 20 elements and more for each row, and fewer where K is 1.
func TestStreamRatesAgainstSimulation(t *testing.T) {
	for _, c := range []struct {
		q      Quotient
		stream UniformStream
	}{
		{Quotient{8000, 1, 3}, UniformStream{40_000, 1 << 19}},
		{Quotient{8000, 1, 3}, UniformStream{4000, 1 << 17}},
		{Quotient{3000, 4, 15}, UniformStream{40_000, 1 << 19}},
		{Quotient{3000, 4, 15}, UniformStream{8000, 1 << 17}},
		{Quotient{1000, 16, 63}, UniformStream{40_000, 1 << 19}},
		{Quotient{1000, 4, 15}, UniformStream{200_000, 1 << 15}},
		{Quotient{200, 8, 255}, UniformStream{50_000, 1 << 14}},
		{Quotient{2000, 3, 3}, UniformStream{100_000, 1 << 16}},
		{Quotient{8000, 1, 7}, UniformStream{200_000, 40_000}},
		{Quotient{8000, 1, 7}, UniformStream{100_000, 8000}},
	} {
		for variant := QHT; variant <= QQHTD; variant++ {
			fpr, fnr, err := c.q.StreamRates(variant, c.stream)
			if err != nil {
				t.Fatal(err)
			}
			var fp, fresh, fn, duplicates int
			for seed := range uint64(3) {
				a, b, d, e := variantSim(c.q, variant, c.stream, seed)
				fp, fresh, fn, duplicates = fp+a, fresh+b, fn+d, duplicates+e
			}
			name := fmt.Sprintf("variant %d, %+v, %+v", variant, c.q, c.stream)
			plausible(t, name+": FPR", fp, fresh, fpr, .03)
			plausible(t, name+": FNR", fn, duplicates, fnr, .03)
		}
	}
}

// Long streams have the limits of the closed forms, and the first elements no errors.
func TestStreamRatesLimits(t *testing.T) {
	q := Quotient{100, 4, 15}
	long := UniformStream{Elements: 1 << 30, Universe: 1 << 20}
	_, fnr, err := q.StreamRates(QHT, long)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "FNR of QHT", fnr, value[float64](t)(q.FNR(long.Universe)), 1e-3)
	wantFPR, wantFNR, err := q.SaturatedWithDuplicates()
	if err != nil {
		t.Fatal(err)
	}
	for _, variant := range []QuotientVariant{QHTD, QQHTD} {
		fpr, fnr, err := q.StreamRates(variant, long)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "FPR with duplicates", fpr, wantFPR, 2e-3)
		near(t, "FNR with duplicates", fnr, wantFNR, 2e-3)
	}
	for variant := QHT; variant <= QQHTD; variant++ {
		fpr, fnr, err := Quotient{1 << 30, 4, 15}.StreamRates(variant, UniformStream{1000, 1 << 30})
		if err != nil {
			t.Fatal(err)
		}
		if !(fpr >= 0 && fpr < 1e-6 && fnr >= 0 && fnr < 1e-12) {
			t.Errorf("variant %d: rates %g and %g before any row is full", variant, fpr, fnr)
		}
	}
}

// With one cell all three are the same filter.
func TestStreamRatesOfOneCell(t *testing.T) {
	for _, s := range []UniformStream{{100, 1 << 20}, {1e6, 1 << 22}, {1e8, 1 << 20}} {
		q := Quotient{10_000, 1, 7}
		fpr, fnr, err := q.StreamRates(QHT, s)
		if err != nil {
			t.Fatal(err)
		}
		for _, variant := range []QuotientVariant{QHTD, QQHTD} {
			otherFPR, otherFNR, err := q.StreamRates(variant, s)
			if err != nil {
				t.Fatal(err)
			}
			near(t, fmt.Sprintf("%+v: FPR of variant %d", s, variant), otherFPR, fpr, .011)
			near(t, fmt.Sprintf("%+v: FNR of variant %d", s, variant), otherFNR, fnr, .011)
		}
	}
}

// GLN19, Table 4: 150e6 elements from 2^24 and 2^27, 3 bits, one cell.
func TestStreamRatesMatchThePaper(t *testing.T) {
	for _, c := range []struct {
		bits, universe int
		fpr, fnr       float64
	}{
		{8e6, 1 << 24, .1202, .7074}, {1e6, 1 << 24, .1400, .8380}, {1e5, 1 << 24, .1426, .8553},
		{8e6, 1 << 27, .1386, .8152}, {1e6, 1 << 27, .1424, .8518}, {1e4, 1 << 27, .1428, .8572},
	} {
		q, s := Quotient{c.bits / 3, 1, 7}, UniformStream{150e6, c.universe}
		fpr, fnr, err := q.StreamRates(QHT, s)
		if err != nil {
			t.Fatal(err)
		}
		near(t, fmt.Sprintf("FPR at %d bits", c.bits), fpr, c.fpr, .002)
		near(t, fmt.Sprintf("FNR at %d bits", c.bits), fnr, c.fnr, .001)
		share := value[float64](t)(s.Duplicates()) / 150e6
		near(t, "share of duplicates", share, map[int]float64{1 << 24: .8882, 1 << 27: .3979}[c.universe], .0002)
	}
}

// Two elements of a filter are compared for all values of r bits.
func TestSQFMatch(t *testing.T) {
	for r := 0; r <= 6; r++ {
		for rPrime := 0; rPrime <= r; rPrime++ {
			counts := map[[2]int]int{}
			for x := range 1 << r {
				weight := 0
				for bit := range r {
					weight += x >> bit & 1
				}
				counts[[2]int{x & (1<<rPrime - 1), weight}]++
			}
			want := 0.0
			for _, n := range counts {
				want += math.Pow(float64(n)/math.Exp2(float64(r)), 2)
			}
			near(t, fmt.Sprintf("match for r=%d, r'=%d", r, rPrime), value[float64](t)(SQFMatch(r, rPrime)), want, 1e-12)
			if s := value[int](t)(SQFFingerprints(r, rPrime)); s != len(counts) {
				t.Errorf("r=%d, r'=%d: %d fingerprints, want %d", r, rPrime, s, len(counts))
			}
		}
	}
}

// At the ends of the domain rates are shares of 1, and never NaN.
func TestStreamRatesAreShares(t *testing.T) {
	for _, rows := range []int{1, 7, 1 << 30} {
		for _, size := range [][2]int{{1, 2}, {2, 2}, {1, 1 << 30}, {12, 12}, {12, 1 << 16}} {
			for _, s := range []UniformStream{{2, 2}, {2, 1 << 30}, {1 << 30, 2}, {1 << 30, 1 << 30}, {1 << 30, 1000}} {
				for variant := QHT; variant <= QQHTD; variant++ {
					fpr, fnr, err := Quotient{rows, size[0], size[1]}.StreamRates(variant, s)
					if err != nil || !(fpr >= 0 && fpr <= 1 && fnr >= 0 && fnr <= 1) {
						t.Errorf("%d rows, K and S %d, %+v, variant %d: %v and %v, %v", rows, size, s, variant, fpr, fnr, err)
					}
				}
			}
		}
	}
}

func TestStreamRatesDomain(t *testing.T) {
	good, stream := Quotient{9, 1, 3}, UniformStream{9, 9}
	err2 := func(_ any, err error) error { return err }
	err3 := func(_, _ float64, err error) error { return err }
	for name, err := range map[string]error{
		"variant":         err3(good.StreamRates(3, stream)),
		"negative":        err3(good.StreamRates(-1, stream)),
		"elements":        err3(good.StreamRates(QHT, UniformStream{1, 9})),
		"universe":        err3(good.StreamRates(QHT, UniformStream{9, 1})),
		"K above S":       err3(Quotient{9, 4, 3}.StreamRates(QHT, stream)),
		"K of QHTD":       err3(Quotient{9, 0, 3}.StreamRates(QHTD, stream)),
		"large K":         err3(Quotient{9, 1<<16 + 1, 3}.StreamRates(QQHTD, stream)),
		"rows":            err3(Quotient{0, 1, 3}.StreamRates(QQHTD, stream)),
		"duplicates":      err2(UniformStream{}.Duplicates()),
		"SQFMatch":        err2(SQFMatch(2, 3)),
		"SQFMatch r":      err2(SQFMatch(31, 3)),
		"SQFFingerprints": err2(SQFFingerprints(31, 31)),
	} {
		if !errors.Is(err, ErrDomain) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if _, _, err := (Quotient{9, 5, 3}).StreamRates(QHTD, stream); err != nil {
		t.Errorf("rows of more cells than fingerprints: %v", err)
	}
}
