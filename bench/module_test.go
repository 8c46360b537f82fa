// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// modulePackage is the output of "go list" for a package, and its type-checked form.
type modulePackage struct {
	Dir, ImportPath, Export string
	GoFiles, XTestGoFiles   []string
	Standard, DepOnly       bool

	types *types.Package // as others import it
}

// name returns the path below the module, "" for packages of others.
func (p *modulePackage) name() string {
	name, ours := inModule(p.ImportPath)
	if !ours {
		return ""
	}
	return name
}

// loadedModule is the packages of the module, and which names of them are used.
type loadedModule struct {
	packages   []*modulePackage
	files      *token.FileSet
	importer   types.Importer
	interfaces []*types.Interface    // all that are declared anywhere, with methods
	owners     map[*types.Var]string // of fields, by name
	used       map[string]bool       // by the name that nameOf gives
}

// goVersion is the line of a go.mod with the required version of Go.
var goVersion = regexp.MustCompile(`(?m)^go .*$`)

// withPapers returns the environment of a go command in which bench/papers, a separate
// module, belongs to this one.
func withPapers(t *testing.T) []string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "go.work")
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("%s\n\nuse (\n\t%q\n\t%q\n)\n", goVersion.Find(mod), root, filepath.Join(root, "bench", "papers"))
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return append(os.Environ(), "GOWORK="+name)
}

// loadModule reads the packages of the module as others import them.
func loadModule(t *testing.T) *loadedModule {
	t.Helper()
	list := exec.Command("go", "list", "-export", "-deps", "-json=Dir,ImportPath,Export,GoFiles,XTestGoFiles,Standard,DepOnly", module+"...")
	list.Env = withPapers(t)
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	m := &loadedModule{files: token.NewFileSet(), owners: map[*types.Var]string{}, used: map[string]bool{}}
	exports := map[string]string{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		p := &modulePackage{}
		if err := dec.Decode(p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if exports[p.ImportPath] = p.Export; p.name() != "" {
			m.packages = append(m.packages, p)
		}
	}
	m.importer = importer.ForCompiler(m.files, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	m.interfaces = append(m.interfaces, types.Universe.Lookup("error").Type().Underlying().(*types.Interface))
	for path, export := range exports {
		if export == "" {
			continue
		}
		p, err := m.importer.Import(path)
		if err != nil {
			t.Fatal(err)
		}
		m.noteTypes(p)
		for _, ours := range m.packages {
			if ours.ImportPath == path {
				ours.types = p
			}
		}
	}
	return m
}

// noteTypes records the interfaces of a package, and the owners of its exported fields.
func (m *loadedModule) noteTypes(p *types.Package) {
	for _, name := range p.Scope().Names() {
		object, ok := p.Scope().Lookup(name).(*types.TypeName)
		if !ok {
			continue
		}
		switch t := object.Type().Underlying().(type) {
		case *types.Interface:
			if t.NumMethods() > 0 {
				m.interfaces = append(m.interfaces, t)
			}
		case *types.Struct:
			for i := range t.NumFields() {
				m.owners[t.Field(i)] = name
			}
		}
	}
}

// noteUses checks a package's source, and records its uses of other packages.
func (m *loadedModule) noteUses(t *testing.T, p *modulePackage) {
	t.Helper()
	m.noteUsesIn(t, p, p.GoFiles, func(*ast.File, token.Pos) bool { return true })
	m.noteUsesIn(t, p, p.XTestGoFiles, inExample)
}

// inExample reports whether a position lies in the function of an example.
func inExample(file *ast.File, pos token.Pos) bool {
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Pos() <= pos && pos < f.End() {
			return strings.HasPrefix(f.Name.Name, "Example")
		}
	}
	return false
}

func (m *loadedModule) noteUsesIn(t *testing.T, p *modulePackage, names []string, counts func(*ast.File, token.Pos) bool) {
	t.Helper()
	var files []*ast.File
	for _, name := range names {
		file, err := parser.ParseFile(m.files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{}}
	config := types.Config{Importer: m.importer, FakeImportC: true, Error: func(error) {}} // examples may use names of tests
	if _, err := config.Check(p.ImportPath, m.files, files, info); err != nil && !strings.HasSuffix(names[0], "_test.go") {
		t.Fatal(err)
	}
	for ident, object := range info.Uses {
		if object.Pkg() == nil || object.Pkg().Path() == p.ImportPath && !strings.HasSuffix(names[0], "_test.go") {
			continue
		}
		i := slices.IndexFunc(files, func(f *ast.File) bool { return f.FileStart <= ident.Pos() && ident.Pos() < f.FileEnd })
		if counts(files[i], ident.Pos()) {
			m.use(object)
		}
	}
	for _, of := range info.Types {
		if i, ok := of.Type.(*types.Interface); ok && of.IsType() && i.NumMethods() > 0 {
			m.interfaces = append(m.interfaces, i)
		}
	}
}

// use records an object, and the types that its type has.
func (m *loadedModule) use(object types.Object) {
	if _, ok := object.(*types.TypeName); !ok {
		m.used[m.nameOf(object)] = true
	}
	m.useTypes(object.Type())
}

func (m *loadedModule) useTypes(t types.Type) {
	switch t := t.(type) {
	case interface{ Obj() *types.TypeName }: // named, an alias or a parameter
		if t.Obj().Pkg() == nil || m.used[m.nameOf(t.Obj())] {
			return
		}
		m.used[m.nameOf(t.Obj())] = true
		if s, ok := t.Obj().Type().Underlying().(*types.Slice); ok {
			m.useTypes(s)
		}
	case *types.Signature:
		m.useTypes(t.Params())
		m.useTypes(t.Results())
	case *types.Tuple:
		for i := range t.Len() {
			m.useTypes(t.At(i).Type())
		}
	case *types.Map:
		m.useTypes(t.Key())
		m.useTypes(t.Elem())
	case interface{ Elem() types.Type }: // a pointer, slice, array or channel
		m.useTypes(t.Elem())
	}
}

// nameOf returns the name of a package's object: "stream.Filter.Close".
func (m *loadedModule) nameOf(object types.Object) string {
	path := strings.TrimPrefix(object.Pkg().Path(), module)
	switch object := object.(type) {
	case *types.Var:
		if owner := m.owners[object.Origin()]; owner != "" {
			return path + "." + owner + "." + object.Name()
		}
	case *types.Func:
		if named := receiver(object.Origin()); named != nil {
			return path + "." + named.Obj().Name() + "." + object.Name()
		}
	}
	return path + "." + object.Name()
}

// receiver returns the type that a method is of, nil for a function.
func receiver(f *types.Func) *types.Named {
	recv := f.Signature().Recv()
	if recv == nil {
		return nil
	}
	t := recv.Type()
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	named, _ := t.(*types.Named)
	return named
}

// exported returns the exported names of a package: constants, variables, functions,
// types, fields and methods, except those that an interface requires.
func (m *loadedModule) exported(p *modulePackage) (names []string) {
	scope := p.types.Scope()
	for _, name := range scope.Names() {
		object := scope.Lookup(name)
		if object.Exported() && !m.isValue(object) {
			names = append(names, m.nameOf(object))
		}
		typeName, ok := object.(*types.TypeName)
		if !ok || typeName.IsAlias() || !object.Exported() {
			continue
		}
		named := typeName.Type().(*types.Named)
		for i := range named.NumMethods() {
			f := named.Method(i)
			switch {
			case !f.Exported():
			case m.asked(named, f.Name()):
				m.useTypes(f.Type())
			default:
				names = append(names, m.nameOf(f))
			}
		}
		if s, ok := named.Underlying().(*types.Struct); ok && strings.HasSuffix(name, "Config") {
			for i := range s.NumFields() {
				if f := s.Field(i); f.Exported() {
					names = append(names, m.nameOf(f))
				}
			}
		}
	}
	return names
}

// isValue reports whether a name is a constant of a type that is reached, or an error.
func (m *loadedModule) isValue(object types.Object) bool {
	named, ok := object.Type().(*types.Named)
	switch object.(type) {
	case *types.Const:
		return ok && m.used[m.nameOf(named.Obj())]
	case *types.Var:
		return ok && named.Obj() == types.Universe.Lookup("error")
	case *types.TypeName:
		err := types.Universe.Lookup("error").Type().Underlying().(*types.Interface)
		return types.Implements(object.Type(), err) || types.Implements(types.NewPointer(object.Type()), err)
	}
	return false
}

// asked reports whether an interface that a type implements has a method of that name. One
// with parameters is compared by the names of its methods.
func (m *loadedModule) asked(named *types.Named, method string) bool {
	own := types.NewMethodSet(types.NewPointer(named))
	return slices.ContainsFunc(m.interfaces, func(i *types.Interface) bool {
		has, all := false, true
		for j := range i.NumMethods() {
			name := i.Method(j).Name()
			has = has || name == method
			all = all && own.Lookup(named.Obj().Pkg(), name) != nil
		}
		return has && all
	})
}
