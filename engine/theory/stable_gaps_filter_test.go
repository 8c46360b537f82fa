package theory_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/paper"
	"github.com/flowdedup/flowdedup/engine/theory"
)

// repeatingStream returns elements numbered from 0, half of them new, at random; the
// others repeat the one that came shortest to longest elements before, near ones as
// likely as far ones on a logarithmic scale.
func repeatingStream(n int, shortest, longest float64, seed uint64) []uint64 {
	random := rand.New(rand.NewPCG(seed, 0))
	elements := make([]uint64, n)
	next := uint64(0)
	for i := range elements {
		lag := int(shortest * math.Pow(longest/shortest, random.Float64()))
		if lag <= i && random.IntN(2) == 0 {
			elements[i] = elements[i-lag]
			continue
		}
		elements[i] = next
		next++
	}
	return elements
}

// gapsOf returns a stream's gap distribution. It merges gaps that differ by less than a
// tenth.
func gapsOf(elements []uint64) []theory.Gap {
	last := map[uint64]int{}
	var weights [400]float64
	for i, element := range elements {
		if before, known := last[element]; known {
			weights[int(10*math.Log(float64(i-before)))]++
		}
		last[element] = i
	}
	var gaps []theory.Gap
	for i, weight := range weights {
		if weight > 0 {
			gaps = append(gaps, theory.Gap{Elements: int(math.Exp((float64(i)+0.5)/10)) - 1, Weight: weight})
		}
	}
	return gaps
}

// digestOf replaces a keyed hash.
func digestOf(element uint64) digest.Digest {
	random := rand.NewPCG(element, 1)
	return digest.Digest{random.Uint64(), random.Uint64()}
}

// countErrors returns the shares of false positives and of misses.
func countErrors(f paper.Filter, elements []uint64) (fpr, fnr float64) {
	distinct, duplicates := 0.0, 0.0
	for _, element := range elements {
		seen := f.TestAndSet(digestOf(element))
		if element == uint64(distinct) { // numbered by first occurrence
			distinct++
			if seen {
				fpr++
			}
			continue
		}
		duplicates++
		if !seen {
			fnr++
		}
	}
	return fpr / distinct, fnr / duplicates
}

// TestStableByCellBitsAgainstFilters runs the filters chosen for the gaps of a stream
// over another stream of the same kind. Misses must be as expected, within 4 % and 5
// standard deviations of a count; the one chosen of all must miss the fewest, and all
// keep the bound on false positives. The formulas are exact for streams whose elements
// are all alike. Here some repeat often and set the same cells again. So false positives
// stay below their bound, and misses are a little above the formula, since other
// elements' cells hide them less often.
func TestStableByCellBitsAgainstFilters(t *testing.T) {
	const n, bits, fps = 200_000, 20_000, 0.05
	for _, c := range []struct {
		shortest, longest float64
		best              int
	}{{1, 300, 3}, {2000, 20_000, 1}} {
		gaps := gapsOf(repeatingStream(n, c.shortest, c.longest, 1))
		choices, err := theory.StableByCellBits(bits, 3, fps, gaps)
		if err != nil {
			t.Fatal(err)
		}
		elements := repeatingStream(n, c.shortest, c.longest, 2)
		var measured []float64
		for _, choice := range choices {
			f, err := paper.NewStable(paper.StableConfig{Cells: choice.Cells, CellBits: choice.CellBits, K: choice.K, P: choice.P, Seed: 3})
			if err != nil {
				t.Fatal(err)
			}
			fpr, fnr := countErrors(f, elements)
			measured = append(measured, fnr)
			t.Logf("longest gap %g, %+v: FPR %.4f, FNR %.4f", c.longest, choice, fpr, fnr)
			if math.Abs(fnr-choice.FNR) > 0.04*choice.FNR+5*math.Sqrt(choice.FNR/(n/2)) {
				t.Errorf("%+v: %.4f missed", choice, fnr)
			}
			if fpr > fps+5*math.Sqrt(fps/(n/2)) {
				t.Errorf("%+v: %.4f false positives, want at most %g", choice, fpr, fps)
			}
		}
		best, err := theory.StableBestMax(bits, 3, fps, gaps)
		if err != nil {
			t.Fatal(err)
		}
		for d, fnr := range measured {
			if fnr < measured[best.CellBits-1] {
				t.Errorf("longest gap %g: %d bits miss %.4f, the chosen %d miss %.4f", c.longest, d+1, fnr, best.CellBits, measured[best.CellBits-1])
			}
		}
		if best.CellBits != c.best {
			t.Errorf("longest gap %g: %d bits chosen, want %d", c.longest, best.CellBits, c.best)
		}
	}
}
