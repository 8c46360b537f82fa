// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// TestSliceAndSort checks what dedup writes of each bundled capture, cut and sorted, by the
// code of verify.
func TestSliceAndSort(t *testing.T) {
	captures, err := filepath.Glob("../../../../testdata/pcaps/*.pcap*")
	if err != nil || len(captures) == 0 {
		t.Fatal(captures, err)
	}
	for _, c := range []struct{ flags, dedup, wrong string }{
		{"--slice 60", "--keep flow", ""},
		{"--slice l4+5 --identity inner", "", "--slice l4+4 --identity inner"},
		{"--slice l4", "--workers 1", ""},
		{"--sort 1ms", "", ""},
		{"--sort 10s --sort-memory 20KiB --slice l4+40", "--keep first", ""},
	} {
		for _, in := range clitest.Sample(3, captures) {
			dir := t.TempDir()
			extension := strings.TrimSuffix(filepath.Ext(strings.TrimSuffix(in, ".gz")), ".gz")
			out, dup := filepath.Join(dir, "out"+extension), filepath.Join(dir, "dup"+extension)
			flags := strings.Fields(c.flags)
			if _, errs, code := clitest.Run(slices.Concat([]string{"dedup", "-q", in, "-w", out, "--duplicates", dup}, flags, strings.Fields(c.dedup))...); code != cli.ExitDone {
				t.Fatalf("dedup %s %s: %s", c.flags, in, errs)
			}
			if text, errs, code := clitest.Run(append([]string{"verify", in, out, dup}, flags...)...); code != cli.ExitDone {
				t.Errorf("verify %v %s: exit code %d: %s%s", flags, in, code, text, errs)
			}
			if c.wrong == "" {
				continue
			}
			if text, _, code := clitest.Run(append([]string{"verify", in, out, dup}, strings.Fields(c.wrong)...)...); code != cli.ExitDifferent {
				t.Errorf("verify %s %s: exit code %d, as with %v: %s", c.wrong, in, code, flags, text)
			}
		}
	}
}

// writeTimes makes a capture of UDP packets at these milliseconds. The number of a packet is
// in its payload.
func writeTimes(t *testing.T, times ...int) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "times.pcap")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := pcapgo.NewWriterNanos(f)
	if err := w.WriteFileHeader(1<<16, layers.LinkTypeRaw); err != nil {
		t.Fatal(err)
	}
	for i, at := range times {
		data := []byte("\x45\x00\x00\x20\x00\x01\x00\x00\x40\x11\x00\x00\x0a\x00\x00\x01\x0a\x00\x00\x02\x00\x05\x00\x06\x00\x0c\x00\x00num" + string(rune('a'+i)))
		info := gopacket.CaptureInfo{Timestamp: time.UnixMilli(int64(at)), CaptureLength: len(data), Length: len(data)}
		if err := w.WritePacket(info, data); err != nil {
			t.Fatal(err)
		}
	}
	return name
}

// numbersOf returns the last byte of each packet of a capture.
func numbersOf(t *testing.T, name string) (all string) {
	t.Helper()
	clitest.WritePart(t, filepath.Join(t.TempDir(), "again.pcap"), name, func(_ int, b *capture.Batch, i int) bool {
		d := b.Data(i)
		all += string(d[len(d)-1:])
		return true
	})
	return all
}

// backwards writes a capture, each 50 packets in the opposite order.
func backwards(t *testing.T, name, from string) {
	t.Helper()
	src, err := pcapfile.Open(from, pcapfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	w := pcapfile.NewWriter(file, pcapfile.WriterOptions{})
	var b capture.Batch
	for err = src.Next(&b); err == nil; err = src.Next(&b) {
		for part := range slices.Chunk(b.Frames, 50) {
			slices.Reverse(part)
		}
		if err := w.Write(&b, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil || len(b.Frames) > 0 {
		t.Fatal(err)
	}
}

// TestSort checks the order of written packets, and the message about packets that are too
// late.
func TestSort(t *testing.T) {
	in := writeTimes(t, 10, 30, 20, 25, 1100, 1200, 90, 2000)
	for _, c := range []struct {
		flags string
		order string
		late  uint64
		warns string
	}{
		{"--sort 1s", "acdbgefh", 0, ""},
		{"--sort 1d --workers 3", "acdbgefh", 0, ""},
		{"--sort 10ms", "acdbegfh", 1, "the first of them packet 7, by up to 1.01s, and is out of order: use --sort 1.02s or more"},
		{"--sort 10s --sort-memory 400", "acdbgefh", 0, ""},
		{"--sort 10s --sort-memory 200", "acdbegfh", 1, "use a larger --sort-memory"},
		{"--sort 1ms --quiet", "acdbegfh", 1, ""},
	} {
		out := filepath.Join(t.TempDir(), "out.pcap")
		text, errs, code := clitest.Run(append([]string{"dedup", "--json", in, "-w", out}, strings.Fields(c.flags)...)...)
		var s struct {
			SortedLate *uint64 `json:"sorted_late"`
		}
		if err := json.Unmarshal([]byte(text), &s); err != nil || code != cli.ExitDone || s.SortedLate == nil {
			t.Fatalf("%s: exit code %d, %v, %s%s", c.flags, code, err, text, errs)
		}
		if got := numbersOf(t, out); got != c.order || *s.SortedLate != c.late || !strings.Contains(errs, c.warns) || c.warns == "" && errs != "" {
			t.Errorf("%s: %s, %d late, %q; want %+v", c.flags, got, *s.SortedLate, errs, c)
		}
		if text, errs, code := clitest.Run(slices.Concat([]string{"verify", in, out}, strings.Fields(c.flags))...); code != cli.ExitDone && !strings.Contains(c.flags, "--workers") {
			t.Errorf("verify %s: exit code %d, %s%s", c.flags, code, text, errs)
		}
	}
	wrong, right := writeTimes(t, 10, 30, 20, 1e8, 25, 90, 70), filepath.Join(t.TempDir(), "out.pcap")
	if text, errs, code := clitest.Run("dedup", wrong, "-w", right, "--sort", "20ms"); code != cli.ExitDone || errs != "" || numbersOf(t, right) != "acebgfd" {
		t.Errorf("a false time: %s, exit code %d, %s%s", numbersOf(t, right), code, text, errs)
	}
	if text, errs, code := clitest.Run("verify", wrong, right, "--sort", "20ms"); code != cli.ExitDone {
		t.Errorf("exit code %d, %s%s", code, text, errs)
	}
	other := filepath.Join(t.TempDir(), "out.pcap")
	if _, errs, code := clitest.Run("dedup", "--quiet", in, "-w", other); code != cli.ExitDone || numbersOf(t, other) != "abcdefgh" {
		t.Errorf("exit code %d, %s", code, errs)
	}
	if _, _, code := clitest.Run("verify", "--quiet", "--sort", "1s", in, other); code != cli.ExitDifferent {
		t.Errorf("an output that is not sorted is right: exit code %d", code)
	}
}

// TestSortFirst checks that windows see the order of times: a copy that lies within the window
// is found behind many others, and the earlier packet is kept.
func TestSortFirst(t *testing.T) {
	in := clitest.Bundled("router-ordered.pcapng")
	disordered := filepath.Join(t.TempDir(), "disordered.pcapng")
	backwards(t, disordered, in)
	want := clitest.RunDedup(t, cli.ExitDone, in)
	got := clitest.RunDedup(t, cli.ExitDone, "--sort", "1h", disordered)
	if got.Duplicates != want.Duplicates || got.PacketsIn != want.PacketsIn || got.OutOfOrder != want.OutOfOrder {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := clitest.RunDedup(t, cli.ExitDone, disordered); got.OutOfOrder == 0 {
		t.Error("the input is in order")
	}
}

// TestSortRepeats checks that neither workers nor a pipe in pieces change the output.
func TestSortRepeats(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "in.pcapng")
	backwards(t, in, clitest.Bundled("router-vlan.pcapng"))
	content := clitest.ReadFile(t, in)
	written := func(name string) string {
		data := clitest.ReadFile(t, filepath.Join(dir, name))
		return string(data)
	}
	flags := []string{"dedup", "--quiet", "--sort", "2ms", "--sort-memory", "8KiB", "--slice", "l4", "-w"}
	for _, workers := range []string{"1", "4"} {
		if _, errs, code := clitest.Run(append(flags, filepath.Join(dir, workers), "--workers", workers, in)...); code != cli.ExitDone {
			t.Fatalf("exit code %d, %s", code, errs)
		}
	}
	cmd := clitest.Program(t, append(flags, filepath.Join(dir, "pipe"), "-")...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for piece := range slices.Chunk(content, 1500) {
		if _, err := stdin.Write(piece); err != nil {
			t.Fatal(err)
		}
	}
	if err := stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if code := clitest.ExitCode(t, cmd.Wait()); code != cli.ExitDone {
		t.Errorf("exit code %d", code)
	}
	if one := written("1"); one != written("4") || one != written("pipe") || len(one) < 1000 {
		t.Errorf("%d bytes, %d with four workers, %d from a pipe", len(one), len(written("4")), len(written("pipe")))
	}
}

// TestSliceCounts checks the counts of cut packets, with headers removed first.
func TestSliceCounts(t *testing.T) {
	in, out := clitest.Bundled("router-ordered.pcapng"), filepath.Join(t.TempDir(), "out.pcapng")
	s := clitest.RunDedup(t, cli.ExitDone, in, "-w", out, "--strip", "vlan", "--slice", "54")
	if s.Stripped == nil || s.Sliced == nil || s.Unsliced == nil {
		t.Fatalf("%+v", s)
	}
	cut, packets, tagged := uint64(0), uint64(0), 0
	clitest.WritePart(t, filepath.Join(t.TempDir(), "again.pcapng"), out, func(_ int, b *capture.Batch, i int) bool {
		f := &b.Frames[i]
		packets++
		if f.CapLen < f.WireLen {
			cut++
		}
		if f.CapLen > 54 {
			t.Errorf("%d bytes", f.CapLen)
		}
		if d := b.Data(i); len(d) > 13 && d[12] == 0x81 && d[13] == 0 {
			tagged++
		}
		return true
	})
	if *s.Sliced != cut || packets != s.PacketsOut || *s.Unsliced != 0 || *s.Stripped == 0 || tagged > 0 || cut == 0 {
		t.Errorf("%d of %d packets are cut, %d tagged, and %+v, %d sliced, %d unsliced", cut, packets, tagged, s, *s.Sliced, *s.Unsliced)
	}
	if text, _, _ := clitest.Run("dedup", in, "-w", out, "--slice", "54"); !strings.Contains(text, "sliced") {
		t.Errorf("no word of it: %s", text)
	}
}
