// SPDX-License-Identifier: Apache-2.0

package plan

import "testing"

// The JSON form of an answer, for tests of command lines.
type (
	Result = result
	GapBin = gapBin
)

func TestParseLoads(t *testing.T) {
	for text, want := range map[string]float64{"10Gb/s": 1e10, "100Mbit/s": 1e8, "1Gbps": 1e9, "64k": 64_000} {
		if got, err := parseLink(text); err != nil || got != want {
			t.Errorf("%q: %g, %v", text, got, err)
		}
	}
	for text, want := range map[string]int{"3bit": 3, "16kbit": 16_000, "1KiB": 8192, "64": 512} {
		if got, err := parseBits(text); err != nil || got != want {
			t.Errorf("%q: %d bits, %v", text, got, err)
		}
	}
}
