package sizing

import (
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
)

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

// TestMethods wants the constructors and types that methods name to be there.
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

// TestAnyQuestion asks random questions, the extremes among them, and wants finite rates or
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
