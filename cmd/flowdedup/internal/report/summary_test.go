// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/live"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/sink"
)

// TestLiveTextEscapes checks that names of interfaces cannot control the terminal.
func TestLiveTextEscapes(t *testing.T) {
	var out strings.Builder
	s := live.Summary{Interfaces: []live.Interface{{Name: "eth\x1b[2J"}}, Forward: &sink.Forward{Interface: "mon\u009b8m"}}
	if err := LiveText(&out, &s, true); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`  eth\x1b[2J `, `packets to mon\u009b8m`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%q", want, out.String())
		}
	}
	if strings.ContainsAny(out.String(), "\x1b\u009b") {
		t.Errorf("escape sequences: %q", out.String())
	}
}
