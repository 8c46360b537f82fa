package theory

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// Measurements of KNPS's configuration: 40 slices of which 8 fail, k = 8, 2 %.
func TestSlicedFailures(t *testing.T) {
	s := Sliced{Bits: 1 << 20, K: 8, Slices: 40}
	for _, c := range []struct {
		k1, atLeast int
		fpr, fnr    float64
	}{{1, 0, .2160, 0}, {1, 1, .016, .2}, {1, 8, .016, .2}, {8, 0, .05174, 0}, {8, 3, .0509, .0013}, {8, 4, .0488, .0102}, {8, 5, .042, .057}, {8, 8, .00336, .8322}} {
		fpr, fnr, err := s.SplitHybrid(c.k1, 8, .02, c.atLeast)
		if err != nil {
			t.Fatal(err)
		}
		near(t, fmt.Sprintf("%+v: FPR", c), fpr, c.fpr, .03)
		near(t, fmt.Sprintf("%+v: FNR", c), fnr, c.fnr, .06)
	}
}

// TestTolerance: the rates are met with as many slices, and not with one less. The paper's
// example: for 4 failed sites and at most 15 %, more than 30 horizontal slices and less
// than 20 vertical ones.
func TestTolerance(t *testing.T) {
	for _, c := range []struct{ k, least, most int }{{1, 31, 40}, {8, 5, 19}} {
		slices, misses := value[int](t)(Tolerance(4, c.k, .02, .15)), value[int](t)(MissTolerance(4, c.k, .05))
		if slices < c.least || slices > c.most {
			t.Errorf("k = %d: %d slices", c.k, slices)
		}
		for _, less := range []int{0, 1} {
			fpr, _, err := Sliced{1 << 20, c.k, slices - less}.SplitHybrid(c.k, 4, .02, 0)
			if err != nil || (fpr <= .15) != (less == 0) {
				t.Errorf("k = %d, %d slices less: %g, error %v", c.k, less, fpr, err)
			}
			_, fnr, err := Sliced{1 << 20, c.k, misses - less}.SplitHybrid(c.k, 4, .02, c.k)
			if err != nil || (fnr <= .05*(1+1e-12)) != (less == 0) {
				t.Errorf("k = %d, %d slices less: %g missed, error %v", c.k, less, fnr, err)
			}
		}
	}
}

// TestSplitFPR throws elements at slices of few bits, as [Sliced.SplitFPR] models them:
// each of n k1 choices at any slice, with k2 bits anywhere in it.
func TestSplitFPR(t *testing.T) {
	const bits, slices, n = 400, 20, 40
	r := rand.New(rand.NewPCG(7, 0))
	for _, k1 := range []int{1, 2, 6} {
		s := Sliced{Bits: bits, K: 6, Slices: slices}
		k2 := s.K / k1
		// A rate of all slices is a mean over slices, to the power of k1 choices that
		// are independent: simulate single choices.
		const runs = 20_000
		matched := 0
		for range runs {
			var set [bits / slices]bool
			for range n * k1 {
				if r.IntN(slices) == 0 {
					for range k2 {
						set[r.IntN(len(set))] = true
					}
				}
			}
			all := true
			for range k2 {
				all = all && set[r.IntN(len(set))]
			}
			if all {
				matched++
			}
		}
		want := math.Pow(value[float64](t)(s.SplitFPR(k1, n)), 1/float64(k1))
		// The formula takes the set bits of a slice as independent, which for slices of
		// 20 bits is 3 % too low.
		plausible(t, fmt.Sprintf("one of %d choices", k1), matched, runs, want, .04)
	}
}

// TestSplitLimits compares with the formulas for even spread: equal for vertical
// slices, and the more above it for the others the fewer choices there are.
func TestSplitLimits(t *testing.T) {
	for _, slices := range []int{1, 10, 1000} {
		s := Sliced{Bits: 100_000, K: 4, Slices: slices}
		for _, n := range []int{0, 1, 500, 20_000} {
			even := value[float64](t)(BloomFPR(s.Bits, s.K, n))
			vertical := value[float64](t)(s.SplitFPR(4, n))
			near(t, "vertical", vertical, even, 1e-9)
			two := value[float64](t)(s.SplitFPR(2, n))
			one := value[float64](t)(s.SplitFPR(1, n))
			if two < vertical*(1-1e-9) || one < two*(1-1e-9) {
				t.Errorf("%d slices, n = %d: k1 = 4, 2, 1 give %g, %g, %g", slices, n, vertical, two, one)
			}
		}
	}
	if full := value[float64](t)(Sliced{Bits: 8, K: 2, Slices: 8}.SplitFPR(1, 1_000_000)); full != 1 {
		t.Errorf("slices of one bit: %g", full)
	}
	if empty := value[float64](t)(Sliced{Bits: 8, K: 2, Slices: 8}.SplitFPR(1, 0)); empty != 0 {
		t.Errorf("empty slices of one bit: %g", empty)
	}
}

func TestPipelinedAccesses(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 0))
	for _, s := range []Sliced{{100, 1, 1}, {100, 4, 1}, {100, 4, 3}, {100, 5, 50}} {
		for _, set := range []float64{0, .3, .9, 1} {
			const runs = 20_000
			sum, squares := 0.0, 0.0
			for range runs {
				tests := float64(simulatePipeline(r, s, set))
				sum += tests
				squares += tests * tests
			}
			mean := sum / runs
			want := value[float64](t)(s.PipelinedAccesses(set))
			deviation := math.Sqrt(max(0, squares/runs-mean*mean) / runs)
			if math.Abs(mean-want) > 6*deviation+1e-12 {
				t.Errorf("%+v, %g set: simulated %.4f, formula %.4f", s, set, mean, want)
			}
		}
		n := float64(s.Slices)
		near(t, "parallel", value[float64](t)(s.PipelinedAccesses(1)), n*(1-math.Pow(1-1/n, float64(s.K))), 1e-12)
	}
}

func simulatePipeline(r *rand.Rand, s Sliced, set float64) (tests int) {
	slices, clear := make([]int, s.K), make([]bool, s.K)
	for i := range slices {
		slices[i], clear[i] = r.IntN(s.Slices), r.Float64() >= set
	}
	asked := map[int]bool{}
	for _, slice := range slices {
		if asked[slice] {
			continue
		}
		asked[slice] = true
		for i := range slices {
			if slices[i] == slice && clear[i] {
				return len(asked)
			}
		}
	}
	return len(asked)
}

func TestFairness(t *testing.T) {
	for _, c := range []struct {
		loads []int
		want  float64
	}{{[]int{5, 5, 5}, 1}, {[]int{7, 0, 0, 0}, .25}, {[]int{1, 2, 3}, 36. / 42}} {
		near(t, fmt.Sprint(c.loads), value[float64](t)(Fairness(c.loads)), c.want, 1e-12)
	}
	// Zipf's distribution with exponent 1 on 6100 elements, measured for 10 to 100
	// slices.
	harmonic, squares := 0.0, 0.0
	for i := 1; i <= 6100; i++ {
		harmonic += 1 / float64(i)
		squares += 1 / float64(i*i)
	}
	for _, c := range []struct {
		slices               int
		horizontal, vertical float64
	}{{10, .86, .965}, {20, .74, .92}, {40, .58, .85}, {100, .35, .68}} {
		near(t, "horizontal", value[float64](t)(SplitFairness(c.slices, 1, squares/harmonic/harmonic)), c.horizontal, .02)
		near(t, "vertical", value[float64](t)(SplitFairness(c.slices, 4, squares/harmonic/harmonic)), c.vertical, .02)
	}
}

// TestSplitHybridAgainstSimulation draws for each choice of slices whether it failed,
// and for each bit in working ones whether it is set.
func TestSplitHybridAgainstSimulation(t *testing.T) {
	const trials, p, failed = 50_000, .3, 3
	s := Sliced{Bits: 1000, K: 6, Slices: 10}
	bit := math.Pow(p, 1./6)
	r := rand.New(rand.NewPCG(9, 0))
	for _, k1 := range []int{1, 2, 3, 6} {
		for atLeast := 0; atLeast <= s.K; atLeast++ {
			reported, lost := 0, 0
			for range trials {
				live, set := 0, true
				for range k1 {
					if r.IntN(s.Slices) < failed {
						continue
					}
					for range s.K / k1 {
						live++
						set = set && r.Float64() < bit
					}
				}
				if live < atLeast {
					lost++
				} else if set {
					reported++
				}
			}
			fpr, fnr, err := s.SplitHybrid(k1, failed, p, atLeast)
			if err != nil {
				t.Fatal(err)
			}
			plausible(t, fmt.Sprintf("k1 = %d, at least %d: FPR", k1, atLeast), reported, trials, fpr, 0)
			plausible(t, fmt.Sprintf("k1 = %d, at least %d: FNR", k1, atLeast), lost, trials, fnr, 0)
		}
	}
}
