// SPDX-License-Identifier: Apache-2.0

// Command fields prints the page of the manual with all fields of the JSON of all commands:
// names and types as the structs in the sources have them, and meanings from meanings.txt. One
// name has one meaning in all commands.
//
//	go run ./cmd/flowdedup/doc/fields > cmd/flowdedup/doc/fields.md
package main

import (
	_ "embed"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

const module = "github.com/flowdedup/flowdedup/"

// meanings has a line for each field: its name, a tab, its meaning.
//
//go:embed meanings.txt
var meanings string

//go:embed intro.md
var intro string

const rooms = "cmd/flowdedup/internal/"

// roots are the structs that commands print.
var roots = []struct{ command, dir, name string }{
	{"dedup", rooms + "dedup", "Summary"}, {"live", rooms + "monitor", "Summary"}, {"live", rooms + "count", "Line"},
	{"live", rooms + "live", "pastReport"}, {"inspect", rooms + "inspect", "Summary"}, {"compare", rooms + "compare", "Summary"},
	{"verify", rooms + "verify", "summary"}, {"flows", rooms + "flows", "summary"}, {"flows", rooms + "count", "Line"},
	{"plan", rooms + "plan", "result"}, {"distinct", rooms + "count", "Line"}, {"distinct", rooms + "count", "Sighting"},
	{"distinct", rooms + "count", "Top"},
	{"distinct", rooms + "distinct", "portsLine"}, {"distinct", rooms + "distinct", "sensorLine"},
	{"distinct", rooms + "distinct", "overlapLine"}, {"hub", "engine/cluster/hub", "Status"},
}

// saved is a field that only files have: a status leaves it empty.
const saved = "window_us"

func main() {
	if len(os.Args) > 1 {
		fmt.Fprintln(os.Stderr, "fields takes no arguments; run it at the top of the repository")
		os.Exit(2)
	}
	page, err := pageOf(".")
	if err != nil {
		fmt.Fprintln(os.Stderr, "fields:", err)
		os.Exit(1)
	}
	fmt.Print(page)
}

// field is a field of all commands that have it.
type field struct{ commands, types []string }

// reader reads the structs below a folder.
type reader struct {
	root   string
	dirs   map[string]map[string]declared // of a folder, by name
	fields map[string]*field
}

// declared is a type with the imports of its file: folders by name.
type declared struct {
	expr    ast.Expr
	imports map[string]string
}

// pageOf returns the page for the sources below root. A field without a meaning, and a meaning
// without a field, are errors.
func pageOf(root string) (string, error) {
	r := &reader{root, map[string]map[string]declared{}, map[string]*field{}}
	for _, one := range roots {
		if err := r.add(one.command, one.dir, &ast.Ident{Name: one.name}, nil); err != nil {
			return "", err
		}
	}
	of := map[string]string{}
	for line := range strings.Lines(meanings) {
		name, meaning, _ := strings.Cut(strings.TrimSpace(line), "\t")
		of[name] = meaning
		if r.fields[name] == nil {
			return "", fmt.Errorf("meanings.txt: no command has a field %s", name)
		}
	}
	page, own := intro, map[string]string{} // rows of fields of one command
	for _, name := range slices.Sorted(maps.Keys(r.fields)) {
		f := r.fields[name]
		if of[name] == "" {
			return "", fmt.Errorf("meanings.txt: nothing says what field %s of %s means", name, strings.Join(f.commands, ", "))
		}
		types := strings.Join(f.types, " or ")
		if types == "integer" {
			types = "" // as the introduction says
		}
		if len(f.commands) > 1 {
			page += fmt.Sprintf("| `%s` | %s | %s | %s |\n", name, types, of[name], strings.Join(f.commands, ", "))
			continue
		}
		own[f.commands[0]] += fmt.Sprintf("| `%s` | %s | %s |\n", name, types, of[name])
	}
	for _, command := range slices.Sorted(maps.Keys(own)) {
		page += fmt.Sprintf("\n## %s\n\n| field | type | meaning |\n|---|---|---|\n%s", command, own[command])
	}
	return page, nil
}

// open returns the types of a folder.
func (r *reader) open(dir string) (map[string]declared, error) {
	if types, ok := r.dirs[dir]; ok {
		return types, nil
	}
	files, err := filepath.Glob(filepath.Join(r.root, filepath.FromSlash(dir), "*.go"))
	if err != nil {
		return nil, err
	}
	types := map[string]declared{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		imports := map[string]string{}
		for _, i := range file.Imports {
			path, _ := strconv.Unquote(i.Path.Value) // which the parser has checked
			imports[path[strings.LastIndex(path, "/")+1:]] = strings.TrimPrefix(path, module)
		}
		for _, d := range file.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.TYPE {
				for _, s := range g.Specs {
					spec := s.(*ast.TypeSpec)
					types[spec.Name.Name] = declared{spec.Type, imports}
				}
			}
		}
	}
	r.dirs[dir] = types
	return types, nil
}

// add adds the fields of a struct, or of the type that a type holds.
func (r *reader) add(command, dir string, t ast.Expr, imports map[string]string) error {
	switch t := t.(type) {
	case *ast.StarExpr:
		return r.add(command, dir, t.X, imports)
	case *ast.ArrayType:
		return r.add(command, dir, t.Elt, imports)
	case *ast.MapType:
		return r.add(command, dir, t.Value, imports)
	case *ast.StructType:
		return r.addFields(command, dir, t, imports)
	}
	dir, found, err := r.find(dir, t, imports)
	if err != nil || found.expr == nil {
		return err
	}
	return r.add(command, dir, found.expr, found.imports)
}

// find returns a named type and its folder; the zero type if it belongs to another module.
func (r *reader) find(dir string, t ast.Expr, imports map[string]string) (string, declared, error) {
	name := ""
	switch t := t.(type) {
	case *ast.Ident:
		name = t.Name
	case *ast.SelectorExpr:
		dir, name = imports[t.X.(*ast.Ident).Name], t.Sel.Name
	}
	types, err := r.open(dir)
	return dir, types[name], err
}

// addFields adds the fields of a struct. Those of embedded structs stand among them.
func (r *reader) addFields(command, dir string, s *ast.StructType, imports map[string]string) error {
	for _, f := range s.Fields.List {
		name := ""
		if f.Tag != nil {
			tag, _ := strconv.Unquote(f.Tag.Value) // which the parser has checked
			name, _, _ = strings.Cut(reflect.StructTag(tag).Get("json"), ",")
		}
		if name == "-" || name == saved || name == "" && len(f.Names) > 0 && !f.Names[0].IsExported() {
			continue
		}
		if name == "" && len(f.Names) > 0 {
			return fmt.Errorf("%s: field %s has no name for JSON", dir, f.Names[0].Name)
		}
		if name != "" {
			kind, err := r.kind(dir, f.Type, imports)
			if err != nil {
				return err
			}
			if r.fields[name] == nil {
				r.fields[name] = &field{}
			}
			r.fields[name].note(command, kind)
		}
		if err := r.add(command, dir, f.Type, imports); err != nil {
			return err
		}
	}
	return nil
}

func (f *field) note(command, kind string) {
	if !slices.Contains(f.commands, command) {
		f.commands = append(f.commands, command)
	}
	if !slices.Contains(f.types, kind) {
		f.types = append(f.types, kind)
	}
}

// kind returns the type of a field as JSON has it.
func (r *reader) kind(dir string, t ast.Expr, imports map[string]string) (string, error) {
	switch t := t.(type) {
	case *ast.StarExpr:
		return r.kind(dir, t.X, imports)
	case *ast.ArrayType:
		of, err := r.kind(dir, t.Elt, imports)
		return "[" + of + "]", err
	case *ast.MapType:
		of, err := r.kind(dir, t.Value, imports)
		return "object of " + of + "s", err
	case *ast.StructType:
		return "object", nil
	case *ast.Ident:
		switch {
		case t.Name == "string" || t.Name == "bool":
			return map[string]string{"string": "string", "bool": "boolean"}[t.Name], nil
		case strings.HasPrefix(t.Name, "int") || strings.HasPrefix(t.Name, "uint"):
			return "integer", nil
		case strings.HasPrefix(t.Name, "float"):
			return "number", nil
		}
	case *ast.SelectorExpr:
		if imports[t.X.(*ast.Ident).Name] == "time" {
			return map[string]string{"Duration": "integer", "Time": "string"}[t.Sel.Name], nil
		}
	}
	in, found, err := r.find(dir, t, imports)
	if err != nil || found.expr == nil {
		return "", fmt.Errorf("%s: a type that is not known: %v (%v)", dir, t, err)
	}
	return r.kind(in, found.expr, found.imports)
}
