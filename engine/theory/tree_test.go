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
		"SplitFPR k1":           err2(s.SplitFPR(3, 1)),
		"SplitFPR no k1":        err2(s.SplitFPR(0, 1)),
		"SplitFPR n":            err2(s.SplitFPR(2, -1)),
		"SplitFPR large n":      err2(s.SplitFPR(2, maxTrials)),
		"SplitFPR slices":       err2(Sliced{Bits: 9, K: 1, Slices: 10}.SplitFPR(1, 1)),
		"SplitHybrid k1":        err3(s.SplitHybrid(5, 1, .1, 0)),
		"SplitHybrid failed":    err3(s.SplitHybrid(2, 11, .1, 0)),
		"SplitHybrid p":         err3(s.SplitHybrid(2, 1, nan, 0)),
		"SplitHybrid at least":  err3(s.SplitHybrid(2, 1, .1, 5)),
		"Tolerance":             err2(Tolerance(1, 1, .2, .1)),
		"Tolerance k":           err2(Tolerance(1, 0, .1, .2)),
		"Tolerance failed":      err2(Tolerance(-1, 2, .1, .2)),
		"Tolerance near":        err2(Tolerance(1, 1, .1, .1+1e-12)),
		"MissTolerance":         err2(MissTolerance(1, 1, 0)),
		"MissTolerance k":       err2(MissTolerance(1, 0, .1)),
		"Fairness none":         err2(Fairness(nil)),
		"Fairness zero":         err2(Fairness([]int{0, 0})),
		"Fairness negative":     err2(Fairness([]int{1, -1})),
		"SplitFairness slices":  err2(SplitFairness(0, 1, .1)),
		"SplitFairness k1":      err2(SplitFairness(1, 0, .1)),
		"SplitFairness squares": err2(SplitFairness(1, 1, nan)),
		"Pipelined set":         err2(s.PipelinedAccesses(nan)),
		"Pipelined K":           err2(Sliced{Bits: 10, K: 129, Slices: 1}.PipelinedAccesses(.5)),
		"Pipelined slices":      err2(Sliced{Bits: 10, K: 1}.PipelinedAccesses(.5)),
		"Tree n":                err2(tree.SparseFPR(-1)),
		"Tree K":                err2(Tree{Bits: 10}.SparseFPR(1)),
		"Tree fan-out":          err2(Tree{Bits: 10, K: 1, FanOut: []int{0}}.SparseFPR(1)),
		"Tree nodes":            err2(Tree{Bits: 10, K: 1, FanOut: []int{math.MaxInt, 2}}.SparseFPR(1)),
		"Tree top-down":         err2(tree.SparseTopDownFPR(1, 3)),
		"Tree top-down n":       err2(tree.SparseTopDownFPR(-1, 1)),
	} {
		if !errors.Is(err, ErrDomain) {
			t.Errorf("%s: error is %v", name, err)
		}
	}
}
