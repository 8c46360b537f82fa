// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// TestManyInputs checks that the files of a rotated capture give the same result as the
// whole capture, in any order.
func TestManyInputs(t *testing.T) {
	dir := t.TempDir()
	want := clitest.RunDedup(t, cli.ExitDone, clitest.Bundled("router-plain.pcapng"), "--window", "none", "--rotate-size", "1KiB", "-w", filepath.Join(dir, "part.pcapng"))
	parts := clitest.RotatedFiles(t, dir, "part")
	if len(parts) < 40 {
		t.Fatalf("%d files", len(parts))
	}
	for i := range len(parts) / 2 {
		parts[i], parts[len(parts)-1-i] = parts[len(parts)-1-i], parts[i]
	}
	whole := filepath.Join(dir, "whole.pcapng")
	got := clitest.RunDedup(t, cli.ExitDone, append(parts, "--window", "none", "-w", whole)...)
	if got.PacketsIn != want.PacketsOut || got.PacketsOut != want.PacketsOut {
		t.Errorf("%d packets in, %d out, want %d", got.PacketsIn, got.PacketsOut, want.PacketsOut)
	}
	if n := len(clitest.ReadAll(t, whole)); n != int(want.PacketsOut) {
		t.Errorf("%d packets in the output", n)
	}
}

// hostile lists the damaged files of the shared set, with their readable packets and the
// exit code.
var hostile = []struct {
	name    string
	packets uint64
	code    int
}{
	{"01-truncated-file-header.pcap", 0, cli.ExitFailed},
	{"02-truncated-last-packet.pcap", 5, cli.ExitDamaged},
	{"03-truncated-record-header.pcap", 5, cli.ExitDamaged},
	{"04-caplen-4GB.pcap", 2, cli.ExitDamaged},
	{"05-zero-and-negative-lengths.pcap", 7, cli.ExitDone},
	{"06-caplen-negative.pcap", 1, cli.ExitDamaged},
	{"07-block-length-0.pcapng", 1, cli.ExitDamaged},
	{"08-block-length-unaligned.pcapng", 1, cli.ExitDamaged},
	{"09-total-length-mismatch.pcapng", 1, cli.ExitDamaged},
	{"10-interface-out-of-range.pcapng", 1, cli.ExitDamaged},
	{"11-option-overrun.pcapng", 3, cli.ExitDamaged}, // the packets are sound, the options are not
	{"12-idb-option-overrun.pcapng", 0, cli.ExitFailed},
	{"13-gzip-wrong-name.pcap", 6, cli.ExitDone},
	{"14-gzip-cut.pcap.gz", 4, cli.ExitDamaged},
	{"15-empty-file.pcap", 0, cli.ExitFailed},
	{"16-text-file.pcap", 0, cli.ExitFailed},
	{"17-snaplen-2^31.pcap", 6, cli.ExitDone},
	{"18-snaplen-0.pcap", 6, cli.ExitDone},
	{"19-epb-caplen-beyond-block.pcapng", 1, cli.ExitDamaged},
	{"20-block-length-4GB.pcapng", 1, cli.ExitDamaged},
	{"21-tsresol-extreme.pcapng", 3, cli.ExitDone},
	{"22-ipv6-ext-header-chain.pcap", 1, cli.ExitDone},
	{"23-vlan-stack-1000.pcap", 1, cli.ExitDone},
	{"24-time-backwards-year.pcap", 5, cli.ExitDone},
}

func TestHostile(t *testing.T) {
	dir := filepath.Join(clitest.SharedDir(t), "hostile")
	for _, h := range hostile {
		t.Run(h.name, func(t *testing.T) {
			path := filepath.Join(dir, h.name)
			out := filepath.Join(t.TempDir(), "out")
			r := clitest.RunDedup(t, h.code, path, "--identity", "frame", "-w", out)
			if r.PacketsIn != h.packets || r.Damaged != (h.code == cli.ExitDamaged) {
				t.Errorf("%d packets, damaged %v; want %d", r.PacketsIn, r.Damaged, h.packets)
			}
			checkHostileOutput(t, out, h.code, r.PacketsOut)
			_, errs, _ := clitest.Run("dedup", "--method", "exact", path)
			checkHostileMessage(t, errs, h.name, h.code)
		})
	}
}

// checkHostileOutput reads the output back: it is a sound file with the survivors, or
// there is none.
func checkHostileOutput(t *testing.T, out string, code int, survivors uint64) {
	t.Helper()
	if code == cli.ExitFailed {
		if _, err := os.Stat(out); !os.IsNotExist(err) {
			t.Errorf("an output was left: %v", err)
		}
		return
	}
	again := clitest.RunDedup(t, cli.ExitDone, out, "--identity", "frame", "--window", "n:1")
	if again.PacketsIn != survivors {
		t.Errorf("%d packets in the output, want %d", again.PacketsIn, survivors)
	}
}

// checkHostileMessage checks for a single line that names the file and the offset.
func checkHostileMessage(t *testing.T, errs, name string, code int) {
	t.Helper()
	if code == cli.ExitDone {
		strange := map[string]string{"05-zero-and-negative-lengths.pcap": "truncated too short", "24-time-backwards-year.pcap": "fractions of a second"}[name]
		if strange == "" && errs != "" || !strings.Contains(errs, strange) {
			t.Errorf("complaint about a readable file: %s", errs)
		}
		return
	}
	line := regexp.MustCompile(`^flowdedup: (warning: )?\S*` + regexp.QuoteMeta(name) + `: offset \d+: .+\n$`)
	if !line.MatchString(errs) || bytes.Count([]byte(errs), []byte("\n")) != 1 {
		t.Errorf("message %q", errs)
	}
}
