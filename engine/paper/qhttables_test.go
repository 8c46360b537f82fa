package paper

import (
	"fmt"
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
