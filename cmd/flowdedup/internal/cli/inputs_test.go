package cli

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/dedup"
)

// TestCountsByInput has counts of each input that add up to those of all, whatever the
// number of workers.
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

// writeInput makes a file.
func writeInput(t *testing.T, name string, data []byte) string {
	t.Helper()
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestManyInputs gives for the files of a rotated capture what it gives for the whole of
// it, in whichever order they are named.
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

// TestZeroFilled finds zeros in place of records, and neither packets of 1970 nor copies.
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

// TestFormatByName writes what the ending of the name says, and tells what that loses or
// why it does not.
func TestFormatByName(t *testing.T) {
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
