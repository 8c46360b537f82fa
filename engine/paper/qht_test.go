package paper

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// Tables 1 and 5, unscaled: 65,536 bits, ten streams of 100,000 elements from an
// alphabet of 2^20. About 46,000 duplicates and 950,000 distinct elements: three
// standard deviations are 2 % of the rates at most (FNR), and the paper's own are
// as large.
func TestQHTTables1And5(t *testing.T) {
	rows := []struct {
		cells, cellBits int
		fpr, fnr        float64 // Table 1
		qht, qqhtd      float64 // Table 5, sums of both rates
	}{
		{cells: 1, cellBits: 2, fpr: 22.57, fnr: 35.89},
		{2, 3, 23.25, 44.24, 67.39, 67.91},
		{4, 4, 23.53, 50.77, 74.48, 74.41},
		{8, 5, 23.62, 54.55, 79.32, 79.19},
		{16, 6, 23.50, 58.73, 82.10, 82.26},
	}
	rates := qhtRun(t, 10, 100_000, 1<<20, func(seed uint64) []Filter {
		var filters []Filter
		for _, r := range rows {
			c := QHTConfig{Bits: 65536, CellBits: r.cellBits, Cells: r.cells, Seed: seed}
			filters = append(filters, qhtMust[*QHT](t)(NewQHT(c)), qhtMust[*QQHTD](t)(NewQQHTD(c)))
		}
		return filters
	})
	for i, r := range rows {
		qht, qqhtd := rates[2*i], rates[2*i+1]
		name := fmt.Sprintf("k=%d s=%d", r.cells, r.cellBits)
		t.Logf("%s: QHT %.2f/%.2f, QQHTD %.2f/%.2f", name, qht.fpr, qht.fnr, qqhtd.fpr, qqhtd.fnr)
		qhtClose(t, name+" QHT FPR", qht.fpr, r.fpr, 0.02)
		qhtClose(t, name+" QHT FNR", qht.fnr, r.fnr, 0.02)
		if r.qht > 0 {
			qhtClose(t, name+" QHT sum", qht.fpr+qht.fnr, r.qht, 0.015)
			qhtClose(t, name+" QQHTD sum", qqhtd.fpr+qqhtd.fnr, r.qqhtd, 0.015)
		}
	}
}

// Table 4, stream, alphabet and memory scaled by 1/64, which keeps the rates. The
// alphabet of 2^24 leaves 262,144 distinct elements: the FPR's standard deviation
// is 0.6 % of it or less, and the FNR's far less.
func TestQHTTable4(t *testing.T) {
	const scaling = 64
	type cell struct {
		method   string
		bits     int
		fpr, fnr float64
	}
	for _, s := range []struct {
		alphabet int
		cells    []cell
	}{
		{1 << 24, []cell{
			{"QHT", 8e6, 12.02, 70.74}, {"QHT", 1e6, 14.00, 83.80}, {"QHT", 1e5, 14.26, 85.53},
			{"SQF", 8e6, 21.87, 64.62}, {"SQF", 1e6, 24.60, 73.67}, {"SQF", 1e5, 24.94, 74.84},
			// The cuckoo filter's rows need a quarter of the memory given.
			{"Cuckoo", 2e6, 27.80, 69.14},
		}},
		{1 << 27, []cell{{"QHT", 8e6, 13.86, 81.52}, {"SQF", 8e6, 24.42, 72.09}, {"Cuckoo", 2e6, 28.39, 70.82}}},
	} {
		rates := qhtRun(t, 1, 150e6/scaling, s.alphabet/scaling, func(seed uint64) []Filter {
			var filters []Filter
			for _, c := range s.cells {
				filters = append(filters, qhtTable4Filter(t, c.method, c.bits/scaling, seed))
			}
			return filters
		})
		for i, c := range s.cells {
			name := fmt.Sprintf("%s, alphabet %d, %d bits", c.method, s.alphabet, c.bits)
			t.Logf("%s: %.2f/%.2f, paper %.2f/%.2f", name, rates[i].fpr, rates[i].fnr, c.fpr, c.fnr)
			qhtClose(t, name+" FPR", rates[i].fpr, c.fpr, 0.02)
			qhtClose(t, name+" FNR", rates[i].fnr, c.fnr, 0.01)
		}
	}
}

func qhtTable4Filter(t *testing.T, method string, bits int, seed uint64) Filter {
	t.Helper()
	switch method {
	case "QHT":
		return qhtMust[*QHT](t)(NewQHT(QHTConfig{Bits: bits, CellBits: 3, Cells: 1, Seed: seed}))
	case "SQF":
		return qhtMust[*SQF](t)(NewSQF(SQFConfig{Bits: bits, Cells: 1, Remainder: 2, Fingerprint: 1, Seed: seed}))
	default:
		return qhtMust[*Cuckoo](t)(NewCuckoo(CuckooConfig{Bits: bits, CellBits: 3, Cells: 1, Kicks: 4, Seed: seed}))
	}
}

func TestQHTImpossibleParameters(t *testing.T) {
	table := func(c QHTConfig) error {
		_, err := NewQHT(c)
		_, errD := NewQHTD(c)
		_, errQ := NewQQHTD(c)
		if (err == nil) != (errD == nil) || (err == nil) != (errQ == nil) {
			t.Errorf("%+v: %v, %v, %v", c, err, errD, errQ)
		}
		return err
	}
	sqf := func(c SQFConfig) error { _, err := NewSQF(c); return err }
	cuckoo := func(c CuckooConfig) error { _, err := NewCuckoo(c); return err }
	bdbf := func(c BDBFConfig) error { _, err := NewBDBF(c); return err }
	a2 := func(bits, k, capacity int) error { _, err := NewA2(bits, k, capacity); return err }
	a2ForRate := func(bits int, target float64) error { _, err := NewA2ForRate(bits, target); return err }
	for _, c := range []struct {
		name string
		err  error
	}{
		{"QHT cells above S", table(QHTConfig{Bits: 100, CellBits: 2, Cells: 4})},
		{"QHT no cells", table(QHTConfig{Bits: 100, CellBits: 2})},
		{"QHT cell width 0", table(QHTConfig{Bits: 100, Cells: 1})},
		{"QHT cell width 17", table(QHTConfig{Bits: 100, CellBits: 17, Cells: 1})},
		{"QHT cell width -1", table(QHTConfig{Bits: 100, CellBits: -1, Cells: 1})},
		{"QHT no row", table(QHTConfig{Bits: 11, CellBits: 4, Cells: 3})},
		{"QHT too large", table(QHTConfig{Bits: math.MaxInt, CellBits: 4, Cells: 3})},
		{"QHT unknown option", table(QHTConfig{Bits: 100, CellBits: 4, Cells: 3, Empty: 3})},
		{"SQF r' = r", sqf(SQFConfig{Bits: 100, Cells: 1, Remainder: 2, Fingerprint: 2})},
		{"SQF r' = 0", sqf(SQFConfig{Bits: 100, Cells: 1, Remainder: 2})},
		{"SQF r = 1", sqf(SQFConfig{Bits: 100, Cells: 1, Remainder: 1, Fingerprint: 1})},
		{"SQF wide cells", sqf(SQFConfig{Bits: 100, Cells: 1, Remainder: 16, Fingerprint: 15})},
		{"SQF cells above S", sqf(SQFConfig{Bits: 100, Cells: 5, Remainder: 2, Fingerprint: 1})},
		{"SQF no row", sqf(SQFConfig{Bits: 2, Cells: 1, Remainder: 2, Fingerprint: 1})},
		{"Cuckoo one row", cuckoo(CuckooConfig{Bits: 5, CellBits: 3, Cells: 1, Kicks: 1})},
		{"Cuckoo cells above S", cuckoo(CuckooConfig{Bits: 100, CellBits: 3, Cells: 8, Kicks: 1})},
		{"Cuckoo 1-bit cells", cuckoo(CuckooConfig{Bits: 100, CellBits: 1, Cells: 1, Kicks: 1})},
		{"Cuckoo no kick", cuckoo(CuckooConfig{Bits: 100, CellBits: 3, Cells: 1})},
		{"A2 one bit", a2(1, 1, 1)},
		{"A2 no hash function", a2(100, 0, 1)},
		{"A2 no capacity", a2(100, 1, 0)},
		{"A2 target 0", a2ForRate(100, 0)},
		{"A2 target 1", a2ForRate(100, 1)},
		{"A2 target NaN", a2ForRate(100, math.NaN())},
		{"A2 negative memory", a2ForRate(-100, 0.1)},
		{"BDBF 1-bit counters", bdbf(BDBFConfig{Bits: 100, CellBits: 1, K: 1, Window: 1})},
		{"BDBF no counter", bdbf(BDBFConfig{Bits: 2, CellBits: 3, K: 1, Window: 1})},
		{"BDBF no hash function", bdbf(BDBFConfig{Bits: 100, CellBits: 3, Window: 1})},
		{"BDBF no window", bdbf(BDBFConfig{Bits: 100, CellBits: 3, K: 1})},
	} {
		if !errors.Is(c.err, ErrParameter) {
			t.Errorf("%s: error %v", c.name, c.err)
		}
	}
}

// The smallest filters work, and account for whole rows, or powers of two of rows if the
// method has those.
func TestQHTBits(t *testing.T) {
	for _, c := range []struct {
		name   string
		filter Filter
		bits   int
	}{
		{"QHT", qhtMust[*QHT](t)(NewQHT(QHTConfig{Bits: 100, CellBits: 4, Cells: 3})), 96},
		{"QHTD", qhtMust[*QHTD](t)(NewQHTD(QHTConfig{Bits: 1, CellBits: 1, Cells: 1})), 1},
		{"QQHTD", qhtMust[*QQHTD](t)(NewQQHTD(QHTConfig{Bits: 17, CellBits: 16, Cells: 1})), 16},
		{"SQF", qhtMust[*SQF](t)(NewSQF(SQFConfig{Bits: 8e6, Cells: 1, Remainder: 2, Fingerprint: 1})), 3 << 21},
		{"SQF of one row", qhtMust[*SQF](t)(NewSQF(SQFConfig{Bits: 5, Cells: 1, Remainder: 2, Fingerprint: 1})), 3},
		{"Cuckoo", qhtMust[*Cuckoo](t)(NewCuckoo(CuckooConfig{Bits: 100, CellBits: 3, Cells: 1, Kicks: 1})), 96},
		{"Cuckoo of two rows", qhtMust[*Cuckoo](t)(NewCuckoo(CuckooConfig{Bits: 4, CellBits: 2, Cells: 1, Kicks: 1})), 4},
		{"A2", qhtMust[*A2](t)(NewA2(3, 1, 1)), 2},
		{"BDBF", qhtMust[*BDBF](t)(NewBDBF(BDBFConfig{Bits: 100, CellBits: 3, K: 1, Window: math.MaxInt})), 99},
	} {
		if got := c.filter.Bits(); got != c.bits {
			t.Errorf("%s: %d bits, want %d", c.name, got, c.bits)
		}
		for id := range uint64(1000) {
			c.filter.TestAndSet(digestOf(id))
		}
	}
}

func TestCuckooRowsAreAPair(t *testing.T) {
	f := qhtMust[*Cuckoo](t)(NewCuckoo(CuckooConfig{Bits: 1 << 12, CellBits: 8, Cells: 2, Kicks: 1}))
	for row := range uint64(f.table.rows) {
		for fingerprint := uint64(1); fingerprint < 256; fingerprint++ {
			other := f.alternateRow(row, fingerprint)
			if other == row || other >= uint64(f.table.rows) || f.alternateRow(other, fingerprint) != row {
				t.Fatalf("rows %d and %d for fingerprint %d", row, other, fingerprint)
			}
		}
	}
}

// In saturation a filter reports duplicates and new elements with the same chance
// (section 4.3): FPR + FNR = 1. Some 206,000 distinct elements and 194,000 duplicates go
// through filters that hold a few hundred; the bounds are the binomial ones at 1e-6 to
// either side, and 0.3 % of the rate for what they still hold and for how they filled.
func TestQHTSaturation(t *testing.T) {
	const memory = 1200
	table := func(cells, cellBits int, empty EmptyCells) QHTConfig {
		return QHTConfig{Bits: memory, Cells: cells, CellBits: cellBits, Empty: empty, Seed: 5}
	}
	qht, qhtd, qqhtd := qhtMust[*QHT](t), qhtMust[*QHTD](t), qhtMust[*QQHTD](t)
	sqf, cuckoo := qhtMust[*SQF](t), qhtMust[*Cuckoo](t)
	cases := []struct {
		name   string
		filter Filter
		rate   float64
	}{
		{"QHT k=1 S=7", qht(NewQHT(table(1, 3, EmptyRehashed))), 1. / 7},
		{"QHT k=3 S=15", qht(NewQHT(table(3, 4, EmptyRehashed))), 3. / 15},
		{"QHT k=1 S=8", qht(NewQHT(table(1, 3, EmptyShared))), 1. / 8},
		{"QHT k=4 S=16", qht(NewQHT(table(4, 4, EmptyShared))), 4. / 16},
		// Fingerprint 1 has a chance of 2/8: the sum of the squares of all.
		{"QHT k=1, 0 becomes 1", qht(NewQHT(table(1, 3, EmptyReassigned))), 10. / 64},
		{"QHT k=S", qht(NewQHT(table(3, 2, EmptyRehashed))), 1},
		{"QHTD k=3 S=15", qhtd(NewQHTD(table(3, 4, EmptyRehashed))), 1 - math.Pow(14./15, 3)},
		{"QQHTD k=3 S=15", qqhtd(NewQQHTD(table(3, 4, EmptyRehashed))), 1 - math.Pow(14./15, 3)},
		{"SQF r=2", sqf(NewSQF(SQFConfig{Bits: memory, Cells: 1, Remainder: 2, Fingerprint: 1})), 1. / 4},
		{"SQF r=2 k=3", sqf(NewSQF(SQFConfig{Bits: memory, Cells: 3, Remainder: 2, Fingerprint: 1})), 3. / 4},
		// Of the two free bits none, one or two are set, by 1/4, 1/2 and 1/4.
		{"SQF r=3 r'=1", sqf(NewSQF(SQFConfig{Bits: memory, Cells: 1, Remainder: 3, Fingerprint: 1})), 3. / 16},
		{"Cuckoo S=7", cuckoo(NewCuckoo(CuckooConfig{Bits: memory, CellBits: 3, Cells: 1, Kicks: 4})), cuckooLimit(1, 3)},
		{"Cuckoo k=2 S=15", cuckoo(NewCuckoo(CuckooConfig{Bits: memory, CellBits: 4, Cells: 2, Kicks: 9})), cuckooLimit(2, 4)},
	}
	filters := make([]Filter, len(cases))
	for i, c := range cases {
		filters[i] = c.filter
	}
	const n, alphabet = 400_000, 1 << 18
	rates := qhtRun(t, 1, n, alphabet, func(uint64) []Filter { return filters })
	distinct := int(alphabet * -math.Expm1(-float64(n)/alphabet))
	for i, c := range cases {
		low, high := qhtBounds(distinct, c.rate)
		if share := rates[i].fpr / 100; share < low || share > high {
			t.Errorf("%s: FPR %.4f, want %.4f, from %.4f to %.4f", c.name, share, c.rate, low, high)
		}
		low, high = qhtBounds(n-distinct, c.rate)
		if share := 1 - rates[i].fnr/100; share < low || share > high {
			t.Errorf("%s: 1-FNR %.4f, want %.4f, from %.4f to %.4f", c.name, share, c.rate, low, high)
		}
	}
}

// cuckooLimit returns the false positive rate in saturation of two rows of k cells of s
// bits, in which fingerprint 1 is twice as likely as any other.
func cuckooLimit(k, s int) float64 {
	codes := math.Exp2(float64(s))
	match := func(p float64) float64 { return p * -math.Expm1(float64(2*k)*math.Log1p(-p)) }
	return match(2/codes) + (codes-2)*match(1/codes)
}

func qhtBounds(n int, rate float64) (low, high float64) {
	slack := 0.003 * rate
	if rate == 1 {
		return 1 - slack, 1
	}
	first, last := binomialInterval(n, rate, 1e-6)
	return float64(first)/float64(n) - slack, float64(last)/float64(n) + slack
}

// A queue of one cell and a random one of one cell are the same (section 6.1).
func TestQHTOfOneCellIsQueue(t *testing.T) {
	for empty := EmptyRehashed; empty <= EmptyShared; empty++ {
		c := QHTConfig{Bits: 3000, CellBits: 3, Cells: 1, Empty: empty}
		random, queue := qhtMust[*QHT](t)(NewQHT(c)), qhtMust[*QQHTD](t)(NewQQHTD(c))
		for id := range uint64(20_000) {
			d := digestOf(id * id % 4093)
			if seen, want := queue.TestAndSet(d), random.TestAndSet(d); seen != want {
				t.Fatalf("option %d, element %d: %v from the queue, %v from the table", empty, id, seen, want)
			}
		}
	}
}

// With the first option an empty cell is fingerprint 0: one in S elements is a duplicate
// from the start. The other options report none before cells fill.
func TestQHTEmptyCells(t *testing.T) {
	for _, c := range []struct {
		empty    EmptyCells
		reported float64
	}{{EmptyRehashed, 0}, {EmptyReassigned, 0}, {EmptyShared, 1. / 8}} {
		const n = 8000
		f := qhtMust[*QHT](t)(NewQHT(QHTConfig{Bits: 3 << 24, CellBits: 3, Cells: 1, Empty: c.empty}))
		reported := 0
		for id := range uint64(n) {
			if f.TestAndSet(digestOf(id)) {
				reported++
			}
		}
		if got := float64(reported) / n; math.Abs(got-c.reported) > 0.02 {
			t.Errorf("option %d: %.4f of new elements reported, want %.4f", c.empty, got, c.reported)
		}
	}
}

// Rows are queues: of four cells, the fifth element drops the first.
func TestQQHTDOrder(t *testing.T) {
	f := qhtMust[*QQHTD](t)(NewQQHTD(QHTConfig{Bits: 64, CellBits: 16, Cells: 4}))
	for i, step := range []struct {
		element uint64
		seen    bool
	}{{1, false}, {2, false}, {3, false}, {4, false}, {1, true}, {2, true}, {5, false}, {6, false}, {3, false}, {2, true}} {
		if seen := f.TestAndSet([2]uint64{step.element, 0}); seen != step.seen {
			t.Errorf("step %d, element %d: %v", i, step.element, seen)
		}
	}
}

// qhtRates holds a run's false positive rate and false negative rate in percent.
type qhtRates struct{ fpr, fnr float64 }

// qhtRun feeds runs artificial streams of the quotient hash table paper, n
// independent uniform draws from an alphabet each, to new filters, and returns the
// rates of each over all runs.
func qhtRun(t *testing.T, runs, n, alphabet int, newFilters func(seed uint64) []Filter) []qhtRates {
	t.Helper()
	var counts []errorCounts
	known := make([]bool, alphabet)
	for run := range uint64(runs) {
		filters := newFilters(run + 1)
		if counts == nil {
			counts = make([]errorCounts, len(filters))
		}
		random := rand.New(rand.NewPCG(run, 3))
		clear(known)
		for range n {
			id := random.Uint32N(uint32(alphabet))
			d := digestOf(run<<32 | uint64(id))
			for i, f := range filters {
				qhtCount(&counts[i], f.TestAndSet(d), known[id])
			}
			known[id] = true
		}
	}
	rates := make([]qhtRates, 0, len(counts))
	for _, c := range counts {
		rates = append(rates, qhtRates{
			fpr: 100 * float64(c.falsePositives) / float64(c.distinct),
			fnr: 100 * float64(c.falseNegatives) / float64(c.duplicates),
		})
	}
	return rates
}

// qhtCount adds what was reported of one element.
func qhtCount(c *errorCounts, seen, known bool) {
	switch {
	case known:
		c.duplicates++
		if !seen {
			c.falseNegatives++
		}
	default:
		c.distinct++
		if seen {
			c.falsePositives++
		}
	}
}

// qhtMust returns a function that makes a filter or ends the test.
func qhtMust[F Filter](t *testing.T) func(F, error) F {
	return func(f F, err error) F {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
}

// qhtClose reports an error unless got is within tolerance, relative, of want.
func qhtClose(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance*want {
		t.Errorf("%s: %.3f, want %.3f within %.1f %%", what, got, want, 100*tolerance)
	}
}
