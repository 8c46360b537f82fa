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
	near(t, "Eq. 5", value[float64](t)(s.HorizontalFailedFPR(8, .02)), .2160, .001)
	near(t, "Eq. 6", value[float64](t)(s.VerticalFailedFPR(8, .02)), .05174, .001)
	for _, c := range []struct {
		atLeast  int
		fpr, fnr float64
	}{{3, .0509, .0013}, {4, .0488, .0102}, {5, .042, .057}} {
		fpr, fnr, err := s.VerticalHybrid(8, .02, c.atLeast)
		if err != nil {
			t.Fatal(err)
		}
		near(t, fmt.Sprintf("at least %d: FPR", c.atLeast), fpr, c.fpr, .03)
		near(t, fmt.Sprintf("at least %d: FNR", c.atLeast), fnr, c.fnr, .06)
	}
}

func TestSlicedHybridAgainstSimulation(t *testing.T) {
	const trials, p = 200000, .3
	s := Sliced{Bits: 1000, K: 4, Slices: 10}
	r := rand.New(rand.NewPCG(5, 0))
	bit := .7400828 // 0.3^(1/4)
	for atLeast := 0; atLeast <= s.K; atLeast++ {
		reported, lost := 0, 0
		for range trials {
			live, set := 0, true
			for range s.K {
				if r.IntN(s.Slices) >= 3 {
					live++
					set = set && r.Float64() < bit
				}
			}
			if set && live >= atLeast {
				reported++
			}
			if live < atLeast {
				lost++
			}
		}
		fpr, fnr, err := s.VerticalHybrid(3, p, atLeast)
		if err != nil {
			t.Fatal(err)
		}
		plausible(t, fmt.Sprintf("FPR, at least %d", atLeast), reported, trials, fpr, 0)
		plausible(t, fmt.Sprintf("FNR, at least %d", atLeast), lost, trials, fnr, 0)
	}
	lenient, _, _ := s.VerticalHybrid(3, p, 0)
	near(t, "at least 0", lenient, value[float64](t)(s.VerticalFailedFPR(3, p)), 1e-12)
	for _, p := range []float64{0, 1} {
		fpr, _, err := s.VerticalHybrid(0, p, 2)
		if err != nil || fpr != p {
			t.Errorf("no failures: FPR is %g, want %g, error %v", fpr, p, err)
		}
	}
}

// The paper's example: for 4 failed sites and at most 15 %, more than 30 horizontal
// slices and less than 20 vertical ones.
func TestTolerance(t *testing.T) {
	horizontal := value[int](t)(HorizontalTolerance(4, .02, .15))
	vertical := value[int](t)(VerticalTolerance(4, 8, .02, .15))
	if horizontal <= 30 || vertical >= 20 {
		t.Errorf("%d horizontal slices, %d vertical", horizontal, vertical)
	}
	for _, less := range []int{0, 1} {
		h := value[float64](t)(Sliced{1 << 20, 8, horizontal - less}.HorizontalFailedFPR(4, .02))
		v := value[float64](t)(Sliced{1 << 20, 8, vertical - less}.VerticalFailedFPR(4, .02))
		if (h <= .15) != (less == 0) || (v <= .15) != (less == 0) {
			t.Errorf("%d slices less: %g and %g", less, h, v)
		}
	}
}

func TestHorizontalIsNeverBelowVertical(t *testing.T) {
	for _, slices := range []int{1, 10, 1000} {
		h := value[float64](t)(Sliced{10000, 4, slices}.HorizontalFPR(1000))
		v := value[float64](t)(BloomFPR(10000, 4, 1000))
		if h < v*(1-1e-12) {
			t.Errorf("%d slices: %g below %g", slices, h, v)
		}
	}
}

func TestTimers(t *testing.T) {
	for window, want := range map[int]int{1: 1, 2: 2, 3: 2, 4: 3, 255: 8, 256: 9} {
		if bits := value[int](t)(TimerBits(window)); bits != want {
			t.Errorf("%d bits for a window of %d, want %d", bits, window, want)
		}
	}
	near(t, "equal timers", value[float64](t)(AllTimersEqualFPR(1000, 2)), 4e-6, .01)
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

func TestDiced(t *testing.T) {
	d := Diced{Bits: 8000, K: 4, Slices: 5, Inner: 8}
	for _, n := range []int{0, 100, 1500} {
		hv, vh := value[float64](t)(d.HVFPR(n)), value[float64](t)(d.VHFPR(n))
		near(t, "h-v", hv, math.Pow(1-math.Pow(1-5./8000, 4*float64(n)/5), 4), 1e-9)
		near(t, "v-h", vh, math.Pow(1-math.Pow(1-40./8000, 4*float64(n)/40), 4), 1e-9)
	}
	got := value[float64](t)(d.FailedFPR(10, .02))
	near(t, "Eq. 7", got, math.Pow(.25+.75*math.Pow(.02, .25), 4), 1e-12)
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

// TestSplitHybridCases compares with the formulas for horizontal slices, and with the sum
// of the paper's text that lacks its binomial coefficient.
func TestSplitHybridCases(t *testing.T) {
	s := Sliced{Bits: 1000, K: 4, Slices: 10}
	fpr, fnr, err := s.HorizontalFailedAsDistinct(3, .02)
	if err != nil || math.Abs(fpr-.014) > 1e-15 || math.Abs(fnr-.3) > 1e-15 {
		t.Errorf("as distinct: %g and %g, error %v", fpr, fnr, err)
	}
	for _, atLeast := range []int{1, 2, 4} {
		splitFPR, splitFNR, err := s.SplitHybrid(1, 3, .02, atLeast)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "horizontal, as distinct: FPR", splitFPR, fpr, 1e-12)
		near(t, "horizontal, as distinct: FNR", splitFNR, fnr, 1e-12)
	}
	duplicate, _, err := s.SplitHybrid(1, 3, .02, 0)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "horizontal, as duplicate", duplicate, value[float64](t)(s.HorizontalFailedFPR(3, .02)), 1e-12)
	_, missed, err := s.VerticalHybrid(3, .02, s.K)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for i, choose := range []float64{4, 6, 4, 1} {
		sum += choose * math.Pow(.3, float64(i+1)) * math.Pow(.7, float64(3-i))
	}
	near(t, "vertical, as distinct: FNR", missed, sum, 1e-12)
}

// TestMissTolerance checks that the rates are met with as many slices, and with one
// less they are not.
func TestMissTolerance(t *testing.T) {
	horizontal := value[int](t)(HorizontalMissTolerance(4, .05))
	vertical := value[int](t)(VerticalMissTolerance(4, 4, .05))
	if horizontal != 80 || vertical != 314 {
		t.Errorf("%d horizontal slices, want 80; %d vertical, want 314", horizontal, vertical)
	}
	for _, less := range []int{0, 1} {
		_, h, err := Sliced{1 << 20, 4, horizontal - less}.HorizontalFailedAsDistinct(4, .02)
		if err != nil {
			t.Fatal(err)
		}
		_, v, err := Sliced{1 << 20, 4, vertical - less}.VerticalHybrid(4, .02, 4)
		if err != nil {
			t.Fatal(err)
		}
		if (h <= .05*(1+1e-12)) != (less == 0) || (v <= .05*(1+1e-12)) != (less == 0) {
			t.Errorf("%d slices less: %g and %g", less, h, v)
		}
	}
	if one := value[int](t)(VerticalMissTolerance(0, 4, .05)); one != 1 {
		t.Errorf("%d slices without failures", one)
	}
}
