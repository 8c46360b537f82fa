package theory

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// TestSplitFPR throws elements at slices of few bits, as [Sliced.SplitFPR] takes them:
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
	// Zipf's distribution with exponent 1 on 6100 elements, measured for 10 to 100 slices.
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
