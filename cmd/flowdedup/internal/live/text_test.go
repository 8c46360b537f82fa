// SPDX-License-Identifier: Apache-2.0

package live

import (
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/sink"
)

// TestTextEscapes checks that names of interfaces cannot control the terminal.
func TestTextEscapes(t *testing.T) {
	var out strings.Builder
	s := summary{Interfaces: []inputSummary{{Name: "eth\x1b[2J"}}, Forwards: []sink.Forward{{Interface: "mon\u009b8m"}}}
	if err := writeText(&out, 0, &s, true); err != nil {
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
