// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/bench/workload"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// TestMark marks captures whose copies are known. The output has all packets, and comments on
// the packets that would be removed without --mark, which name kept packets. It does not
// depend on the workers.
func TestMark(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob(clitest.Bundled("*.truth.json"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no truth: %v", err)
	}
	for i, name := range clitest.Sample(3, names) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			var want clitest.Truth
			data := clitest.ReadFile(t, name)
			if err := json.Unmarshal(data, &want); err != nil {
				t.Fatal(err)
			}
			args, inputs := want.Flags(), want.Inputs()
			file, comments := checkMark(t, &want, args, inputs)
			if i%4 == 0 && !testing.Short() {
				checkByTshark(t, file, comments)
			}
			checkMark(t, &want, append(args, "--keep", "first"), inputs)
		})
	}
}

// checkMark returns the marked file, and its comments.
func checkMark(t *testing.T, want *clitest.Truth, args, inputs []string) (file string, comments []string) {
	t.Helper()
	args = append(slices.Clip(args), inputs...)
	file, clean := filepath.Join(t.TempDir(), "marked"), filepath.Join(t.TempDir(), "clean")
	clitest.RunDedup(t, cli.ExitDone, append(args, "-w", clean)...)
	args = append(args, "--mark")
	var first []byte
	for _, workers := range []string{"1", "3"} {
		if r := clitest.RunDedup(t, cli.ExitDone, append(args, "-w", file, "--workers", workers)...); r.PacketsIn != want.Packets || r.Duplicates != want.Duplicates {
			t.Errorf("%d packets, %d duplicates", r.PacketsIn, r.Duplicates)
		}
		written := clitest.ReadFile(t, file)
		if first != nil && !bytes.Equal(first, written) {
			t.Errorf("%s workers write something else", workers)
		}
		first = written
	}
	all := clitest.ReadAll(t, file)
	clitest.CompareRecords(t, "marked", all, clitest.ReadAll(t, inputs...))
	comments = clitest.CommentsOf(t, file)
	var kept []clitest.Record
	for i, c := range comments {
		var of int
		if c == "" {
			kept = append(kept, all[i])
		} else if _, err := fmt.Sscanf(c, "copy of packet %d, ", &of); err != nil || of < 1 || of > len(all) || comments[of-1] != "" {
			t.Errorf("packet %d: %q", i+1, c)
		}
	}
	clitest.CompareRecords(t, "without comments", kept, clitest.ReadAll(t, clean))
	checkRotatedMarks(t, args, comments)
	return file, comments
}

// checkByTshark checks the numbers and comments that Wireshark shows.
func checkByTshark(t *testing.T, file string, comments []string) {
	t.Helper()
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		return
	}
	out, err := exec.Command(tshark, "-n", "-r", file, "-T", "fields", "-e", "frame.number", "-e", "frame.comment").Output()
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for i, c := range comments {
		fmt.Fprintf(&want, "%d\t%s\n", i+1, c)
	}
	if string(out) != want.String() {
		t.Errorf("tshark shows %.300q, want %.300q", out, want.String())
	}
}

// checkRotatedMarks checks that rotated files have the comments of a single file.
func checkRotatedMarks(t *testing.T, args, comments []string) {
	t.Helper()
	dir := t.TempDir()
	clitest.RunDedup(t, cli.ExitDone, append(args, "-w", filepath.Join(dir, "out.pcapng"), "--rotate-size", "16KiB")...)
	var got []string
	files := clitest.RotatedFiles(t, dir, "out")
	for _, name := range files {
		got = append(got, clitest.CommentsOf(t, name)...)
		if size := clitest.FileSize(t, name); size > 16<<10 {
			t.Errorf("%s has %d bytes", name, size)
		}
	}
	if len(files) < 2 || !slices.Equal(got, comments) {
		t.Errorf("%d files with %d packets, want %d", len(files), len(got), len(comments))
	}
}

// TestMarkGenerated marks a generated stream. Each comment names the packet that the
// generator copied, and says what the generator changed.
func TestMarkGenerated(t *testing.T) {
	t.Parallel()
	c := workload.Default()
	var stream, copies bytes.Buffer
	c.Packets, c.Duplicates, c.Repeats, c.Copies = 20_000, 0.4, 0, &copies
	if _, err := workload.Generate(&stream, c); err != nil {
		t.Fatal(err)
	}
	in, out := filepath.Join(t.TempDir(), "in.pcap"), filepath.Join(t.TempDir(), "out.pcapng")
	if err := os.WriteFile(in, stream.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	clitest.RunDedup(t, cli.ExitDone, in, "--mark", "--window", c.Window.String(), "-w", out)
	comments := clitest.CommentsOf(t, out)
	lines := strings.Split(strings.TrimSpace(copies.String()), "\n")[1:]
	for _, line := range lines {
		var number, of int
		var kind string
		if _, err := fmt.Sscanf(strings.ReplaceAll(line, ",", " "), "%d %d %s", &number, &of, &kind); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		comment := comments[number]
		if !strings.HasPrefix(comment, fmt.Sprintf("copy of packet %d, ", of+1)) || !saysKind(comment, kind) {
			t.Errorf("packet %d is a copy (%s) of packet %d: %q", number+1, kind, of+1, comment)
		}
	}
	if marked := len(slices.DeleteFunc(comments, func(c string) bool { return c == "" })); marked != len(lines) || marked == 0 {
		t.Errorf("%d packets have comments, want %d", marked, len(lines))
	}
}

// saysKind reports whether a comment names what the generator changed, and nothing else.
func saysKind(comment, kind string) bool {
	parts := strings.Split(comment, ", ")[2:]
	begins := map[string][]string{
		"exact": {"identical"}, "vlan": {"VLAN none -> "}, "routed": {"TTL |hop limit ", "MAC"}, "dscp": {"ToS |traffic class "},
	}[kind]
	if len(parts) != len(begins) {
		return false
	}
	for i, words := range begins {
		if !slices.ContainsFunc(strings.Split(words, "|"), func(word string) bool { return strings.HasPrefix(parts[i], word) }) {
			return false
		}
	}
	return true
}
