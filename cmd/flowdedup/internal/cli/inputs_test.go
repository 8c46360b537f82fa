// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// TestOddName counts by input, and shows no name as a terminal would read it.
func TestOddName(t *testing.T) {
	in := clitest.Bundled("router-in.pcap")
	odd := filepath.Join(t.TempDir(), "odd\x1b[2J.pcap")
	data := clitest.ReadFile(t, in)
	clitest.WriteInput(t, odd, data)
	text, _, _ := clitest.Run("dedup", in, odd)
	if strings.Contains(text, "\x1b") || !strings.Contains(text, "328 packets, 6 duplicates (1.83 %): "+in) {
		t.Errorf("%q", text)
	}
}

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

// TestZeroFilled reads zeros in place of records, which are neither packets of 1970 nor
// copies.
func TestZeroFilled(t *testing.T) {
	data := clitest.ReadFile(t, clitest.Bundled("router-in.pcap"))
	dir := t.TempDir()
	sound := clitest.RunDedup(t, cli.ExitDone, clitest.WriteInput(t, filepath.Join(dir, "sound.pcap"), data))
	for name, zeros := range map[string][]byte{"tail": make([]byte, 1<<20), "hole": append(make([]byte, 4096), data[24:]...)} {
		path := clitest.WriteInput(t, filepath.Join(dir, name), append(bytes.Clone(data), zeros...))
		for _, workers := range []string{"1", "3"} {
			got := clitest.RunDedup(t, cli.ExitDamaged, path, "--workers", workers, "-w", filepath.Join(dir, name+workers))
			if got.PacketsIn != sound.PacketsIn || got.Duplicates != sound.Duplicates || !got.Damaged {
				t.Errorf("%s: %+v, want %+v", name, got, sound)
			}
			_, errs, _ := clitest.Run("dedup", path, "--workers", workers)
			if want := fmt.Sprintf("offset %d: damaged: zeros in place of records", len(data)); !strings.Contains(errs, want) {
				t.Errorf("%s: %q, want %q", name, errs, want)
			}
		}
	}
}

// TestFormatByName checks that the ending of a name chooses the format, and that warnings
// say what the format loses.
func TestFormatByName(t *testing.T) {
	t.Parallel()
	const pcapng = 0x0A0D0D0A
	isPcap := func(magic uint32) bool { return magic != pcapng }
	for _, c := range []struct {
		inputs []string
		name   string
		pcap   bool
		says   string
	}{
		{[]string{"router-plain.pcapng"}, "x.pcap", true, "x.pcap: pcap has no place for "},
		{[]string{"router-plain.pcapng"}, "x.PCAPNG", false, ""},
		{[]string{"router-plain.pcapng"}, "x", false, ""},
		{[]string{"router-plain.pcapng"}, "x.cap", false, ""},
		{[]string{"router-in.pcap"}, "x.pcap", true, ""},
		{[]string{"router-in.pcap"}, "x.ntar", false, ""},
		{[]string{"router-in.pcap"}, "x.cap", true, ""},
		{[]string{"router-plain.pcapng", "router-in.pcap"}, "x.pcap", true, "x.pcap: pcap has no place for "},
		{[]string{"router-any-sll2.pcap", "router-in.pcap"}, "x.pcap", false, "x.pcap: the ending of the name says pcap, but pcapng is written: pcap holds one link type"},
	} {
		out := filepath.Join(t.TempDir(), c.name)
		args := []string{"dedup", "-w", out}
		for _, in := range c.inputs {
			args = append(args, clitest.Bundled(in))
		}
		_, errs, code := clitest.Run(args...)
		data, err := os.ReadFile(out)
		if err != nil || code != cli.ExitDone {
			t.Fatal(err, code, errs)
		}
		if got := isPcap(binary.LittleEndian.Uint32(data)); got != c.pcap {
			t.Errorf("%v into %s: pcap is %v", c.inputs, c.name, got)
		}
		if lines := strings.Count(errs, "\n"); c.says == "" && errs != "" || c.says != "" && (lines != 1 || !strings.Contains(errs, c.says)) {
			t.Errorf("%v into %s: %q", c.inputs, c.name, errs)
		}
		args[2] = filepath.Join(t.TempDir(), "whole")
		if _, _, code := clitest.Run(args...); code != cli.ExitDone {
			t.Fatal(code)
		}
		checkSamePackets(t, clitest.ReadAll(t, out), clitest.ReadAll(t, args[2]))
	}
}

// checkSamePackets compares packets with their times.
func checkSamePackets(t *testing.T, got, want []clitest.Record) {
	t.Helper()
	if len(got) != len(want) || len(got) == 0 {
		t.Fatalf("%d packets, want %d", len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("packet %d: %+v, want %+v", i, got[i], want[i])
		}
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

// checkHostileMessage checks for one line that names the file and the offset.
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
