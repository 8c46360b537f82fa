// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	classifier "github.com/google/licenseclassifier/v2"
	"github.com/google/licenseclassifier/v2/assets"
)

// permitted are the licences that parts of the program may have.
var permitted = []string{"Apache-2.0", "MIT", "BSD-2-Clause", "BSD-3-Clause", "ISC", "0BSD", "MIT-0", "Unlicense"}

// licence is the project's own licence.
const licence = "Apache-2.0"

// module is a module that is part of a program.
type module struct {
	Path, Version, Dir string
	Sum                string // as in go.sum
	Main               bool
	Replace            *module // what go.work puts in its place
}

// modules returns Go's standard library and the modules of a product, on any platform, by their
// paths. Its own is not among them; the project's main module is, in other programs.
func (r *release) modules(p *product) ([]module, error) {
	list := map[string]bool{}
	for _, on := range all {
		if !p.runsOn(on) {
			continue
		}
		text, err := r.outputIn(p.module, "env", "CGO_ENABLED=0", "GOOS="+on.os, "GOARCH="+on.arch, "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", p.folder)
		if err != nil {
			return nil, err
		}
		for path := range strings.FieldsSeq(text) {
			list[path] = true
		}
	}
	text, err := r.outputIn(p.module, "go", "list", "-m", "-json", "all")
	if err != nil {
		return nil, err
	}
	var found []module
	for in := json.NewDecoder(strings.NewReader(text)); in.More(); {
		var m module
		if err := in.Decode(&m); err != nil {
			return nil, fmt.Errorf("go list -m: %w", err)
		}
		if !list[m.Path] || m.Main {
			continue
		}
		if m.Replace != nil && m.Path != mainModule {
			return nil, fmt.Errorf("%s is replaced: nobody else could build this", m.Path)
		}
		if m.Path == mainModule {
			m.Version, m.Dir = "v"+r.version, r.root
		}
		found = append(found, m)
	}
	slices.SortFunc(found, func(a, b module) int { return strings.Compare(a.Path, b.Path) })
	standard, err := r.standard()
	return append([]module{standard}, found...), err
}

// standard returns Go's standard library, as if it were a module.
func (r *release) standard() (module, error) {
	goroot, err := r.output("go", "env", "GOROOT")
	if err != nil {
		return module{}, err
	}
	version, err := r.output("go", "env", "GOVERSION")
	return module{Path: "Go and its standard library", Version: version, Dir: goroot}, err
}

// licences returns the texts of all licences of a product, including Go's. A licence that is
// not permitted, or not known, is an error.
func (r *release) licences(p *product) ([]byte, error) {
	modules, err := r.modules(p)
	if err != nil {
		return nil, err
	}
	known, err := assets.DefaultClassifier()
	if err != nil {
		return nil, err
	}
	var all bytes.Buffer
	for _, m := range modules {
		if m.Path == mainModule {
			continue // no third party
		}
		texts, _, err := licencesOf(known, m)
		if err != nil {
			return nil, err
		}
		for _, text := range texts {
			fmt.Fprintf(&all, "%[1]s\n%[2]s %[3]s\n%[1]s\n\n%[4]s\n\n", strings.Repeat("=", 72), m.Path, m.Version, bytes.TrimSpace(text))
		}
	}
	return all.Bytes(), nil
}

// licencesOf returns the texts of the licences of a module, and of its notices, and the names
// of the licences in the list of SPDX.
func licencesOf(known *classifier.Classifier, m module) (texts [][]byte, names []string, err error) {
	files, err := os.ReadDir(m.Dir)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", m.Path, err)
	}
	for _, f := range files {
		name := strings.ToUpper(f.Name())
		licence := strings.HasPrefix(name, "LICEN") || strings.HasPrefix(name, "COPYING")
		if f.IsDir() || !licence && !strings.HasPrefix(name, "NOTICE") || strings.HasSuffix(name, ".GO") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(m.Dir, f.Name()))
		if err != nil {
			return nil, nil, err
		}
		texts = append(texts, text)
		if !licence {
			continue
		}
		found, err := check(known, text)
		if err != nil {
			return nil, nil, fmt.Errorf("%s, %s: %w", m.Path, f.Name(), err)
		}
		names = append(names, found...)
	}
	if len(names) == 0 {
		return nil, nil, fmt.Errorf("%s: no licence in %s", m.Path, m.Dir)
	}
	slices.Sort(names)
	return texts, slices.Compact(names), nil
}

// check returns the names of the licences in a text. It rejects licences that are not permitted,
// and texts without a known licence.
func check(known *classifier.Classifier, text []byte) (names []string, err error) {
	for _, m := range known.Match(text).Matches {
		if m.MatchType != "License" {
			continue
		}
		if !slices.Contains(permitted, m.Name) {
			return nil, fmt.Errorf("licence %s is not among %s", m.Name, strings.Join(permitted, ", "))
		}
		names = append(names, m.Name)
	}
	if len(names) == 0 {
		return nil, errors.New("an unknown licence")
	}
	return names, nil
}
