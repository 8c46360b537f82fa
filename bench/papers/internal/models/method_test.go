// SPDX-License-Identifier: Apache-2.0

package models

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/engine/sizing"
)

// TestImpossible expects errors that name the value and the nearest valid one.
func TestImpossible(t *testing.T) {
	for _, c := range []struct {
		question Question
		want     string
	}{
		{Question{Question: sizing.Question{MemoryBits: 3}, Method: "sbf-paper", Fixed: Parameters{K: 4}}, "K = 4 hash functions need at least 5 cells of 1 bits, which are 5 bits of memory; the 3 bits given are enough for K up to 2"},
		{Question{Question: sizing.Question{MemoryBits: 3}, Method: "bsbf-paper", Fixed: Parameters{K: 4}}, "enough for K up to 3"},
		{Question{Question: sizing.Question{MemoryBits: 64}, Method: "sbf-paper", Fixed: Parameters{K: 2, P: 65, CellBits: 1}}, "must be from 1 to the 64 cells"},
		{Question{Question: sizing.Question{MemoryBits: 1 << 20}, Method: "qht-paper", Fixed: Parameters{Cells: 4, CellBits: 2}}, "at least 3 bits"},
		{Question{Question: sizing.Question{MemoryBits: 1 << 20}, Method: "qht-paper", Fixed: Parameters{Cells: 4, CellBits: 17}}, "from 1 to 16"},
		{Question{Question: sizing.Question{MemoryBits: 1 << 20}, Method: "sqf", Fixed: Parameters{Cells: 1, CellBits: 2}}, "from 3 to 16"},
		{Question{Question: sizing.Question{MemoryBits: 1 << 20}, Method: "cuckoo", Fixed: Parameters{Cells: 4, CellBits: 3}}, "at least 4 bits"},
		{Question{Question: sizing.Question{MemoryBits: 1 << 20}, Method: "rows", Fixed: Parameters{Cells: 64, CellBits: 16}}, "at most 32 cells"},
		{Question{Method: "rsbf", Fixed: Parameters{K: -1}}, "at least 1"},
		{Question{Fixed: Parameters{K: 4}}, "no method is named"},
		{Question{Method: "magic"}, "methods that there are: qht, qqhtd"},
		{Question{Method: "sbf-paper", Question: sizing.Question{Kind: sizing.Sliding, Elements: 5}}, "methods that there are: timers"},
		{Question{Method: "timers", Question: sizing.Question{Kind: sizing.Sliding, Elements: 5}, Parts: 1}, "from 2 to 254"},
		{Question{Method: "rsbf", Question: sizing.Question{MemoryBits: 1 << 20}, Fixed: Parameters{K: 50}}, "rsbf-paper is the published form"},
		{Question{Method: "buffer", Fixed: Parameters{K: 3}}, "follow from the memory"},
	} {
		_, err := Plan(c.question)
		if !errors.Is(err, sizing.ErrQuestion) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.question, err, c.want)
		}
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
	references := exported(t, "../../../../engine/paper")
	seen := map[string]bool{}
	for _, m := range Methods() {
		if seen[m.Name] || m.Source == "" || m.Certainty == "" {
			t.Errorf("%+v", m)
		}
		seen[m.Name] = true
		for name := range strings.SplitSeq(m.Engine, ", ") {
			if folder, constructor, ok := strings.Cut(name, "."); ok != (m.Engine != "") || ok && !exported(t, "../../../../engine/"+folder)[constructor] {
				t.Errorf("%s: no %s", m.Name, name)
			}
		}
		if m.Reference != "" && !references[m.Reference] {
			t.Errorf("%s: no paper.%s", m.Name, m.Reference)
		}
	}
}

// TestAnyQuestion asks random questions, extremes included, and expects finite rates or
// an error, in as much memory as there is.
func TestAnyQuestion(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 6))
	all := Methods()
	power := func(most float64) float64 { return math.Exp2(math.Floor(random.Float64() * (most + 1))) }
	planned := 0
	for range 150 {
		q := Question{Parts: 2 + random.IntN(253), Method: all[random.IntN(len(all))].Name, Question: sizing.Question{
			Kind: sizing.Kind(random.IntN(5)), Key: sizing.Key(random.IntN(3)),
			Elements: power(60), Distinct: 1 / power(30), FPR: 0.5 / power(40), FNR: 0.5 / power(20),
		}}
		if random.IntN(4) > 0 {
			q.MemoryBits = int(power(46))
		}
		switch random.IntN(3) {
		case 0:
			q.Different = q.Elements / power(40)
		case 1:
			q.Length = power(30) // crowds take time with the root of it
		}
		q.Refresh = random.IntN(2) == 0
		candidates, err := Plan(q)
		if err != nil {
			continue
		}
		planned++
		c := candidates[0]
		if !(c.FPR >= 0 && c.FPR <= 1 && c.FNR >= 0 && c.FNR <= 1) || q.MemoryBits > 0 && c.Bits > q.MemoryBits {
			t.Errorf("%+v: %+v", q, c)
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
			q := Question{Question: sizing.Question{Key: sizing.Other, MemoryBits: 1 << 19, FPR: 1e-6, Length: length}, Method: c.method, Fixed: Parameters{K: c.k}}
			plan := planned(t, q, c.method)
			if got, want := strings.Contains(plan.Why, "limit, never reached"), c.fills && length == 0; got != want {
				t.Errorf("%s, K = %d, %v elements: %q, FPR %v", c.method, c.k, length, plan.Why, plan.FPR)
			}
		}
	}
}
