package paper

import (
	"errors"
	"math"
	"testing"
)

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

// The smallest filters work, and account for whole rows, powers of two where the
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
