// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
)

var (
	quoted   = regexp.MustCompile("`([^`]+)`")
	symbol   = regexp.MustCompile(`^((?:asm|bench|capture|cmd|engine|layout)(?:/\w+)*)\.(\w+(?:\.\w+)?)$`)
	tableRef = regexp.MustCompile(`^(?:p\d|rivals)\.\w+$`)
	program  = regexp.MustCompile(`^(flowdedup|flowdedup-hub)(?: ([a-z]+))?((?: --?.*)?)$`)
	flagName = regexp.MustCompile(` --([a-z-]+)`)
)

// sources are the folders whose literals name the commands and flags of a program.
var sources = map[string][]string{
	"flowdedup":     {"cmd/flowdedup", "cmd/flowdedup/internal"},
	"flowdedup-hub": {"engine/cluster/cmd/flowdedup-hub"},
}

const (
	root     = "../.."
	testFile = "test " // before the name of a test
)

// TestCompleteness finds each symbol, test, table and command that COMPLETENESS.md names. Each row
// but those of what is missing names where it is, and a test. Each table of the papers is named.
func TestCompleteness(t *testing.T) {
	page := string(result.Must(os.ReadFile("COMPLETENESS.md")))
	known, tables := names{}, allTables()
	named := map[string]bool{}
	for _, found := range quoted.FindAllStringSubmatch(page, -1) {
		known.check(t, found[1], tables)
		named[found[1]] = true
	}
	rows := 0
	for line := range strings.Lines(page) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| what") {
			continue
		}
		if rows++; len(cells) != 4 && !strings.Contains(line, "**missing**") {
			t.Errorf("%d cells: %s", len(cells), line)
		} else if !strings.HasPrefix(line, "| **missing**") && (!strings.Contains(cells[1], "`") || !known.hasTest(t, cells[2])) {
			t.Errorf("it is nowhere, or nothing holds it: %s", line)
		}
	}
	if rows < 120 {
		t.Errorf("%d rows", rows)
	}
	for _, table := range tables {
		if !named[table] && !strings.HasPrefix(table, "rivals.") {
			t.Errorf("%s is not in COMPLETENESS.md", table)
		}
	}
}

// hasTest reports whether a cell names a test.
func (n names) hasTest(t *testing.T, cell string) bool {
	t.Helper()
	for _, found := range quoted.FindAllStringSubmatch(cell, -1) {
		if m := symbol.FindStringSubmatch(found[1]); m != nil && n.of(t, m[1])[testFile+m[2]] {
			return true
		}
	}
	return false
}

func allTables() (all []string) {
	for _, e := range experiments() {
		all = append(all, e.Tables...)
	}
	return all
}

// names are the declarations and string literals of folders, as far as they were read.
type names map[string]map[string]bool

// check reports a word of the page that names nothing.
func (n names) check(t *testing.T, word string, tables []string) {
	t.Helper()
	if m := symbol.FindStringSubmatch(word); m != nil {
		if !n.of(t, m[1])[m[2]] {
			t.Errorf("%s has no %s", m[1], m[2])
		}
		return
	}
	if tableRef.MatchString(word) {
		if !slices.Contains(tables, word) {
			t.Errorf("no table %s", word)
		}
		return
	}
	m := program.FindStringSubmatch(word)
	if m == nil {
		return
	}
	wanted := []string{m[2]}
	for _, f := range flagName.FindAllStringSubmatch(m[3], -1) {
		wanted = append(wanted, f[1])
	}
	for _, want := range wanted {
		has := func(folder string) bool { return n.of(t, folder)[strconv.Quote(want)] }
		if want != "" && !slices.ContainsFunc(under(t, sources[m[1]]), has) {
			t.Errorf("%s has no %s", m[1], want)
		}
	}
}

// under returns folders and all folders below them.
func under(t *testing.T, folders []string) (all []string) {
	t.Helper()
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join(root, filepath.FromSlash(folder)), func(path string, d os.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				all = append(all, filepath.ToSlash(result.Must(filepath.Rel(root, path))))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// of returns the names of a folder: functions, types, variables and constants, methods behind their
// type, tests behind testFile too, and quoted the string literals of its programs.
func (n names) of(t *testing.T, folder string) map[string]bool {
	t.Helper()
	if n[folder] != nil {
		return n[folder]
	}
	all := map[string]bool{}
	n[folder] = all
	for _, name := range result.Must(filepath.Glob(filepath.Join(root, filepath.FromSlash(folder), "*.go"))) {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		test := strings.HasSuffix(name, "_test.go")
		for _, d := range file.Decls {
			declare(all, d)
			if f, ok := d.(*ast.FuncDecl); ok && test && strings.HasPrefix(f.Name.Name, "Test") {
				all[testFile+f.Name.Name] = true
			}
		}
		ast.Inspect(file, func(node ast.Node) bool {
			if lit, ok := node.(*ast.BasicLit); ok && lit.Kind == token.STRING && !test {
				all[lit.Value] = true
			}
			return true
		})
	}
	return all
}

// declare adds the names of a declaration.
func declare(all map[string]bool, d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		name := d.Name.Name
		if d.Recv != nil {
			of := d.Recv.List[0].Type
			if star, ok := of.(*ast.StarExpr); ok {
				of = star.X
			}
			if ident, ok := of.(*ast.Ident); ok {
				name = ident.Name + "." + name
			}
		}
		all[name] = true
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				all[spec.Name.Name] = true
			case *ast.ValueSpec:
				for _, ident := range spec.Names {
					all[ident.Name] = true
				}
			}
		}
	}
}
