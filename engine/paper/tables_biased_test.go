package paper

import (
	"math"
	"testing"
)

const (
	// paperRecords is the stream length of Tables 4 to 6.
	paperRecords = 695_000_000
	// testRecords replaces it; memory shrinks alike, which keeps every rate.
	testRecords = 1_000_000
	megabyte    = 8 << 20 // in bits
)

// tableCell is one memory size of Table 4 or 5: for each method its false
// positive and false negative rate in percent.
type tableCell struct {
	name     string
	distinct int // of testRecords
	bits     int
	rates    map[string][2]float64
}

func biasedTableCells() []tableCell {
	scaled := func(megabytes int) int { return int(int64(megabytes) * megabyte * testRecords / paperRecords) }
	return []tableCell{
		{"15% 64MB", testRecords * 15 / 100, scaled(64), map[string][2]float64{
			"SBF": {1.9319, 53.2681}, "RSBF": {2.6276, 35.9014}, "BSBF": {3.2569, 8.7547},
			"BSBFSD": {3.5475, 3.3299}, "RLBSBF": {3.7064, 1.3453}}},
		{"60% 64MB", testRecords * 60 / 100, scaled(64), map[string][2]float64{
			"SBF": {6.7672, 70.832}, "RSBF": {12.2408, 52.8855}, "BSBF": {16.0723, 39.9809},
			"BSBFSD": {22.4491, 19.9394}, "RLBSBF": {22.7214, 20.2164}}},
		{"15% 512MB", testRecords * 15 / 100, scaled(512), map[string][2]float64{
			"RSBF": {0.0719, 7.3674}, "BSBF": {0.0747, 0.8794}, "BSBFSD": {0.0753, 0.4267}, "RLBSBF": {0.0759, 0.0262}}},
		{"60% 512MB", testRecords * 60 / 100, scaled(512), map[string][2]float64{
			"RSBF": {0.9189, 15.2035}, "BSBF": {0.9779, 9.8819}, "BSBFSD": {1.0331, 4.9892}, "RLBSBF": {1.0775, 1.0236}}},
	}
}

// buildNamed returns a filter as the tables have it.
func buildNamed(name string, bits int) (Filter, error) {
	c := BiasedConfig{Bits: bits, K: 2, Seed: 7}
	switch name {
	case "RSBF":
		return NewRSBF(c, 0.03)
	case "BSBF":
		return NewBSBF(c)
	case "BSBFSD":
		return NewBSBFSD(c)
	case "RLBSBF":
		return NewRLBSBF(c)
	}
	return NewStable(StableConfig{Cells: bits, CellBits: 1, K: 2, P: 4, Seed: 7})
}

// TestBiasedTables compares with Tables 4 and 5. A count of errors passes within
// 3 % of the rate, or, where errors are too few for that, within the
// exact binomial bounds of that rate at 1e-6 on each side. Seeds are fixed.
//
// The tables' SBF at 512 MB is left out: see [TestStableMisses].
func TestBiasedTables(t *testing.T) {
	for _, cell := range biasedTableCells() {
		t.Run(cell.name, func(t *testing.T) {
			t.Parallel()
			ids := biasedStream(testRecords, cell.distinct, 1)
			for name, rates := range cell.rates {
				f, err := buildNamed(name, cell.bits)
				if err != nil {
					t.Fatal(err)
				}
				c := countErrors(f, ids, cell.distinct)
				requireRate(t, name+" false positives", c.falsePositives, c.distinct, rates[0]/100)
				requireRate(t, name+" false negatives", c.falseNegatives, c.duplicates, rates[1]/100)
			}
		})
	}
}

func requireRate(t *testing.T, what string, count, of int, want float64) {
	t.Helper()
	got := float64(count) / float64(of)
	low, high := binomialInterval(of, want, 1e-6)
	t.Logf("%s: %.4f %%, want %.4f %% (%+.2f %%)", what, 100*got, 100*want, 100*(got/want-1))
	if math.Abs(got/want-1) > 0.03 && (count < low || count > high) {
		t.Errorf("%s: %d of %d, want %d to %d", what, count, of, low, high)
	}
}

// TestStableMisses holds the SBF at 512 MB against [stableMissRate] instead of the
// table, whose rates (12.94 % and 24.29 % missed) need decrements that never
// reach the upper half of the 2^32 cells: positions of 31 bits. At 64 MB, where
// these reach all cells, the formula gives the printed rates.
func TestStableMisses(t *testing.T) {
	for _, cell := range biasedTableCells() {
		t.Run(cell.name, func(t *testing.T) {
			t.Parallel()
			want := stableMissRate(cell.bits, testRecords, cell.distinct)
			if printed, ok := cell.rates["SBF"]; ok {
				if math.Abs(100*want/printed[1]-1) > 0.0005 {
					t.Errorf("closed form %.4f %%, printed %.4f %%", 100*want, printed[1])
				}
				return
			}
			f, err := buildNamed("SBF", cell.bits)
			if err != nil {
				t.Fatal(err)
			}
			c := countErrors(f, biasedStream(testRecords, cell.distinct, 1), cell.distinct)
			requireRate(t, "SBF false negatives", c.falseNegatives, c.duplicates, want)
		})
	}
}

// stableMissRate returns the share of the duplicates of a [biasedStream] that an
// SBF of m bits with K = 2, P = 4 and Max = 1 misses, for large n. Times are
// shares of the stream.
//
// A bit of an element is alive after gap u unless its last decrement came after
// the last setting. Decrements are Poisson with 4n/m a stream. Others set the
// bit in a stretch s unless none of the Poisson(2 distinct/m) elements that share
// the bit has one of its 1 + Poisson(mu) copies there. The gaps of an element
// with c copies are Beta(1,c).
func stableMissRate(m, n, distinct int) float64 {
	const steps = 2000
	decrements := 4 * float64(n) / float64(m)
	sharing := 2 * float64(distinct) / float64(m)
	mu := float64(n-distinct) / float64(distinct)
	missed, gaps, revived := 0.0, 0.0, 0.0
	for i := range steps {
		u := (float64(i) + 0.5) / steps
		unset := math.Exp(-sharing * (1 - (1-u)*math.Exp(-mu*u)))
		share := decrements * math.Exp(-decrements*u) * (1 - unset) / steps
		alive := math.Exp(-decrements*u) + revived + share/2
		revived += share
		// The mean of (c-1) c (1-u)^(c-1) over c = 1 + Poisson(mu), in closed form.
		rest := mu * (1 - u)
		weight := rest * (2 + rest) * math.Exp(-mu*u)
		missed += weight * (1 - alive*alive)
		gaps += weight
	}
	return missed / gaps
}
