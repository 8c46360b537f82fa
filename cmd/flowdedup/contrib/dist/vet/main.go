// SPDX-License-Identifier: Apache-2.0

// Command vet is "go vet" for systems and CPUs other than this machine's. It checks the types of all
// packages from their sources, and of the standard library, where go vet compiles what a package
// imports. GOOS and GOARCH choose the target.
package main

import (
	"go/ast"
	"regexp"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/multichecker"
	"golang.org/x/tools/go/analysis/suite/vet"
)

func main() { multichecker.Main(append(vet.Suite, implemented)...) }

// implemented finds what go vet leaves to the compiler and the linker.
var implemented = &analysis.Analyzer{
	Name: "implemented",
	Doc:  "report functions that have neither a body nor assembly for the target",
	Run:  reportMissing,
}

// symbol matches the head of a function in assembly.
var symbol = regexp.MustCompile(`(?m)^TEXT ·(\w+)\(SB\)`)

func reportMissing(pass *analysis.Pass) (any, error) {
	assembly := map[string]bool{}
	for _, name := range pass.OtherFiles {
		if !strings.HasSuffix(name, ".s") {
			continue
		}
		text, err := pass.ReadFile(name)
		if err != nil {
			return nil, err
		}
		for _, found := range symbol.FindAllSubmatch(text, -1) {
			assembly[string(found[1])] = true
		}
	}
	for _, file := range pass.Files {
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Body == nil && !assembly[f.Name.Name] {
				pass.Reportf(f.Pos(), "%s has neither a body nor assembly", f.Name.Name)
			}
		}
	}
	return nil, nil
}
