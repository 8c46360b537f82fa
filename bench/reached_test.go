// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// libraries are the packages, and folders of packages, whose exported names and kernels
// need a user.
var libraries = []string{face, "layout", "asm", "engine", "capture"}

// helpers are packages that only tests import.
var helpers = []string{"capture/certs/certstest", "capture/internal/capturetest", "capture/internal/frametest", "capture/records/internal/exporttest", "engine/sizing/sizingtest"}

// references are the packages that tests reach.
var references = []string{"asm/internal", "engine/internal/check", "engine/paper", "engine/theory"}

// hubSide are packages that the hub, a separate module, uses too.
var hubSide = []string{"capture/certs", "engine/hubclient", "engine/distinct/countfile"}

// unreached are exported names that need no user in this module. Each has its reason.
var unreached = map[string]string{
	"asm/permute.Bijection.Invert": "states that Permute is a permutation; tests aim at lines with it",

	"capture/pcapfile.DefaultChunkSize": "is what a ChunkSize of 0 stands for",

	"capture/gopackets.Config.Ahead":           handles,
	"capture/gopackets.Config.Detector":        handles,
	"capture/gopackets.Config.LinkType":        handles,
	"capture/gopackets.Packets.Counts":         handles,
	"capture/gopackets.SourceConfig.LinkType":  handles,
	"capture/gopackets.SourceConfig.Temporary": handles,
	"capture/gopackets.ZeroCopy":               handles,
	"capture/afpacket.DefaultBlockBytes":       "is what a BlockBytes of 0 stands for",

	"engine/distinct/windows.SavedCounter": savedPart,
	"engine/distinct/windows.SavedWindow":  savedPart,
}

const (
	savedPart = "is a part of what is saved, which is written whole"
	handles   = "is for programs with handles of gopacket, which flowdedup has none of"
	blockType = "is a type that blocks of a Batch have"
)

// unreachedKernels are the same of functions in assembly.
var unreachedKernels = map[string]string{
	"lineBaselineAVX512": "is what benchmarks measure kernels by; a test file cannot hold assembly",
	"sumMessagesLanes":   "is what tests run in place of sumMessagesVAES on CPUs without VAES",
}

// TestReached wants a user for every exported name of the libraries: code of another
// package that is not a test. Functions of examples count, as they show the library's
// uses for programs that are not here. Other packages also reach
//
//   - the types of the names they use,
//   - the methods that an interface requires of a type,
//   - the constants of a type that they reach, which are its values,
//   - errors, which the comments of functions promise to programs.
//
// Of fields, those of types called Config are checked: an option that nobody sets is
// useless.
//
// The papers' formulas and filters, and the common code of tests, are references: where
// no program runs one, tests compare others with it, and these uses count.
func TestReached(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("names that only Linux uses have no users here")
	}
	m := loadModule(t)
	for _, p := range m.packages {
		m.noteUses(t, p)
	}
	inTests := namesIn(t, isTest, "../asm", "../engine", ".")
	inHub := namesIn(t, func(name string) bool { return !isTest(name) }, "../engine/cluster")
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
			if covers(hubSide, p.name()) {
				used = used || inHub[name[strings.LastIndexByte(name, '.')+1:]]
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

// TestKernelsReached wants a path to every function in assembly, on any CPU, from the
// exported names of its package: from one function to the functions that its body names,
// over all files that are no tests.
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

// functionsOf returns the names in the bodies of a folder's functions, by function, and
// the functions without a body. Names outside of functions belong to "init".
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

func isTest(name string) bool { return strings.HasSuffix(name, "_test.go") }

// namesIn returns all names in such files below the folders.
func namesIn(t *testing.T, wanted func(name string) bool, folders ...string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(dir string, d os.DirEntry, err error) error {
			if err != nil || !d.IsDir() {
				return err
			}
			for _, file := range parsed(t, dir, wanted) {
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
