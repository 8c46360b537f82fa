// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/dedup"
)

// TestCountsByInput checks that the counts of inputs add up to the total, for several
// numbers of workers.
func TestCountsByInput(t *testing.T) {
	in, out := bundled("router-in.pcap"), bundled("router-out.pcap")
	var first string
	for _, workers := range []string{"1", "3"} {
		text, errs, code := run("dedup", "--json", "--window", "50ms", "--workers", workers, in, out)
		var s dedup.Summary
		if err := json.Unmarshal([]byte(text), &s); err != nil || code != exitDone {
			t.Fatal(err, code, errs)
		}
		var packets, duplicates uint64
		for _, n := range s.Inputs {
			packets += n.Packets
			duplicates += n.Duplicates
		}
		if len(s.Inputs) != 2 || s.Inputs[0].Input != in || s.Inputs[1].Input != out || packets != s.PacketsIn || duplicates != s.Duplicates {
			t.Errorf("%+v of %d packets, %d duplicates", s.Inputs, s.PacketsIn, s.Duplicates)
		}
		if got := fmt.Sprint(s.Inputs); first == "" {
			first = got
		} else if got != first {
			t.Errorf("%s with %s workers, %s with one", got, workers, first)
		}
	}
	if text, _, _ := run("dedup", "--json", in); strings.Contains(text, `"inputs"`) {
		t.Error("one input is listed: " + text)
	}
	odd := filepath.Join(t.TempDir(), "odd\x1b[2J.pcap")
	data, err := os.ReadFile(in)
	if err != nil {
		t.Fatal(err)
	}
	writeInput(t, odd, data)
	text, _, _ := run("dedup", in, odd)
	if strings.Contains(text, "\x1b") || !strings.Contains(text, "328 packets, 6 duplicates (1.83 %): "+in) {
		t.Errorf("%q", text)
	}
}

// TestManyInputs checks that the files of a rotated capture give the same result as the
// whole capture, in any order.
func TestManyInputs(t *testing.T) {
	dir := t.TempDir()
	want := runDedup(t, exitDone, bundled("router-plain.pcapng"), "--window", "none", "--rotate-size", "1KiB", "-w", filepath.Join(dir, "part.pcapng"))
	parts := rotatedFiles(t, dir, "part")
	if len(parts) < 40 {
		t.Fatalf("%d files", len(parts))
	}
	for i := range len(parts) / 2 {
		parts[i], parts[len(parts)-1-i] = parts[len(parts)-1-i], parts[i]
	}
	whole := filepath.Join(dir, "whole.pcapng")
	got := runDedup(t, exitDone, append(parts, "--window", "none", "-w", whole)...)
	if got.PacketsIn != want.PacketsOut || got.PacketsOut != want.PacketsOut {
		t.Errorf("%d packets in, %d out, want %d", got.PacketsIn, got.PacketsOut, want.PacketsOut)
	}
	if n := len(readAll(t, whole)); n != int(want.PacketsOut) {
		t.Errorf("%d packets in the output", n)
	}
}

// TestZeroFilled reads zeros in place of records, which are neither packets of 1970 nor
// copies.
func TestZeroFilled(t *testing.T) {
	data, err := os.ReadFile(bundled("router-in.pcap"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	sound := runDedup(t, exitDone, writeInput(t, filepath.Join(dir, "sound.pcap"), data))
	for name, zeros := range map[string][]byte{"tail": make([]byte, 1<<20), "hole": append(make([]byte, 4096), data[24:]...)} {
		path := writeInput(t, filepath.Join(dir, name), append(bytes.Clone(data), zeros...))
		for _, workers := range []string{"1", "3"} {
			got := runDedup(t, exitDamaged, path, "--workers", workers, "-w", filepath.Join(dir, name+workers))
			if got.PacketsIn != sound.PacketsIn || got.Duplicates != sound.Duplicates || !got.Damaged {
				t.Errorf("%s: %+v, want %+v", name, got, sound)
			}
			_, errs, _ := run("dedup", path, "--workers", workers)
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
			args = append(args, bundled(in))
		}
		_, errs, code := run(args...)
		data, err := os.ReadFile(out)
		if err != nil || code != exitDone {
			t.Fatal(err, code, errs)
		}
		if got := isPcap(binary.LittleEndian.Uint32(data)); got != c.pcap {
			t.Errorf("%v into %s: pcap is %v", c.inputs, c.name, got)
		}
		if lines := strings.Count(errs, "\n"); c.says == "" && errs != "" || c.says != "" && (lines != 1 || !strings.Contains(errs, c.says)) {
			t.Errorf("%v into %s: %q", c.inputs, c.name, errs)
		}
		args[2] = filepath.Join(t.TempDir(), "whole")
		if _, _, code := run(args...); code != exitDone {
			t.Fatal(code)
		}
		checkSamePackets(t, readAll(t, out), readAll(t, args[2]))
	}
}

// checkSamePackets compares packets with their times.
func checkSamePackets(t *testing.T, got, want []record) {
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

// TestReadFlag checks that -r reads like an argument, and that files of flags come first.
func TestReadFlag(t *testing.T) {
	first, second := bundled("router-in.pcap"), bundled("router-out.pcap")
	args := []string{"--no-merge", "--key", strings.Repeat("5a", 32)}
	wantDedup := runDedup(t, exitDone, append(args, first, second)...)
	args = append([]string{"distinct", "--list"}, args...)
	wantList, _, _ := run(append(args, first, second)...)
	for _, c := range [][]string{{"-r", first, second}, {second, "-r", first}, {"-r", first, "--read", second}} {
		if got := runDedup(t, exitDone, append(args[2:], c...)...); got != wantDedup {
			t.Errorf("dedup %q: %+v, want %+v", c, got, wantDedup)
		}
		got, errs, code := run(append(args, c...)...)
		if code != exitDone || wantList == "" || got != wantList {
			t.Errorf("distinct %q: exit code %d, %s%s, want %s", c, code, got, errs, wantList)
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
	{"01-truncated-file-header.pcap", 0, exitFailed},
	{"02-truncated-last-packet.pcap", 5, exitDamaged},
	{"03-truncated-record-header.pcap", 5, exitDamaged},
	{"04-caplen-4GB.pcap", 2, exitDamaged},
	{"05-zero-and-negative-lengths.pcap", 7, exitDone},
	{"06-caplen-negative.pcap", 1, exitDamaged},
	{"07-block-length-0.pcapng", 1, exitDamaged},
	{"08-block-length-unaligned.pcapng", 1, exitDamaged},
	{"09-total-length-mismatch.pcapng", 1, exitDamaged},
	{"10-interface-out-of-range.pcapng", 1, exitDamaged},
	{"11-option-overrun.pcapng", 3, exitDamaged}, // the packets are sound, the options are not
	{"12-idb-option-overrun.pcapng", 0, exitFailed},
	{"13-gzip-wrong-name.pcap", 6, exitDone},
	{"14-gzip-cut.pcap.gz", 4, exitDamaged},
	{"15-empty-file.pcap", 0, exitFailed},
	{"16-text-file.pcap", 0, exitFailed},
	{"17-snaplen-2^31.pcap", 6, exitDone},
	{"18-snaplen-0.pcap", 6, exitDone},
	{"19-epb-caplen-beyond-block.pcapng", 1, exitDamaged},
	{"20-block-length-4GB.pcapng", 1, exitDamaged},
	{"21-tsresol-extreme.pcapng", 3, exitDone},
	{"22-ipv6-ext-header-chain.pcap", 1, exitDone},
	{"23-vlan-stack-1000.pcap", 1, exitDone},
	{"24-time-backwards-year.pcap", 5, exitDone},
}

func TestHostile(t *testing.T) {
	dir := filepath.Join(sharedDir(t), "hostile")
	for _, h := range hostile {
		t.Run(h.name, func(t *testing.T) {
			path := filepath.Join(dir, h.name)
			out := filepath.Join(t.TempDir(), "out")
			r := runDedup(t, h.code, path, "--identity", "frame", "-w", out)
			if r.PacketsIn != h.packets || r.Damaged != (h.code == exitDamaged) {
				t.Errorf("%d packets, damaged %v; want %d", r.PacketsIn, r.Damaged, h.packets)
			}
			checkHostileOutput(t, out, h.code, r.PacketsOut)
			_, errs, _ := run("dedup", "--method", "exact", path)
			checkHostileMessage(t, errs, h.name, h.code)
		})
	}
}

// checkHostileOutput reads the output back: it is a sound file with the survivors, or
// there is none.
func checkHostileOutput(t *testing.T, out string, code int, survivors uint64) {
	t.Helper()
	if code == exitFailed {
		if _, err := os.Stat(out); !os.IsNotExist(err) {
			t.Errorf("an output was left: %v", err)
		}
		return
	}
	again := runDedup(t, exitDone, out, "--identity", "frame", "--window", "n:1")
	if again.PacketsIn != survivors {
		t.Errorf("%d packets in the output, want %d", again.PacketsIn, survivors)
	}
}

// checkHostileMessage checks for one line that names the file and the offset.
func checkHostileMessage(t *testing.T, errs, name string, code int) {
	t.Helper()
	if code == exitDone {
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
