// SPDX-License-Identifier: Apache-2.0

package sizing

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/paper"
	"github.com/flowdedup/flowdedup/engine/theory"
)

// testStream is a stream whose repeats copy the element at a random lag.
type testStream struct {
	elements []digest.Digest
	gap      []int // of each element; 0 for a new one
}

// newTestStream draws n elements with the given share of new ones. Others copy the
// element at a lag that is evenly spread over orders of magnitude up to longest.
func newTestStream(n int, fresh float64, longest float64, seed uint64) testStream {
	random := rand.New(rand.NewPCG(seed, 1))
	s := testStream{elements: make([]digest.Digest, n), gap: make([]int, n)}
	last := map[digest.Digest]int{}
	for i := range s.elements {
		lag := int(math.Exp(random.Float64() * math.Log(longest)))
		if i < lag || random.Float64() < fresh {
			s.elements[i] = digest.Digest{random.Uint64(), random.Uint64()}
		} else {
			s.elements[i] = s.elements[i-lag]
			s.gap[i] = i - last[s.elements[i]]
		}
		last[s.elements[i]] = i
	}
	return s
}

// load measures the stream from the given element on.
func (s testStream) load(from int) (distinct float64, gaps Gaps) {
	var h histogram
	fresh := 0
	for _, g := range s.gap[from:] {
		if g == 0 {
			fresh++
		} else {
			h.add(float64(g), 1)
		}
	}
	return float64(fresh) / float64(len(s.gap)-from), h.result()
}

// rates returns the error rates of a filter from the given element on.
func (s testStream) rates(f paper.Filter, from int) (fpr, fnr float64) {
	var wrong, fresh, missed, repeats float64
	for i, d := range s.elements {
		seen := f.TestAndSet(d)
		switch {
		case i < from:
		case s.gap[i] == 0:
			fresh++
			if seen {
				wrong++
			}
		default:
			repeats++
			if !seen {
				missed++
			}
		}
	}
	return wrong / fresh, missed / repeats
}

func (c *Candidate) value(name string) int {
	for _, p := range c.Parameters {
		if p.Name == name {
			return p.Value
		}
	}
	return 0
}

// build makes the reference filter of a candidate.
func build(c *Candidate) (paper.Filter, error) {
	bias := paper.BiasedConfig{Bits: c.MemoryBits, K: c.value("K"), Seed: 7}
	table := paper.QHTConfig{Bits: c.MemoryBits, CellBits: c.value("cell bits"), Cells: c.value("cells"), Seed: 7}
	switch c.Method.Name {
	case "sbf-paper":
		cells := c.value("cells")
		return paper.NewStable(paper.StableConfig{Cells: cells, CellBits: c.MemoryBits / cells, K: c.value("K"), P: c.value("P"), Seed: 7})
	case "rsbf-paper":
		return paper.NewRSBF(bias, 0.03)
	case "bsbf-paper":
		return paper.NewBSBF(bias)
	case "bsbfsd-paper":
		return paper.NewBSBFSD(bias)
	case "rlbsbf-paper":
		return paper.NewRLBSBF(bias)
	case "qht-paper":
		return paper.NewQHT(table)
	case "qhtd-paper":
		return paper.NewQHTD(table)
	case "qqht-paper":
		return paper.NewQQHT(table)
	case "qht-sorted":
		return paper.NewSemiSortedQHT(table)
	case "qqhtd-paper":
		return paper.NewQQHTD(table)
	case "sqf":
		return paper.NewSQF(paper.SQFConfig{Bits: c.MemoryBits, Cells: table.Cells, Remainder: c.value("r"), Fingerprint: c.value("r'"), Seed: 7})
	case "cuckoo":
		return paper.NewCuckoo(paper.CuckooConfig{Bits: c.MemoryBits, CellBits: table.CellBits, Cells: table.Cells, Kicks: 100, Seed: 7})
	case "a2":
		return paper.NewA2(c.MemoryBits, c.value("K"), c.value("capacity"))
	default:
		return paper.NewLRU(c.MemoryBits, elementBits)
	}
}

// TestReferences compares predictions with runs of the reference filters. models gives
// the allowed error of a model, as a share of the rate, in addition to the sampling
// error. Bounds may be too low by as much, and too high by any amount.
func TestReferences(t *testing.T) {
	const elements, from, longest = 110_000, 40_000, 1 << 12
	for _, fresh := range []float64{0.4, 0.9} {
		if testing.Short() && fresh == 0.9 {
			continue
		}
		s := newTestStream(elements, fresh, longest, 3)
		distinct, gaps := s.load(from)
		for _, c := range []struct {
			method       string
			cells        int
			fprOff       float64
			fnrOff       float64
			fnrBoundOnly bool
		}{
			{"sbf-paper", 0, 0.02, 0.02, false},
			{"bsbf-paper", 0, 0.03, 0.02, false},
			{"rlbsbf-paper", 0, 0.03, 0.02, false},
			{"rsbf-paper", 0, 0.05, 0.05, false},
			{"qht-paper", 1, 0.02, 0.03, false},
			{"qht-paper", 4, 0.02, 0.08, false},
			{"qhtd-paper", 4, 0.02, 0.15, false},
			{"qqht-paper", 1, 0.02, 0.03, false},
			{"qqht-paper", 4, 0.02, 0.08, false},
			{"qht-sorted", 4, 0.02, 0.08, false},
			{"qqhtd-paper", 1, 0.02, 0.03, false},
			{"qqhtd-paper", 4, 0.02, 0.05, false},
			{"sqf", 0, 0.02, 0.05, false},
			{"cuckoo", 4, 0.03, 0.03, true},
			{"a2", 0, 0.02, 0.03, false},
			{"buffer", 0, 0, 0.03, false},
		} {
			q := Question{
				Method: c.method, Fixed: Parameters{Cells: c.cells}, Key: Other,
				MemoryBits: 1 << 12, FPR: 0.1, Distinct: distinct, Gaps: gaps,
			}
			plan := planned(t, q, q.Method)
			filter, err := build(&plan)
			if err != nil {
				t.Fatal(c.method, err)
			}
			fpr, fnr := s.rates(filter, from)
			n := float64(elements - from)
			near(t, c.method+" FPR", plan.FPR, fpr, c.fprOff, n*distinct, plan.Method.Certainty == Bound)
			near(t, c.method+" FNR", plan.FNR, fnr, c.fnrOff, n*(1-distinct), c.fnrBoundOnly)
			if filter.Bits() > q.MemoryBits {
				t.Errorf("%s takes %d bits of %d", c.method, filter.Bits(), q.MemoryBits)
			}
		}
	}
}

// near checks a prediction against the rate of n trials: 5 standard deviations (1 in 3.5
// million) plus the error of the model.
func near(t *testing.T, what string, predicted, measured, off, n float64, bound bool) {
	t.Helper()
	slack := off*predicted + 5*math.Sqrt(predicted*(1-predicted)/n) + 1e-9
	if measured > predicted+slack || !bound && measured < predicted-slack {
		t.Errorf("%s: predicted %.4g, measured %.4g, %+.1f %%", what, predicted, measured, 100*(measured/predicted-1))
	}
}

// TestDistinctAmong compares D with the mean number of distinct elements in runs of a
// stream.
func TestDistinctAmong(t *testing.T) {
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

// TestCellAgainstStable compares the model of cells with the closed form of the stable
// Bloom filter for a stream of new elements.
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

// TestFixedPoint expects the golden ratio. On a stream of new elements the share x of set
// bits of a BSBF with two arrays solves x^2 + x = 1: an insertion sets 2(1-x)/(1-x^2)
// bits on average and clears 2x.
func TestFixedPoint(t *testing.T) {
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

// TestClusters compares Panjer's recursion with plain summation for up to two distinct
// elements.
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

// newPopulation draws n elements from the given number of equally likely ones.
func newPopulation(n, members int, seed uint64) []digest.Digest {
	random := rand.New(rand.NewPCG(seed, 2))
	all := make([]digest.Digest, members)
	for i := range all {
		all[i] = digest.Digest{random.Uint64(), random.Uint64()}
	}
	drawn := make([]digest.Digest, n)
	for i := range drawn {
		drawn[i] = all[random.IntN(members)]
	}
	return drawn
}

// TestPushes compares the sums of probabilities with the ones that theory computes one by one.
func TestPushes(t *testing.T) {
	for _, k := range []int{1, 2, 7, 32} {
		p := newPushes(k)
		for _, mean := range []float64{0, 1e-12, 0.3, 1, 6.5, 40, 900} {
			p.set(mean)
			for n := range k + 1 {
				if want := theory.PoissonTail(n, mean); math.Abs(p.least[n]-want) > 1e-12*want {
					t.Errorf("mean %g: at least %d of %d: %g, want %g", mean, n, k, p.least[n], want)
				}
			}
			for n, got := range p.exactly {
				if want := theory.PoissonTail(n, mean) - theory.PoissonTail(n+1, mean); math.Abs(got-want) > 1e-12 {
					t.Errorf("mean %g: exactly %d of %d: %g, want %g", mean, n, k, got, want)
				}
			}
		}
	}
}
