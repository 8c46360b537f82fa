// SPDX-License-Identifier: Apache-2.0

package sizing

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/engine/stream"
)

// questions are typical ones, at least one for each kind of window.
var questions = map[string]Question{
	"flows without end":      {Key: Other, MemoryBits: 8 << 20, FPR: 0.01},
	"packets without end":    {MemoryBits: 64 << 20, Distinct: 0.7},
	"memory of an unbounded": {Key: Other, FPR: 0.03, FNR: 0.05, Elements: 1e6},
	"packets in 10 ms":       {Kind: Sliding, Elements: 15_000},
	"packets in l2":          {Kind: Sliding, Elements: 15_000, MemoryBits: 16 << 20},
	"last million":           {Kind: Count, Elements: 1e6, Distinct: 0.9},
	"sources per hour":       {Kind: Landmark, Elements: 3e6, Key: IPv4},
	"flows per hour":         {Kind: Landmark, Elements: 3e6, Key: Other},
}

// testUnits are plain numbers.
var testUnits = Units{
	Size: func(bits int) string { return fmt.Sprint(bits, " bits") },
	FPR:  func(rate float64) string { return fmt.Sprintf("%.2g", rate) },
	FNR:  func(rate float64) string { return fmt.Sprintf("%.2g", rate) },
}

// TestAnswers checks the promises of every answer.
func TestAnswers(t *testing.T) {
	for name, q := range questions {
		t.Run(name, func(t *testing.T) {
			q.Curves = !testing.Short()
			a, err := Plan(q)
			if err != nil {
				t.Fatal(err)
			}
			if a.Recommended == nil || !a.Recommended.Meets || a.Reason(testUnits) == "" {
				t.Fatalf("recommended %+v, reason %q", a.Recommended, a.Reason(testUnits))
			}
			r := a.Request
			for i := range a.Candidates {
				c := &a.Candidates[i]
				checkCandidate(t, r, c)
				if c.Meets && c.Method.rank == usual && c.FNR < a.Recommended.FNR/closeEnough && a.Recommended.FNR > a.Question.FNR {
					t.Errorf("%s has FNR %g, %s was recommended with %g", c.Method.Name, c.FNR, a.Recommended.Method.Name, a.Recommended.FNR)
				}
			}
		})
	}
}

func checkCandidate(t *testing.T, r *Request, c *Candidate) {
	t.Helper()
	name := c.Method.Name
	if !c.Method.serves(&r.Question) {
		t.Errorf("%s does not serve the window", name)
	}
	if c.Meets == (c.Why != "") || c.Meets && c.FPR > r.FPR {
		t.Errorf("%s: meets is %v with FPR %g, why %q", name, c.Meets, c.FPR, c.Why)
	}
	if r.MemoryBits > 0 && c.Bits > r.MemoryBits {
		t.Errorf("%s takes %d bits of %d", name, c.Bits, r.MemoryBits)
	}
	for _, p := range append(c.Curve, c.Design) {
		if !(p.FPR >= 0 && p.FPR <= 1 && p.FNR >= 0 && p.FNR <= 1) {
			t.Errorf("%s: rates %+v", name, p)
		}
	}
	if math.IsNaN(c.Remembered) || math.IsNaN(c.BitsPerElement()) {
		t.Errorf("%s remembers %g elements", name, c.Remembered)
	}
	if c.NeededBits == 0 {
		return
	}
	of := c.Method.model
	d, err := of(r, c.NeededBits)
	if err != nil || d.FPR > r.FPR || d.FNR > r.FNR {
		t.Errorf("%s: the %d bits needed are not enough: %+v, %v", name, c.NeededBits, d.FPR, err)
	}
	less := c.NeededBits*19/20 - lineBits
	if d, err := of(r, max(less, 1)); err == nil && d.FPR <= r.FPR && d.FNR <= r.FNR && less > 0 {
		t.Errorf("%s: %d bits are enough, %d were said to be needed", name, less, c.NeededBits)
	}
}

// TestRecommended pins the recommendations for the typical questions.
func TestRecommended(t *testing.T) {
	for name, want := range map[string]string{
		"flows without end": "lru",
		"packets in 10 ms":  "timed",
		"packets in l2":     "timed",
		"sources per hour":  "exact-rows",
		"flows per hour":    "bloom-lines",
	} {
		a, err := Plan(questions[name])
		if err != nil {
			t.Fatal(err)
		}
		if got := a.Recommended.Method.Name; got != want {
			t.Errorf("%s: %s, want %s (%s)", name, got, want, a.Reason(testUnits))
		}
	}
}

// TestShapes expects LRU rows in the shape that stream.New chooses for the same bound.
func TestShapes(t *testing.T) {
	for _, fpr := range []float64{0.5, 1e-3, 1e-4, 1e-8, 1e-9, 1e-18} {
		q := Question{MemoryBits: 1 << 20, FPR: fpr}
		a, err := Plan(q)
		if err != nil {
			t.Fatal(err)
		}
		lru := a.Recommended
		if lru == nil || lru.Method.Name != "lru" {
			t.Fatalf("FPR %g: recommended %+v", fpr, lru)
		}
		s, err := stream.New(stream.Config{Memory: q.MemoryBits / 8, FPR: fpr})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		stats := s.Stats()
		if cells := uint64(lru.Parameters["lines"] * lru.Parameters["rows of a line"] * lru.Parameters["cells"]); stats.Cells != cells || stats.FPRBound != lru.FPR {
			t.Errorf("FPR %g: %d cells and FPR %g, the engine has %d and %g", fpr, cells, lru.FPR, stats.Cells, stats.FPRBound)
		}
	}
}

// TestImpossible expects errors that name the value and the nearest valid one.
func TestImpossible(t *testing.T) {
	window := Question{Kind: Sliding, Elements: 1000}
	with := func(change func(*Question)) Question {
		q := window
		change(&q)
		return q
	}
	for _, c := range []struct {
		question Question
		want     string
	}{
		{Question{Key: IPv4}, "no method answers for such elements in a window of kind unbounded"},
		{Question{Kind: Sliding}, "0 elements in the window, must be from 1"},
		{with(func(q *Question) { q.Distinct = 1.5 }), "at most 1"},
		{with(func(q *Question) { q.Different = 1001 }), "1001 different elements among 1000, must be at most as many"},
		{with(func(q *Question) { q.Length = -1 }), "stream of -1 elements"},
		{with(func(q *Question) { q.FPR = math.NaN() }), "between 0 and 1"},
		{with(func(q *Question) { q.FNR = 1 }), "between 0 and 1"},
		{with(func(q *Question) { q.MemoryBits = -1 }), "from 1 to 2^46"},
		{with(func(q *Question) { q.Kind = 9 }), "from 0 to 3"},
		{with(func(q *Question) { q.Key = 9 }), "from 0 to 2"},
		{with(func(q *Question) { q.Gaps = Gaps{{1, 0.5}} }), "must be 1"},
		{with(func(q *Question) { q.Gaps = Gaps{{5, 0.5}, {5, 0.5}} }), "above the bin before"},
		{with(func(q *Question) { q.Gaps = Gaps{{5, 2}, {6, -1}} }), "0 or more"},
		{with(func(q *Question) { q.Gaps = Gaps{{1e6, 1}} }), "within the window only"},
	} {
		_, err := Plan(c.question)
		if !errors.Is(err, ErrQuestion) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.question, err, c.want)
		}
	}
}

// TestNothingMeets expects the least memory that is enough, and no recommendation.
func TestNothingMeets(t *testing.T) {
	a, err := Plan(Question{Kind: Landmark, Elements: 1e6, Key: Other, MemoryBits: 8 << 10})
	if err != nil {
		t.Fatal(err)
	}
	if a.Recommended != nil || !strings.Contains(a.Reason(testUnits), "least memory that does") {
		t.Errorf("recommended %+v, reason %q", a.Recommended, a.Reason(testUnits))
	}
}

func TestHistogram(t *testing.T) {
	var h histogram
	if h.result() != nil {
		t.Error("an empty histogram has gaps")
	}
	h.add(1, 1)
	h.add(2, 1)
	h.add(1000, 2)
	g := h.result()
	if err := g.check(Question{}); err != nil {
		t.Fatal(err)
	}
	if g[0] != (Bin{1, 0.25}) || g[1] != (Bin{2, 0.25}) {
		t.Errorf("%v", g[:2])
	}
	if q := g.Quantile(0.9); q < 1000 || q > 1200 {
		t.Errorf("90 %% within %g", q)
	}
	if q := g.Times(10).Quantile(0.9); q < 8500 || q > 12_000 {
		t.Errorf("90 %% within %g, ten times as long", q)
	}
	h.add(math.Inf(1), 1)
	h.add(-3, 1)
	if err := h.result().check(Question{}); err != nil {
		t.Error(err)
	}
}

// TestAnyQuestion asks random questions, extremes included, and expects finite rates or
// an error.
func TestAnyQuestion(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 6))
	power := func(most float64) float64 { return math.Exp2(math.Floor(random.Float64() * (most + 1))) }
	planned := 0
	for range 150 {
		q := Question{
			Kind: Kind(random.IntN(4)), Key: Key(random.IntN(3)),
			Elements: power(60), Distinct: 1 / power(30), FPR: 0.5 / power(40), FNR: 0.5 / power(20),
		}
		if random.IntN(4) > 0 {
			q.MemoryBits = int(power(46))
		}
		switch random.IntN(3) {
		case 0:
			q.Different = q.Elements / power(40)
		case 1:
			q.Length = power(60)
		}
		q.Refresh = random.IntN(2) == 0
		a, err := Plan(q)
		if err != nil {
			continue
		}
		planned++
		for _, c := range a.Candidates {
			if !(c.FPR >= 0 && c.FPR <= 1 && c.FNR >= 0 && c.FNR <= 1 && c.Remembered >= 0) || math.IsInf(c.BitsPerElement(), 0) {
				t.Errorf("%+v: %+v", q, c)
			}
		}
	}
	if planned < 20 {
		t.Errorf("only %d of the questions were answered", planned)
	}
}
