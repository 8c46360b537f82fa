// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/engine/sizing"
)

// TestMethods prints tables with methods that no command runs.
func TestMethods(t *testing.T) {
	for line, want := range map[string]string{
		"-kind jumping -elements 1e6 -fpr 1e-6":                        "model",
		"-memory 1000000 -fpr 0.2 -method sbf-paper -k 5 -cell-bits 1": "sbf-paper",
		"-method rows -cells 5 -cell-bits 9 -memory 8388608 -fpr 0.05": "rows ",
		"-kind landmark -key other -elements 1e6 -fpr 0.01":            "bloom",
		"-kind count -elements 1000 -memory 64 -fpr 0.01":              "too little memory",
		"-method rsbf -k 3 -memory 8388608 -fpr 0.2":                   "library",
	} {
		var out strings.Builder
		if err := run(strings.Fields(line), &out); err != nil || !strings.Contains(out.String(), want) || !strings.HasPrefix(out.String(), "method") {
			t.Errorf("%s: %v, %q, want %q", line, err, out.String(), want)
		}
	}
}

// TestMethodsUsage has questions that nothing answers.
func TestMethodsUsage(t *testing.T) {
	for _, line := range []string{
		"-kind round", "-key colour", "-method magic", "-k 4", "-method sbf-paper -k 4 -memory 3", "-method buffer -k 4", "-method rows -memory 64",
		"-kind jumping -parts 1 -elements 50", "-method sbf-paper -kind sliding -elements 5",
	} {
		if err := run(strings.Fields(line), new(strings.Builder)); !errors.Is(err, sizing.ErrQuestion) {
			t.Errorf("%s: %v", line, err)
		}
	}
}
