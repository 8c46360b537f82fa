// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// TestBytesSaved checks what the text says of bytes: an output with --mark saves none.
func TestBytesSaved(t *testing.T) {
	in, out := clitest.Bundled("router-ordered.pcapng"), t.TempDir()+"/out.pcapng"
	for flags, want := range map[string]string{
		"-w " + out:                 " saved (",
		"-w " + out + " --slice 40": " saved (",
		"":                          " in duplicates (",
		"-w " + out + " --mark":     "",
	} {
		text, errs, code := clitest.Run(append([]string{"dedup", in}, strings.Fields(flags)...)...)
		if code != cli.ExitDone || strings.Contains(text, "\n  bytes ") != (want != "") || !strings.Contains(text, want) {
			t.Errorf("%s: exit code %d, want %q: %s%s", flags, code, want, text, errs)
		}
	}
}
