// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// code is what a page writes between backticks: a folder of this project, or a test.
var code = regexp.MustCompile("`((?:asm|bench|capture|cmd|engine|layout)(?:/[a-z0-9_]+)*|(?:Test|Fuzz)[A-Z]\\w*(?:/\\w+)?)`")

// TestPromises finds the tests that guarantees.md and security.md name, in the folder that they
// name before. Each promise has one.
func TestPromises(t *testing.T) {
	guarantees := section(t, "guarantees.md", "## What is promised")
	promises := 0
	for line := range strings.Lines(guarantees) {
		if cells := strings.Split(line, " | "); len(cells) == 2 && strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| promise") {
			promises += held(t, "guarantees.md", line)
		}
	}
	first, _, _ := strings.Cut(read(t, "security.md"), "\n## ")
	for _, item := range strings.Split(first, "\n- ")[1:] {
		item, _, _ = strings.Cut(item, "\n\n")
		promises += held(t, "security.md", item)
	}
	if promises < 15 {
		t.Errorf("%d promises", promises)
	}
}

// section returns the part of a page under a heading.
func section(t *testing.T, page, heading string) string {
	t.Helper()
	_, text, ok := strings.Cut(read(t, page), heading+"\n")
	if !ok {
		t.Fatalf("%s has no %s", page, heading)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	return text
}

// held wants tests for a promise, and returns how many promises it is.
func held(t *testing.T, page, promise string) int {
	t.Helper()
	tests, folder := 0, ""
	for _, found := range code.FindAllStringSubmatch(promise, -1) {
		word := found[1]
		if word == strings.ToLower(word) {
			folder = word
			continue
		}
		if tests++; !hasTest(t, folder, word) {
			t.Errorf("%s: no %s in %q", page, word, folder)
		}
	}
	if tests == 0 {
		t.Errorf("%s: nothing holds: %s", page, promise)
	}
	return 1
}

// hasTest reports whether a folder of the project has a test or a fuzz target, or a script for TestScripts/.
func hasTest(t *testing.T, folder, test string) bool {
	t.Helper()
	if script, ok := strings.CutPrefix(test, "TestScripts/"); ok {
		_, err := os.Stat(filepath.Join(root, filepath.FromSlash(folder), "testdata", "script", script+".txtar"))
		return err == nil
	}
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(folder), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "\nfunc "+test+"(") {
			return true
		}
	}
	return false
}
