// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"go/ast"
	"go/doc"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// leftLink matches what is left of a link to a name that does not exist, or is not
	// exported: its brackets.
	leftLink = regexp.MustCompile(`(?:^|[\s(])(\[\*?[A-Za-z_][\w./]*\])`)
	// namedPackage matches a package at the beginning of a sentence.
	namedPackage = regexp.MustCompile(`\bPackage ([a-z0-9]+)\b`)
	// namedMember matches a method or field behind its type, without a package before it.
	namedMember = regexp.MustCompile(`(?:^|[^\w.])([A-Z]\w*)\.([A-Z]\w*)`)
)

// TestDocs wants links of exported comments in the libraries to lead to something, and
// packages, methods and fields that comments name to exist. Names change, and comments do not
// follow.
func TestDocs(t *testing.T) {
	docs, bases := packageDocs(t, "../asm", "../layout", "../engine", "../capture")
	for dir, p := range docs {
		members := membersOf(p)
		for text := range commentsOf(p) {
			for _, m := range namedMember.FindAllStringSubmatch(text, -1) {
				if of := members[m[1]]; !of[m[2]] && !of[anyMember] && m[1] != "CaptureInfo" { // of gopacket
					t.Errorf("%s: there is no %s.%s", dir, m[1], m[2])
				}
			}
			for _, m := range namedPackage.FindAllStringSubmatch(text, -1) {
				if !bases[m[1]] {
					t.Errorf("%s: there is no package %s", dir, m[1])
				}
			}
			for _, link := range leftLinks(p.Parser().Parse(text)) {
				t.Errorf("%s: %s leads nowhere", dir, link)
			}
		}
	}
}

// namedFile matches the name of a file, with or without folders.
var namedFile = regexp.MustCompile(`\b[A-Za-z0-9][\w./*-]*\.(?:go|s|sh|py|md)\b`)

// TestDocFiles wants the files that package comments name to exist, from the folder of the
// package, up to two below or above, the root, or a folder that the same line names.
func TestDocFiles(t *testing.T) {
	found := 0
	for _, root := range []string{"../asm", "../layout", "../engine", "../capture", "../cmd", "."} {
		err := filepath.WalkDir(root, func(dir string, d fs.DirEntry, err error) error {
			if err != nil || !d.IsDir() {
				return err
			}
			p := docOf(t, dir)
			if p == nil {
				return nil
			}
			for line := range strings.Lines(p.Doc) {
				for _, name := range namedFile.FindAllString(line, -1) {
					if found++; !isNamed(dir, name, strings.Fields(line)) {
						t.Errorf("%s: there is no %s", dir, name)
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found < 100 {
		t.Errorf("only %d names found", found)
	}
}

// isNamed reports whether a file exists that a line with these words may mean.
func isNamed(dir, name string, words []string) bool {
	folders := []string{dir, filepath.Join(dir, "*"), filepath.Join(dir, "*", "*"), filepath.Dir(dir), filepath.Dir(filepath.Dir(dir)), ".."}
	for _, word := range words {
		folders = append(folders, filepath.Join("..", strings.TrimRight(word, ",;:.")))
	}
	return slices.ContainsFunc(folders, func(folder string) bool {
		files, err := filepath.Glob(filepath.Join(folder, name))
		return err == nil && len(files) > 0
	})
}

// packageDocs returns the exported documentation of the packages below roots by folder, and
// the last parts of their paths. Packages called internal are for nobody else.
func packageDocs(t *testing.T, roots ...string) (map[string]*doc.Package, map[string]bool) {
	docs, bases := map[string]*doc.Package{}, map[string]bool{}
	for _, root := range roots {
		err := filepath.WalkDir(root, func(dir string, d fs.DirEntry, err error) error {
			if err != nil || !d.IsDir() {
				return err
			}
			p := docOf(t, dir)
			if p == nil {
				return nil
			}
			bases[filepath.Base(dir)] = true
			if !strings.Contains(dir, "internal") && p.Name != "main" {
				docs[dir] = p
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	bases["flowdedup"] = true
	if docs[".."] = docOf(t, ".."); docs[".."] == nil || len(docs) == 1 {
		t.Fatal("no packages")
	}
	return docs, bases
}

// docOf returns the documentation of the package in a folder, with the files of all
// systems, or nil if there is none.
func docOf(t *testing.T, dir string) *doc.Package {
	names, err := filepath.Glob(dir + "/*.go")
	if err != nil {
		t.Fatal(err)
	}
	set, files := token.NewFileSet(), []*ast.File(nil)
	for _, name := range names {
		if isTest(name) {
			continue
		}
		f, err := parser.ParseFile(set, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	if len(files) == 0 {
		return nil
	}
	p, err := doc.NewFromFiles(set, files, module+strings.TrimPrefix(dir, "../"))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// commentsOf iterates over the exported comments of a package.
func commentsOf(p *doc.Package) iter.Seq[string] {
	return func(yield func(string) bool) {
		texts := []string{p.Doc}
		values := func(values []*doc.Value) {
			for _, v := range values {
				texts = append(texts, v.Doc)
			}
		}
		functions := func(functions []*doc.Func) {
			for _, f := range functions {
				texts = append(texts, f.Doc)
			}
		}
		values(p.Consts)
		values(p.Vars)
		functions(p.Funcs)
		for _, typ := range p.Types {
			texts = append(texts, typ.Doc)
			values(typ.Consts)
			values(typ.Vars)
			functions(typ.Funcs)
			functions(typ.Methods)
			ast.Inspect(typ.Decl, func(n ast.Node) bool {
				if f, ok := n.(*ast.Field); ok {
					texts = append(texts, f.Doc.Text(), f.Comment.Text())
				}
				return true
			})
		}
		for _, text := range texts {
			if !yield(text) {
				return
			}
		}
	}
}

// anyMember stands for the members of a type that is declared elsewhere.
const anyMember = "*"

// membersOf returns the methods and fields of the exported types of a package. Fields may stand
// for their types in comments.
func membersOf(p *doc.Package) map[string]map[string]bool {
	members := map[string]map[string]bool{}
	add := func(of, name string) {
		if members[of] == nil {
			members[of] = map[string]bool{}
		}
		members[of][name] = true
	}
	for _, typ := range p.Types {
		for _, m := range typ.Methods {
			add(typ.Name, m.Name)
		}
		ast.Inspect(typ.Decl, func(n ast.Node) bool {
			field, ok := n.(*ast.Field)
			if !ok {
				return true
			}
			for _, name := range field.Names {
				add(typ.Name, name.Name)
				add(name.Name, anyMember)
			}
			if len(field.Names) == 0 { // embedded
				add(typ.Name, anyMember)
			}
			return true
		})
	}
	return members
}

// leftLinks returns the links in a comment that lead nowhere.
func leftLinks(d *comment.Doc) []string {
	var found []string
	var inBlocks func(blocks []comment.Block)
	inTexts := func(texts []comment.Text) {
		for _, text := range texts {
			if plain, ok := text.(comment.Plain); ok {
				for _, m := range leftLink.FindAllStringSubmatch(string(plain), -1) {
					found = append(found, m[1])
				}
			}
		}
	}
	inBlocks = func(blocks []comment.Block) {
		for _, block := range blocks {
			switch block := block.(type) {
			case *comment.Paragraph:
				inTexts(block.Text)
			case *comment.Heading:
				inTexts(block.Text)
			case *comment.List:
				for _, item := range block.Items {
					inBlocks(item.Content)
				}
			}
		}
	}
	inBlocks(d.Content)
	return found
}

// TestFindings wants each script of findings to have its row in the list there.
func TestFindings(t *testing.T) {
	scripts, err := filepath.Glob("../findings/*.sh")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts (%v)", err)
	}
	text, err := os.ReadFile("../findings/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range scripts {
		if row := "\n| `" + filepath.Base(name) + "` | "; strings.Count(string(text), row) != 1 {
			t.Errorf("findings/README.md: not one row of %s", filepath.Base(name))
		}
	}
	if rows := strings.Count(string(text), "\n| `"); rows != len(scripts) {
		t.Errorf("findings/README.md: %d rows for %d scripts", rows, len(scripts))
	}
}
