// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestPage makes the page anew: each field of the JSON has a meaning, and the page has all.
func TestPage(t *testing.T) {
	want, err := pageOf("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../fields.md")
	if err != nil || string(got) != want {
		t.Errorf("doc/fields.md is not what the sources say (error %v): go run ./cmd/flowdedup/doc/fields > cmd/flowdedup/doc/fields.md", err)
	}
}

// named is a field of JSON as the manual writes it; names of metrics have a prefix.
var named = regexp.MustCompile("`([a-z]+(?:_[a-z0-9]+)+)`")

// TestNamedFields finds the fields that other pages name. Other programs have names of such a
// form, too: those of pcapng, and all in the pages that are about other programs.
func TestNamedFields(t *testing.T) {
	fields, err := os.ReadFile("../fields.md")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob("../*.md")
	if err != nil {
		t.Fatal(err)
	}
	foreign, found := []string{"flows.md", "readers.md", "recipes.md", "library.md", "architecture.md"}, 0
	for _, page := range pages {
		if slices.Contains(foreign, filepath.Base(page)) {
			continue
		}
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range named.FindAllStringSubmatch(string(text), -1) {
			field := match[1]
			if strings.HasPrefix(field, "flowdedup_") || strings.HasPrefix(field, "if_ts") {
				continue
			}
			if found++; !strings.Contains(string(fields), "\n| `"+field+"` |") {
				t.Errorf("%s: no field %s", filepath.Base(page), field)
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d fields are named", found)
	}
}
