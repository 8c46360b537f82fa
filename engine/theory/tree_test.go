package theory

import (
	"errors"
	"math"
	"testing"
)

func TestTree(t *testing.T) {
	tree := Tree{Bits: 1000, K: 3, FanOut: []int{2, 5}}
	rates, err := tree.SparseFPR(300)
	if err != nil {
		t.Fatal(err)
	}
	for level, n := range []int{300, 150, 30} {
		near(t, "level", rates[level], value[float64](t)(BloomFPRApprox(1000, 3, n)), 1e-12)
	}
	matches, err := FalseMatches(rates)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, p := range matches {
		sum += p
	}
	near(t, "all levels' matches", sum, rates[0], 1e-12)
	for d, want := range []float64{rates[0], min(rates[0], 1-math.Pow(1-rates[1], 2)), 1 - math.Pow(1-rates[2], 10)} {
		near(t, "top-down", value[float64](t)(tree.SparseTopDownFPR(300, d)), want, 1e-12)
	}
	if full := value[float64](t)(Tree{Bits: 1, K: 1, FanOut: []int{2}}.SparseTopDownFPR(1<<30, 1)); full != 1 {
		t.Errorf("full tree: %g", full)
	}
}

func TestSlicingErrorsOutOfTheDomain(t *testing.T) {
	err2 := func(_ any, err error) error { return err }
	err3 := func(_, _ float64, err error) error { return err }
	s := Sliced{Bits: 100, K: 4, Slices: 10}
	tree := Tree{Bits: 10, K: 2, FanOut: []int{2, 3}}
	nan := math.NaN()
	for name, err := range map[string]error{
		"SplitFPR k1":            err2(s.SplitFPR(3, 1)),
		"SplitFPR no k1":         err2(s.SplitFPR(0, 1)),
		"SplitFPR n":             err2(s.SplitFPR(2, -1)),
		"SplitFPR large n":       err2(s.SplitFPR(2, maxTrials)),
		"SplitFPR slices":        err2(Sliced{Bits: 9, K: 1, Slices: 10}.SplitFPR(1, 1)),
		"SplitHybrid k1":         err3(s.SplitHybrid(5, 1, .1, 0)),
		"SplitHybrid failed":     err3(s.SplitHybrid(2, 11, .1, 0)),
		"SplitHybrid p":          err3(s.SplitHybrid(2, 1, nan, 0)),
		"SplitHybrid at least":   err3(s.SplitHybrid(2, 1, .1, 5)),
		"as distinct failed":     err3(s.HorizontalFailedAsDistinct(-1, .1)),
		"as distinct p":          err3(s.HorizontalFailedAsDistinct(1, 1.1)),
		"misses, horizontal":     err2(HorizontalMissTolerance(1, 0)),
		"misses, NaN":            err2(HorizontalMissTolerance(1, nan)),
		"misses, failed":         err2(HorizontalMissTolerance(-1, .1)),
		"misses, k":              err2(VerticalMissTolerance(1, 0, .1)),
		"misses, too many":       err2(VerticalMissTolerance(1, 1, 1e-12)),
		"Diced inner":            err2(Diced{Bits: 9, K: 1, Slices: 1}.HVFPR(1)),
		"Diced slices":           err2(Diced{Bits: 9, K: 1, Slices: 5, Inner: 2}.VHFPR(1)),
		"Diced overflow":         err2(Diced{Bits: 9, K: 1, Slices: math.MaxInt, Inner: math.MaxInt}.VHFPR(1)),
		"Diced failed":           err2(Diced{Bits: 9, K: 1, Slices: 2, Inner: 2}.FailedFPR(5, .1)),
		"Diced K":                err2(Diced{Bits: 9, Slices: 2, Inner: 2}.HVFPR(1)),
		"Fairness none":          err2(Fairness(nil)),
		"Fairness zero":          err2(Fairness([]int{0, 0})),
		"Fairness negative":      err2(Fairness([]int{1, -1})),
		"SplitFairness slices":   err2(SplitFairness(0, 1, .1)),
		"SplitFairness k1":       err2(SplitFairness(1, 0, .1)),
		"SplitFairness squares":  err2(SplitFairness(1, 1, nan)),
		"Pipelined set":          err2(s.PipelinedAccesses(nan)),
		"Pipelined K":            err2(Sliced{Bits: 10, K: 129, Slices: 1}.PipelinedAccesses(.5)),
		"Pipelined slices":       err2(Sliced{Bits: 10, K: 1}.PipelinedAccesses(.5)),
		"Tree n":                 err2(tree.SparseFPR(-1)),
		"Tree K":                 err2(Tree{Bits: 10}.SparseFPR(1)),
		"Tree fan-out":           err2(Tree{Bits: 10, K: 1, FanOut: []int{0}}.SparseFPR(1)),
		"Tree nodes":             err2(Tree{Bits: 10, K: 1, FanOut: []int{math.MaxInt, 2}}.SparseFPR(1)),
		"Tree top-down":          err2(tree.SparseTopDownFPR(1, 3)),
		"Tree top-down n":        err2(tree.SparseTopDownFPR(-1, 1)),
		"FalseMatches growing":   err2(FalseMatches([]float64{.1, .2})),
		"FalseMatches NaN":       err2(FalseMatches([]float64{nan})),
		"FalseMatches too large": err2(FalseMatches([]float64{1.2, .3})),
	} {
		if !errors.Is(err, ErrDomain) {
			t.Errorf("%s: error is %v", name, err)
		}
	}
}
