package paper

import (
	"math"
	"testing"
)

// In saturation a filter reports duplicates with a chance that does not depend on
// whether they are (section 4.3): FPR + FNR = 1. Some 206,000 distinct elements and
// 194,000 duplicates go through filters that hold a few hundred; the bounds are the
// binomial ones at 1e-6 to either side, and 0.3 % of the rate for what they still
// hold and for how they filled.
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

// The first option takes an empty cell for fingerprint 0: one in S elements is a
// duplicate from the first on. The others report none before cells fill.
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
