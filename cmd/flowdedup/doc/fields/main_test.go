// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
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

// TestTables finds the fields that tables of other pages describe.
func TestTables(t *testing.T) {
	page, err := os.ReadFile("../fields.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, heading := range map[string]string{
		"scripting": "## Fields of `dedup`", "inspect": "| field | meaning |", "compare": "## Fields of `--json`",
		"flows": "| field | is |", "live": "## Summary",
	} {
		text, err := os.ReadFile("../" + name + ".md")
		if err != nil {
			t.Fatal(err)
		}
		_, table, ok := strings.Cut(string(text), heading+"\n")
		table, _, _ = strings.Cut(table, "\n## ")
		if !ok || !strings.Contains(table, "\n| `") {
			t.Errorf("%s.md: no table below %s", name, heading)
		}
		for line := range strings.Lines(table) {
			cells := strings.SplitN(line, "|", 3)
			if len(cells) < 3 || cells[0] != "" {
				continue
			}
			for i, field := range strings.Split(cells[1], "`") {
				if i%2 == 1 && !strings.HasPrefix(field, "-") && !strings.Contains(string(page), "\n| `"+field+"` |") {
					t.Errorf("%s.md: no field %s", name, field)
				}
			}
		}
	}
}
