// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
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
