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

// module is a module that is part of the program.
type module struct {
	Path, Version, Dir string
	Main               bool
}

// modules returns the modules of the program, on any platform, by their paths.
func (r *release) modules() ([]module, error) {
	list := map[string]module{}
	for _, p := range all {
		text, err := r.output("env", "CGO_ENABLED=0", "GOOS="+p.os, "GOARCH="+p.arch, "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "./cmd/flowdedup")
		if err != nil {
			return nil, err
		}
		for path := range strings.FieldsSeq(text) {
			list[path] = module{}
		}
	}
	text, err := r.output("go", "list", "-m", "-json", "all")
	if err != nil {
		return nil, err
	}
	var found []module
	for in := json.NewDecoder(strings.NewReader(text)); in.More(); {
		var m module
		if err := in.Decode(&m); err != nil {
			return nil, fmt.Errorf("go list -m: %w", err)
		}
		if _, is := list[m.Path]; is && !m.Main {
			found = append(found, m)
		}
	}
	slices.SortFunc(found, func(a, b module) int { return strings.Compare(a.Path, b.Path) })
	return found, nil
}

// licences returns the texts of all licences, that of Go included. A licence that is not
// permitted, or not known, is an error.
func (r *release) licences() ([]byte, error) {
	modules, err := r.modules()
	if err != nil {
		return nil, err
	}
	goroot, err := r.output("go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	version, err := r.output("go", "env", "GOVERSION")
	if err != nil {
		return nil, err
	}
	known, err := assets.DefaultClassifier()
	if err != nil {
		return nil, err
	}
	var all bytes.Buffer
	for _, m := range append([]module{{Path: "Go and its standard library", Version: version, Dir: goroot}}, modules...) {
		texts, err := licencesOf(known, m)
		if err != nil {
			return nil, err
		}
		for _, text := range texts {
			fmt.Fprintf(&all, "%[1]s\n%[2]s %[3]s\n%[1]s\n\n%[4]s\n\n", strings.Repeat("=", 72), m.Path, m.Version, bytes.TrimSpace(text))
		}
	}
	return all.Bytes(), nil
}

// licencesOf returns the texts of the licences of a module, and of its notices.
func licencesOf(known *classifier.Classifier, m module) (texts [][]byte, err error) {
	files, err := os.ReadDir(m.Dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.Path, err)
	}
	found := false
	for _, f := range files {
		name := strings.ToUpper(f.Name())
		licence := strings.HasPrefix(name, "LICEN") || strings.HasPrefix(name, "COPYING")
		if f.IsDir() || !licence && !strings.HasPrefix(name, "NOTICE") || strings.HasSuffix(name, ".GO") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(m.Dir, f.Name()))
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
		if !licence {
			continue
		}
		if err := check(known, text); err != nil {
			return nil, fmt.Errorf("%s, %s: %w", m.Path, f.Name(), err)
		}
		found = true
	}
	if !found {
		return nil, fmt.Errorf("%s: no licence in %s", m.Path, m.Dir)
	}
	return texts, nil
}

// check rejects a text with a licence that is not permitted, or that is not known.
func check(known *classifier.Classifier, text []byte) error {
	found := false
	for _, m := range known.Match(text).Matches {
		if m.MatchType != "License" {
			continue
		}
		if !slices.Contains(permitted, m.Name) {
			return fmt.Errorf("licence %s is not among %s", m.Name, strings.Join(permitted, ", "))
		}
		found = true
	}
	if !found {
		return errors.New("an unknown licence")
	}
	return nil
}
