// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestUpToDate compares the files with the table's output.
func TestUpToDate(t *testing.T) {
	for _, target := range targets {
		want, err := target.source()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join("..", "..", "line", target.file)); err != nil || string(got) != string(want) {
			t.Errorf("%s is not what the table says (error %v): run go generate ./asm/line", target.file, err)
		}
	}
}
