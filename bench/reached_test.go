package bench

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// libraries are the packages, and folders of packages, whose exported names and kernels
// need a user.
var libraries = []string{"layout", "asm", "engine", "capture"}

// helpers are packages that tests alone import.
var helpers = []string{"capture/internal/capturetest"}

// references are the packages that tests reach.
var references = []string{"asm/internal", "engine/internal/check", "engine/paper", "engine/theory"}

// unreached are exported names that need no user in this module. Each has its reason.
var unreached = map[string]string{
	"asm/permute.Bijection.Invert": "states that Permute is a permutation; tests aim at lines with it",

	"capture/pcapfile.DefaultChunkSize": "is what a ChunkSize of 0 stands for",

	"capture/flow.FlagFragment":                headerFlag,
	"capture/flow.FlagInner":                   headerFlag,
	"capture/flow.FlagVLAN":                    headerFlag,
	"capture/flow.KeyConfig.Validate":          "checks a configuration before a Keyer is made of it, which panics",
	"capture/dedup.Config.Identity":            "is for programs; flowdedup takes its own to a Detector",
	"capture/dedup.Config.Secret":              "is for programs; flowdedup takes its own to a Detector",
	"capture/dedup.BatchDetector.Prepare":      "is the first half of a Task, for programs with a pipeline of their own",
	"capture/flow.IgnoreAlso":                  "is for programs that ignore more than the defaults",
	"capture/gopackets.Config.Ahead":           handles,
	"capture/gopackets.Config.Detector":        handles,
	"capture/gopackets.Config.LinkType":        handles,
	"capture/gopackets.Packets.Counts":         handles,
	"capture/gopackets.SourceConfig.LinkType":  handles,
	"capture/gopackets.SourceConfig.Temporary": handles,
	"capture/gopackets.ZeroCopy":               handles,
	"capture/pipeline.Admitter":                "is an interface that tasks may have",
	"capture/ring.DefaultBlockBytes":           "is what a BlockBytes of 0 stands for",
	"capture/ring.SenderConfig.Queue":          "is for interfaces that shape traffic, as those of the tests do",
	"capture/ring.SenderConfig.RetryTimeout":   "belongs to Queue",

	"engine/distinct/multikey.SavedCounter": savedPart,
	"engine/distinct/multikey.SavedWindow":  savedPart,
}

const (
	savedPart  = "is a part of what is saved, which is written whole"
	handles    = "is for programs with handles of gopacket, which flowdedup has none of"
	blockType  = "is a type that blocks of a Batch have"
	headerFlag = "is a flag of Header.Flags, for programs that read headers"
)

// unreachedKernels are the same of functions in assembly.
var unreachedKernels = map[string]string{
	"lineFloorAVX512": "is what benchmarks measure kernels by; a test file cannot hold assembly",
}

// TestReached wants a user for every exported name of the libraries: code of another
// package that is not a test. Functions of examples count, as they show what the library
// has for programs that are not here. Other packages also reach
//
//   - the types of what they use,
//   - the methods that an interface asks for which a type implements,
//   - the constants of a type that they reach, which are its values,
//   - errors, which the comments of functions promise to programs.
//
// Of fields, those of types called Config are looked at: an option that nobody sets is none.
//
// The papers' formulas and filters, and what tests share, are references: where no program
// runs one, tests hold
// others against it, and these count.
func TestReached(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("names that only Linux uses have no users here")
	}
	m := loadModule(t)
	for _, p := range m.packages {
		m.noteUses(t, p)
	}
	inTests := testNames(t, "../asm", "../engine", ".")
	for _, p := range m.packages {
		if !covers(libraries, p.name()) || covers(helpers, p.name()) {
			continue
		}
		for _, name := range m.exported(p) {
			reason := unreached[name]
			used := m.used[name]
			if covers(references, p.name()) {
				last := name[strings.LastIndexByte(name, '.')+1:]
				used = used || inTests[last] || inTests["New"+last]
			}
			switch {
			case !used && reason == "":
				t.Errorf("nobody uses %s", name)
			case used && reason != "":
				t.Errorf("%s is used, and listed as a name that nobody needs to use", name)
			}
			delete(unreached, name)
		}
	}
	for name := range unreached {
		t.Errorf("%s is listed as a name that nobody needs to use, and does not exist", name)
	}
}

// modulePackage is what "go list" says of a package, and what it was checked to.
type modulePackage struct {
	Dir, ImportPath, Export string
	GoFiles, XTestGoFiles   []string
	Standard, DepOnly       bool

	types *types.Package // as others import it
}

// name returns the path below the module, "" for packages of others.
func (p *modulePackage) name() string {
	name, ours := strings.CutPrefix(p.ImportPath+"/", module)
	if !ours {
		return ""
	}
	return strings.TrimSuffix(name, "/")
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

// loadModule reads the packages of the module as others import them.
func loadModule(t *testing.T) *loadedModule {
	t.Helper()
	out, err := exec.Command("go", "list", "-export", "-deps", "-json=Dir,ImportPath,Export,GoFiles,XTestGoFiles,Standard,DepOnly", module+"...").Output()
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

// noteTypes notes the interfaces of a package, and the owners of its exported fields.
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

// noteUses checks a package's source, and notes what it uses of others.
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

// use notes an object, and the types that its type has.
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

// exported returns the exported names of a package: constants, variables, functions, types,
// fields and methods, but for those that an interface asks for.
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

// TestKernelsReached wants a way to every function in assembly, on any CPU, from what its
// package exports: from one function to those that its body names, over all files that are
// no tests.
func TestKernelsReached(t *testing.T) {
	kernels := 0
	err := filepath.WalkDir("../asm", func(dir string, d os.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		bodies, declared := functionsOf(t, dir)
		reached := reachedOf(bodies)
		for _, name := range declared {
			if kernels++; reached[name] == (unreachedKernels[name] != "") {
				t.Errorf("%s: %s is reached from what is exported: %v", dir, name, reached[name])
			}
		}
		return nil
	})
	if err != nil || kernels == 0 {
		t.Errorf("%d kernels, %v", kernels, err)
	}
}

// functionsOf returns what the functions of a folder name, by their own names, and which
// have no body. What stands outside of functions belongs to "init".
func functionsOf(t *testing.T, dir string) (bodies map[string][]string, declared []string) {
	t.Helper()
	bodies = map[string][]string{}
	for _, file := range parsed(t, dir, func(name string) bool { return !strings.HasSuffix(name, "_test.go") }) {
		for _, d := range file.Decls {
			name := "init"
			if f, ok := d.(*ast.FuncDecl); ok {
				if name = f.Name.Name; f.Body == nil {
					declared = append(declared, name)
				}
			}
			ast.Inspect(d, func(n ast.Node) bool {
				if ident, ok := n.(*ast.Ident); ok {
					bodies[name] = append(bodies[name], ident.Name)
				}
				return true
			})
		}
	}
	return bodies, declared
}

// reachedOf returns the functions that exported ones reach.
func reachedOf(bodies map[string][]string) map[string]bool {
	reached := map[string]bool{}
	var reach func(name string)
	reach = func(name string) {
		if reached[name] {
			return
		}
		reached[name] = true
		for _, other := range bodies[name] {
			if _, ok := bodies[other]; ok {
				reach(other)
			}
		}
	}
	for name := range bodies {
		if ast.IsExported(name) || name == "init" {
			reach(name)
		}
	}
	return reached
}

// parsed returns the Go files of a folder that have such names.
func parsed(t *testing.T, dir string, wanted func(name string) bool) (files []*ast.File) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !wanted(name) {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// testNames returns all names in tests below the folders.
func testNames(t *testing.T, folders ...string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(dir string, d os.DirEntry, err error) error {
			if err != nil || !d.IsDir() {
				return err
			}
			for _, file := range parsed(t, dir, func(name string) bool { return strings.HasSuffix(name, "_test.go") }) {
				ast.Inspect(file, func(n ast.Node) bool {
					if ident, ok := n.(*ast.Ident); ok {
						names[ident.Name] = true
					}
					return true
				})
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return names
}
