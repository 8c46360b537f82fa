// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

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
