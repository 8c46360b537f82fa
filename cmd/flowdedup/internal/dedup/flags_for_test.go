// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// TestProfileRefused checks that flags which would make a reader blind are wrong usage, and
// that the error names the flag and the reader.
func TestProfileRefused(t *testing.T) {
	in := bundled("router-plain.pcapng")
	for _, c := range []struct{ line, want string }{
		{"--for snort -w a", "must be one of suricata, zeek, arkime, wireshark, none"},
		{"--for zek -w a", "did you mean zeek?"},
		{"--for suricata --keep first --strip mpls -w a", "--for suricata: --keep first"},
		{"--for suricata --mark -w a.pcapng", "--for suricata: --mark"},
		{"--for zeek --mark -w a.pcapng", "--for zeek: --mark"},
		{"--for arkime --mark -w a.pcapng", "--for arkime: --mark"},
		{"--for arkime --window none -w a", "--for arkime: --window none"},
		{"--for zeek --refresh -w a", "--for zeek: --refresh"},
		{"--for zeek --ignore l4-checksum --prefer first -w a", "--for zeek: --prefer first"},
	} {
		out, errs, code := run(append([]string{"dedup", in}, clitest.WordsOf(c.line)...)...)
		if code != exitUsage || out != "" || !strings.Contains(errs, c.want) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q, want %q", c.line, code, out, errs, c.want)
		}
	}
}
