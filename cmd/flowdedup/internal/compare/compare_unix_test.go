// SPDX-License-Identifier: Apache-2.0

//go:build unix

package compare_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// TestComparePipes compares a file with a pipe, and two pipes, in batches that end anywhere.
func TestComparePipes(t *testing.T) {
	t.Parallel()
	a, b, _ := tap(t, 3_700_000_000)
	dir := t.TempDir()
	args := func(n int) []string {
		return []string{"compare", "--json", "--only-a", filepath.Join(dir, string(rune('a'+n))+".pcap"), "--only-b", filepath.Join(dir, string(rune('A'+n))+".pcap")}
	}
	normal := func(s string) string {
		return strings.NewReplacer(dir, "", a, "", b, "").Replace(clitest.SpentTime.ReplaceAllString(s, ""))
	}
	want, _, code := clitest.RunCut(0, append(args(0), a, b)...)
	if code != cli.ExitDifferent {
		t.Fatalf("exit code %d: %s", code, want)
	}
	first := clitest.ReadFile(t, filepath.Join(dir, "a.pcap"))
	in := &clitest.CutInput{Fed: map[string][]byte{}}
	for i, name := range []string{a, b} {
		data, err := os.ReadFile(name)
		fifo := filepath.Join(dir, "fifo"+string(rune('0'+i)))
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(fifo, 0o600); err != nil {
			t.Skip(err)
		}
		in.Fed[fifo], in.Names = data, append(in.Names, fifo)
	}
	for n, names := range [][]string{{a, b}, in.Names} {
		if n == 1 {
			in.Feed(t, 5)
		}
		got, errs, code := clitest.RunCut(uint64(n+3), append(args(n+1), names...)...)
		got = strings.NewReplacer(in.Names[0], "", in.Names[1], "").Replace(got)
		if normal(got) != normal(want) || code != cli.ExitDifferent || errs != "" {
			t.Errorf("%v: exit code %d, %s, %s, want %s", names, code, errs, normal(got), normal(want))
		}
		data, err := os.ReadFile(filepath.Join(dir, string(rune('b'+n))+".pcap"))
		if err != nil || !bytes.Equal(data, first) {
			t.Errorf("%v: other packets, %v", names, err)
		}
	}
}

// TestCompareRefusesPipes checks that pipes are refused if the offset needs a second pass,
// which files get.
func TestCompareRefusesPipes(t *testing.T) {
	t.Parallel()
	a, b, _ := tap(t, 3_700_000_000)
	half := filepath.Join(t.TempDir(), "half.pcap")
	n := len(clitest.WritePart(t, half, b, func(number int, _ *capture.Batch, _ int) bool { return number >= 20_000 }))
	r, _ := clitest.RunCompare(t, cli.ExitDifferent, "--memory", "1MiB", a, half)
	if r.Both != uint64(n) || r.OnlyB != 0 || r.A.Outside == 0 {
		t.Errorf("%+v, want %d packets in both", r, n)
	}
	cmd := clitest.Program(t, "compare", "--memory", "1MiB", a, "-")
	in, err := os.Open(half)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	cmd.Stdin = in
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if code := clitest.ExitCode(t, cmd.Run()); code != cli.ExitFailed || strings.Count(errs.String(), "\n") != 1 || !strings.Contains(errs.String(), "do not show the offset of the clocks") {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
}
