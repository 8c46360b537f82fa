// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// root is the top of the repository, where go test runs this package.
const root = "../../.."

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	// unspoken is what GitHub leaves out of the name of a heading.
	unspoken = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	// source is a file of the project as the manual names it.
	source = regexp.MustCompile("`((?:asm|bench|capture|cmd|engine|internal|layout)/[a-z0-9_/]+\\.(?:go|s|md))`")
)

// TestLinks follows every relative link of every page: the file must exist, and so must
// the heading where the link names one.
func TestLinks(t *testing.T) {
	links := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && entry.Name() == ".git" {
			return filepath.SkipDir
		}
		if filepath.Ext(path) != ".md" {
			return nil
		}
		for _, found := range link.FindAllStringSubmatch(read(t, path), -1) {
			if target := found[1]; !strings.Contains(target, "://") {
				follow(t, path, target)
				links++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if links == 0 {
		t.Error("no links found")
	}
}

// TestSources finds every source file that the manual names: whoever moves one sees which
// pages mention it. Names that begin with internal belong to the command.
func TestSources(t *testing.T) {
	pages, err := filepath.Glob("*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal("no pages", err)
	}
	for _, page := range pages {
		for _, found := range source.FindAllStringSubmatch(read(t, page), -1) {
			folder := root
			if strings.HasPrefix(found[1], "internal/") {
				folder = ".."
			}
			if _, err := os.Stat(filepath.Join(folder, filepath.FromSlash(found[1]))); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
	}
}

// name is a name as the manual writes it, with its package or type: `window.Timed`,
// `Identity.Read(…)`.
var name = regexp.MustCompile("`([A-Za-z]\\w*)\\.([A-Za-z]\\w*)(?:\\.(\\w+))?[`({]")

// TestNames finds every name that the manual gives with its package or type: whoever renames
// one sees which pages mention it. Names of other modules are skipped.
func TestNames(t *testing.T) {
	declared, found := declarations(t), 0
	pages, err := filepath.Glob("*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal("no pages", err)
	}
	for _, page := range pages {
		for _, words := range name.FindAllStringSubmatch(read(t, page), -1) {
			scope, known := declared[words[1]]
			if !known || strings.HasPrefix(words[0], "`flowdedup.html`") { // a page
				continue
			}
			for _, word := range words[2:] {
				if found++; word != "" && !scope[word] {
					t.Errorf("%s: %s has no %s", page, words[1], word)
				}
			}
		}
	}
	if found == 0 {
		t.Error("no names found")
	}
}

// named is a name as comments write it, with its package: engine.Counter, capture.Batch.Frames.
var named = regexp.MustCompile(`(?:^|[\s(\[])([a-z]\w*)\.([A-Z]\w*)(?:\.(\w+))?`)

// TestComments finds every name that comments of the sources give with its package: whoever
// renames one sees which comments mention it. Packages of other modules are skipped.
func TestComments(t *testing.T) {
	declared, packages, found := declarations(t), map[string]bool{}, 0
	var sources []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch filepath.Ext(path) {
		case "":
			packages[filepath.Base(path)] = true
		case ".go", ".s":
			sources = append(sources, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range sources {
		for number, line := range strings.Split(read(t, path), "\n") {
			_, comment, _ := strings.Cut(line, "//")
			for _, words := range named.FindAllStringSubmatch(comment, -1) {
				if !packages[words[1]] || declared[words[1]] == nil {
					continue
				}
				found++
				if scope := declared[words[2]]; !declared[words[1]][words[2]] || words[3] != "" && scope != nil && !scope[words[3]] {
					t.Errorf("%s:%d: there is no %s", path, number+1, strings.TrimLeft(words[0], " \t(["))
				}
			}
		}
	}
	if found < 300 {
		t.Errorf("only %d names found", found)
	}
}

// placed is a name of the sources with the file that it is in, as the manual writes both:
// `Tally` (`capture/dedup/tally.go`), `Config.cells` in `internal/dedup/config.go`.
var placed = regexp.MustCompile("`([\\w.]+)`,?\\s+(?:\\(|in\\s+)`([\\w/]+\\.go)`")

// TestPlaces finds every name in the file that the manual gives for it.
func TestPlaces(t *testing.T) {
	found := placed.FindAllStringSubmatch(read(t, "architecture.md"), -1)
	for _, words := range found {
		folder := root
		if strings.HasPrefix(words[2], "internal/") {
			folder = ".."
		}
		name := words[1][strings.LastIndex(words[1], ".")+1:]
		if !regexp.MustCompile(`\b` + name + `\b`).MatchString(read(t, filepath.Join(folder, words[2]))) {
			t.Errorf("%s is not in %s", words[1], words[2])
		}
	}
	if len(found) < 15 {
		t.Errorf("only %d names with files found", len(found))
	}
}

// declarations returns what each package and each type declares, by its name.
func declarations(t *testing.T) map[string]map[string]bool {
	t.Helper()
	declared := map[string]map[string]bool{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		add := func(scope string, ids ...*ast.Ident) {
			if declared[scope] == nil {
				declared[scope] = map[string]bool{}
			}
			for _, id := range ids {
				declared[scope][id.Name] = true
			}
		}
		pkg := file.Name.Name
		if pkg == "main" { // main.go is a file
			return nil
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				add(pkg, f.Name)
				if f.Recv != nil {
					add(receiver(f), f.Name)
				}
				continue
			}
			for _, spec := range d.(*ast.GenDecl).Specs {
				switch spec := spec.(type) {
				case *ast.ValueSpec:
					add(pkg, spec.Names...)
				case *ast.TypeSpec:
					add(pkg, spec.Name)
					for _, f := range fields(spec.Type) {
						add(spec.Name.Name, f.Names...)
						add(pkg, f.Names...)
					}
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return declared
}

// receiver returns the name of the type that has a method.
func receiver(f *ast.FuncDecl) (name string) {
	ast.Inspect(f.Recv.List[0].Type, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && name == "" {
			name = id.Name
		}
		return name == ""
	})
	return name
}

// fields returns the fields of a struct, or the methods of an interface.
func fields(t ast.Expr) []*ast.Field {
	switch t := t.(type) {
	case *ast.StructType:
		return t.Fields.List
	case *ast.InterfaceType:
		return t.Methods.List
	}
	return nil
}

// follow checks one link of a page.
func follow(t *testing.T, page, target string) {
	t.Helper()
	name, fragment, _ := strings.Cut(target, "#")
	file := page
	if name != "" {
		file = filepath.Join(filepath.Dir(page), filepath.FromSlash(name))
	}
	if _, err := os.Stat(file); err != nil {
		t.Errorf("%s: link to %s: %v", page, target, err)
		return
	}
	if fragment != "" && !hasHeading(read(t, file), fragment) {
		t.Errorf("%s: link to %s: no such heading", page, target)
	}
}

// hasHeading reports whether a page has a heading that GitHub gives that name.
func hasHeading(text, name string) bool {
	for _, found := range heading.FindAllStringSubmatch(text, -1) {
		spoken := unspoken.ReplaceAllString(strings.ToLower(found[1]), "")
		if strings.ReplaceAll(spoken, " ", "-") == name {
			return true
		}
	}
	return false
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestProgram finds the program of the example in the page on the library.
func TestProgram(t *testing.T) {
	const begin, end = "func removeCopies", "\n}\n"
	_, program, _ := strings.Cut(read(t, root+"/capture/dedup/example_test.go"), begin)
	program, _, found := strings.Cut(program, end)
	if !found || !strings.Contains(read(t, "library.md"), begin+program+end) {
		t.Error("library.md has another program than capture/dedup/example_test.go")
	}
}

// TestAgent compiles the program of the page on the library that reads an interface.
func TestAgent(t *testing.T) {
	_, program, _ := strings.Cut(read(t, "library.md"), "## An agent\n")
	_, program, _ = strings.Cut(program, "```go\n")
	program, _, found := strings.Cut(program, "```\n")
	if !found || !strings.Contains(program, "gopackets.Once(") {
		t.Fatal("library.md has no agent")
	}
	name := filepath.Join(t.TempDir(), "agent.go")
	if err := os.WriteFile(name, []byte(program), 0o666); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-o", os.DevNull, name)
	build.Dir, build.Env = root, append(os.Environ(), "GOOS=linux")
	if out, err := build.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
