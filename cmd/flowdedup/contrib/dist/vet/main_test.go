// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"
)

// TestImplemented takes functions without bodies, for a CPU with assembly and a CPU without.
func TestImplemented(t *testing.T) {
	for _, cpu := range []string{"amd64", "386"} {
		t.Run(cpu, func(t *testing.T) {
			t.Setenv("GOARCH", cpu)
			analysistest.Run(t, analysistest.TestData(), implemented, "bodiless")
		})
	}
}
