package theory

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// quotientSim runs a quotient hash table over elements drawn uniformly from a universe
// and returns its false positives and negatives and the numbers of new elements
// and duplicates, all from position from on.
func quotientSim(q Quotient, universe, elements, from int) (falsePositives, falseNegatives, fresh, duplicates int) {
	r := rand.New(rand.NewPCG(4, uint64(q.K)))
	row, fingerprint := make([]int, universe), make([]int, universe)
	for i := range row {
		row[i], fingerprint[i] = r.IntN(q.Rows), 1+r.IntN(q.S)
	}
	came := make([]bool, universe)
	cells := make([][]int, q.Rows)
	for i := range elements {
		id := r.IntN(universe)
		cellsOfRow := &cells[row[id]]
		seen := slices.Contains(*cellsOfRow, fingerprint[id])
		switch {
		case i < from:
		case came[id]:
			duplicates++
			if !seen {
				falseNegatives++
			}
		default:
			fresh++
			if seen {
				falsePositives++
			}
		}
		came[id] = true
		switch {
		case seen:
		case len(*cellsOfRow) < q.K:
			*cellsOfRow = append(*cellsOfRow, fingerprint[id])
		default:
			(*cellsOfRow)[r.IntN(q.K)] = fingerprint[id]
		}
	}
	return falsePositives, falseNegatives, fresh, duplicates
}

func TestQuotientFPRAgainstSimulation(t *testing.T) {
	for _, q := range []Quotient{{8000, 1, 3}, {3000, 4, 15}, {1000, 16, 63}, {4000, 3, 3}} {
		const n = 40000
		fp, _, fresh, _ := quotientSim(q, 1<<21, n, 0)
		plausible(t, fmt.Sprintf("%+v", q), fp, fresh, value[float64](t)(q.FPR(n)), .02)
	}
}

func TestQuotientFNRAgainstSimulation(t *testing.T) {
	for _, q := range []Quotient{{100, 1, 3}, {100, 1, 15}, {100, 2, 15}, {100, 8, 255}, {100, 16, 31}} {
		universe := 50 * q.Rows * q.K
		_, fn, _, duplicates := quotientSim(q, universe, 25*universe, 5*universe)
		plausible(t, fmt.Sprintf("%+v", q), fn, duplicates, value[float64](t)(q.FNR(universe)), .01)
	}
}

// GLN19, Table 1 and the artificial stream of Table 5, measured again: 65536 bits,
// 100000 elements of which 4.62 % are duplicates, K/S near a quarter. The paper's
// columns are headed S = 2^s, their rates are those of 2^s-1.
func TestQuotientFPRMatchesThePaper(t *testing.T) {
	const distinct = 95380
	for _, c := range []struct {
		k, bits int
		want    float64
	}{{1, 2, .2255}, {2, 3, .2338}, {4, 4, .2352}, {8, 5, .2368}, {16, 6, .2370}} {
		q := Quotient{Rows: 65536 / (c.k * c.bits), K: c.k, S: 1<<c.bits - 1}
		near(t, fmt.Sprintf("%+v", q), value[float64](t)(q.FPR(distinct)), c.want, .008)
	}
}

func TestQuotientPrintedFP(t *testing.T) {
	for _, m := range []int{0, 1, 100, 5000, 1e6} {
		one, four := Quotient{1000, 1, 7}, Quotient{1000, 4, 15}
		near(t, "K=1", value[float64](t)(one.NewElementFP(m)), value[float64](t)(one.PrintedFP(m)), 1e-3)
		if value[float64](t)(four.NewElementFP(m)) < value[float64](t)(four.PrintedFP(m))*(1-1e-9) {
			t.Errorf("K=4, m=%d: printed rate is not the lower one", m)
		}
	}
	// Theorem 4.2 as printed, before its terms are brought together.
	q, u := Quotient{1000, 4, 15}, 5000.0
	a, b, c := 11.0/(4*14999), 4.0/15, 1-1.0/4000
	want := 1 - b - (1-b)/(u-(u-1)*(1-a)) + a*b/((1-a-c)*(u-(u-1)*(1-a))) - a*b/((1-a-c)*(u-(u-1)*c))
	near(t, "FNR", value[float64](t)(q.FNR(5000)), want, 1e-9)
	near(t, "FNR of a large universe", value[float64](t)(q.FNR(1<<31-1)), 1-b, 1e-5)
}

func TestQuotientWithDuplicates(t *testing.T) {
	fpr, fnr, err := Quotient{9, 4, 15}.SaturatedWithDuplicates()
	if err != nil {
		t.Fatal(err)
	}
	near(t, "FPR", fpr, 1-14.*14*14*14/(15*15*15*15), 1e-12)
	near(t, "sum", fpr+fnr, 1, 1e-12)
}

func TestQuotientMemoryRatio(t *testing.T) {
	near(t, "free empty code", value[float64](t)(QHTMemoryRatio(2, 1, false)), 2./3, 1e-12)
	near(t, "empty code taken", value[float64](t)(QHTMemoryRatio(2, 1, true)), 1, 1e-12)
	if s := value[int](t)(SQFFingerprints(2, 1)); s != 4 {
		t.Errorf("S is %d, want 4", s)
	}
	near(t, "limit", value[float64](t)(SQFSaturatedFPR(1, 2, 1)), .1995, .001)
}
