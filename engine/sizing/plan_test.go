// SPDX-License-Identifier: Apache-2.0

package sizing

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"math/rand/v2"
	"path/filepath"
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
	"jumping":                {Kind: Jumping, Elements: 1e6, FPR: 0.01, Key: Other},
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
			r := newRequest(a.Question)
			for i := range a.Candidates {
				c := &a.Candidates[i]
				checkCandidate(t, r, c)
				rival := c.Meets && !c.Method.yardstick && !c.Method.measured && (c.Runs || !a.Recommended.Runs)
				if rival && c.FNR < a.Recommended.FNR/closeEnough && a.Recommended.FNR > a.Question.FNR {
					t.Errorf("%s has FNR %g, %s was recommended with %g", c.Method.Name, c.FNR, a.Recommended.Method.Name, a.Recommended.FNR)
				}
			}
		})
	}
}

func checkCandidate(t *testing.T, r *request, c *Candidate) {
	t.Helper()
	name := c.Method.Name
	if !c.Method.expresses(&r.Question) {
		t.Errorf("%s cannot express the window", name)
	}
	if c.Meets == (c.Why != "") || c.Meets && c.FPR > r.FPR {
		t.Errorf("%s: meets is %v with FPR %g, why %q", name, c.Meets, c.FPR, c.Why)
	}
	if r.MemoryBits > 0 && c.MemoryBits > r.MemoryBits {
		t.Errorf("%s takes %d bits of %d", name, c.MemoryBits, r.MemoryBits)
	}
	for _, p := range append(c.Curve, Point{c.MemoryBits, c.FPR, c.FNR}) {
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
	if err != nil || d.fpr > r.FPR || d.fnr > r.FNR {
		t.Errorf("%s: the %d bits needed are not enough: %+v, %v", name, c.NeededBits, d.fpr, err)
	}
	less := c.NeededBits*19/20 - lineBits
	if d, err := of(r, max(less, 1)); err == nil && d.fpr <= r.FPR && d.fnr <= r.FNR && less > 0 {
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

// TestShapes expects LRU rows in the shape that stream.New chooses for the same bound,
// and rows of other widths only if they are better.
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
		if cells := uint64(lru.value("lines") * lru.value("rows of a line") * lru.value("cells")); stats.Cells != cells || stats.FPRBound != lru.FPR {
			t.Errorf("FPR %g: %d cells and FPR %g, the engine has %d and %g", fpr, cells, lru.FPR, stats.Cells, stats.FPRBound)
		}
		for i := range a.Candidates {
			if c := &a.Candidates[i]; c.Method.Name == "rows" && (!c.Meets || c.FNR > lru.FNR/closeEnough) {
				t.Errorf("FPR %g: rows of FNR %g beside %g of the engine's", fpr, c.FNR, lru.FNR)
			}
		}
	}
	a, err := Plan(Question{MemoryBits: 1 << 20, FPR: 0.0005}) // exactly the rate of 32x16
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range a.Candidates {
		if c.Method.Name == "rows" {
			t.Errorf("%+v beside the same shape", c)
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
		{Question{Method: "sbf-paper", MemoryBits: 3, Fixed: Parameters{K: 4}}, "K = 4 hash functions need at least 5 cells of 1 bits, which are 5 bits of memory; the 3 bits given are enough for K up to 2"},
		{Question{Method: "bsbf-paper", MemoryBits: 3, Fixed: Parameters{K: 4}}, "enough for K up to 3"},
		{Question{Method: "sbf-paper", MemoryBits: 64, Fixed: Parameters{K: 2, P: 65, CellBits: 1}}, "must be from 1 to the 64 cells"},
		{Question{Method: "qht-paper", MemoryBits: 1 << 20, Fixed: Parameters{Cells: 4, CellBits: 2}}, "at least 3 bits"},
		{Question{Method: "qht-paper", MemoryBits: 1 << 20, Fixed: Parameters{Cells: 4, CellBits: 17}}, "from 1 to 16"},
		{Question{Method: "sqf", MemoryBits: 1 << 20, Fixed: Parameters{Cells: 1, CellBits: 2}}, "from 3 to 16"},
		{Question{Method: "cuckoo", MemoryBits: 1 << 20, Fixed: Parameters{Cells: 4, CellBits: 3}}, "at least 4 bits"},
		{Question{Method: "rows", MemoryBits: 1 << 20, Fixed: Parameters{Cells: 64, CellBits: 16}}, "at most 32 cells"},
		{Question{Method: "lru", MemoryBits: 1 << 20, Fixed: Parameters{Cells: 5, CellBits: 9}}, "one of the shapes 8x8, 32x16, 4x16, 16x32, 8x64; method rows takes others"},
		{Question{Method: "lru", MemoryBits: 100}, "at least 512"},
		{Question{Method: "lru", Fixed: Parameters{K: 3}}, "it takes Cells, CellBits"},
		{Question{Method: "timed", Fixed: Parameters{K: 3}}, "follow from the memory"},
		{Question{Method: "sbf", Fixed: Parameters{K: -1}}, "at least 1"},
		{Question{Fixed: Parameters{K: 4}}, "no method is named"},
		{Question{Method: "magic"}, "methods for a window of kind unbounded: timed, lru, qht, qqhtd, sbf"},
		{with(func(q *Question) { q.Method = "sbf" }), "cannot express a window of kind sliding; methods that can: timed"},
		{Question{Kind: Landmark, Elements: 9, Key: Other, Method: "exact-rows"}, "only takes IPv4 addresses"},
		{Question{Kind: Sliding}, "0 elements in the window, must be from 1"},
		{with(func(q *Question) { q.Distinct = 1.5 }), "at most 1"},
		{with(func(q *Question) { q.Different = 1001 }), "1001 different elements among 1000, must be at most as many"},
		{with(func(q *Question) { q.Length = -1 }), "stream of -1 elements"},
		{Question{Method: "sbf", MemoryBits: 1 << 20, Fixed: Parameters{K: 5, CellBits: 1}}, "sbf-paper is the published form"},
		{with(func(q *Question) { q.FPR = math.NaN() }), "between 0 and 1"},
		{with(func(q *Question) { q.FNR = 1 }), "between 0 and 1"},
		{with(func(q *Question) { q.MemoryBits = -1 }), "from 1 to 2^46"},
		{with(func(q *Question) { q.Kind = 9 }), "from 0 to 4"},
		{with(func(q *Question) { q.Key = 9 }), "from 0 to 2"},
		{with(func(q *Question) { q.Parts = 1 }), "from 2 to 254"},
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

// TestFixed expects fixed parameters to be kept.
func TestFixed(t *testing.T) {
	c := planned(t, Question{MemoryBits: 1 << 20, FPR: 0.1, Fixed: Parameters{K: 3, P: 11, CellBits: 2}}, "sbf")
	if c.value("K") != 3 || c.value("P") != 11 || c.value("Max") != 3 || c.value("cells") != 1<<19 {
		t.Errorf("%+v", c.Parameters)
	}
	c = planned(t, Question{MemoryBits: 1 << 20, FPR: 0.1, Fixed: Parameters{Cells: 8, CellBits: 8}}, "lru")
	if c.value("cells") != 8 || c.value("cell bits") != 8 || c.value("rows of a line") != 8 {
		t.Errorf("%+v", c.Parameters)
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

// exported returns the names that the Go files of a folder declare.
func exported(t *testing.T, folder string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				names[n.Name.Name] = true
				return false
			case *ast.TypeSpec:
				names[n.Name.Name] = true
			}
			return true
		})
	}
	return names
}

// TestMethods expects the constructors and types that methods name to exist.
func TestMethods(t *testing.T) {
	references := exported(t, "../paper")
	seen := map[string]bool{}
	for _, m := range Methods() {
		if seen[m.Name] || m.Title == "" || m.Source == "" || m.Certainty == "" {
			t.Errorf("%+v", m)
		}
		seen[m.Name] = true
		for name := range strings.SplitSeq(m.Engine, ", ") {
			if folder, constructor, ok := strings.Cut(name, "."); ok != (m.Engine != "") || ok && !exported(t, "../"+folder)[constructor] {
				t.Errorf("%s: no %s", m.Name, name)
			}
		}
		if m.Reference != "" && !references[m.Reference] {
			t.Errorf("%s: no paper.%s", m.Name, m.Reference)
		}
	}
}

// TestAnyQuestion asks random questions, extremes included, and expects finite rates or
// an error.
func TestAnyQuestion(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 6))
	all := Methods()
	power := func(most float64) float64 { return math.Exp2(math.Floor(random.Float64() * (most + 1))) }
	planned := 0
	for range 150 {
		q := Question{
			Kind: Kind(random.IntN(5)), Key: Key(random.IntN(3)), Parts: 2 + random.IntN(253),
			Elements: power(60), Distinct: 1 / power(30), FPR: 0.5 / power(40), FNR: 0.5 / power(20),
			Method: all[random.IntN(len(all))].Name,
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

// TestFillsUp checks that the rates of methods that fill up are a limit, unless the
// stream has a length.
func TestFillsUp(t *testing.T) {
	for _, c := range []struct {
		method string
		k      int
		fills  bool
	}{{"bsbfsd", 2, true}, {"bsbfsd", 1, true}, {"bsbf", 1, true}, {"rlbsbf", 1, true}, {"bsbfsd-paper", 2, true}, {"bsbf", 2, false}, {"rlbsbf", 2, false}, {"rsbf", 1, false}} {
		for _, length := range []float64{0, 1e6} {
			q := Question{Method: c.method, Fixed: Parameters{K: c.k}, Key: Other, MemoryBits: 1 << 19, FPR: 1e-6, Length: length}
			plan := planned(t, q, c.method)
			if got, want := strings.Contains(plan.Why, "limit, never reached"), c.fills && length == 0; got != want {
				t.Errorf("%s, K = %d, %v elements: %q, FPR %v", c.method, c.k, length, plan.Why, plan.FPR)
			}
		}
	}
}
