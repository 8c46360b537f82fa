// SPDX-License-Identifier: Apache-2.0

package flows_test

import (
	"bytes"
	"compress/gzip"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

func gzipped(t *testing.T, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// errorLines returns what a run says of an input, without its figures.
func errorLines(stderr string) string {
	var lines []string
	for line := range strings.Lines(stderr) {
		if strings.Contains(line, "offset") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

// TestFlowsReadsAsDedup has both commands say the same about captures, whatever they are
// compressed with.
func TestFlowsReadsAsDedup(t *testing.T) {
	t.Parallel()
	data := mustReadFile(t, clitest.Bundled("router-in.pcap"))
	var zstdOf bytes.Buffer
	w, err := zstd.NewWriter(&zstdOf)
	if err == nil {
		_, err = w.Write(data)
	}
	if err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	packed := gzipped(t, data)
	wrongSum := bytes.Clone(packed)
	wrongSum[len(wrongSum)-8] ^= 0xff
	dir := t.TempDir()
	for name, stored := range map[string][]byte{
		"whole.gz": packed, "whole.zst": zstdOf.Bytes(), "padded.gz": append(bytes.Clone(packed), make([]byte, 512)...),
		"cut.pcap": data[:len(data)-7], "cut.gz": packed[:len(packed)-20], "cut.zst": zstdOf.Bytes()[:zstdOf.Len()-20],
		"sum.gz": wrongSum, "behind.gz": append(bytes.Clone(packed), "rubbish"...), "header.gz": packed[:7],
		"thrice.gz": gzipped(t, gzipped(t, packed)), "nothing": nil, "nothing.gz": gzipped(t, nil), "three": []byte("\x1f\x8b\x08"),
	} {
		path := clitest.WriteInput(t, filepath.Join(dir, name), stored)
		_, want, wantCode := clitest.Run("dedup", path)
		_, got, code := clitest.Run("flows", path)
		// Without flow records in it, damage is a failure.
		if wantCode == cli.ExitDamaged {
			wantCode = cli.ExitFailed
		}
		if errorLines(got) != errorLines(want) || code != wantCode {
			t.Errorf("%s: dedup ends with %d and says\n%s\nflows with %d\n%s", name, wantCode, want, code, got)
		}
	}
}

// TestFlowsDamagedText reads the sound part of an input, and all of the others.
func TestFlowsDamagedText(t *testing.T) {
	t.Parallel()
	lines := strings.Repeat(goflowLines, 500)
	packed := gzipped(t, []byte(lines))
	wrongSum := bytes.Clone(packed)
	wrongSum[len(wrongSum)-8] ^= 0xff
	dir := t.TempDir()
	damaged := clitest.WriteInput(t, filepath.Join(dir, "damaged.json.gz"), wrongSum)
	sound := clitest.WriteInput(t, filepath.Join(dir, "sound.json"), []byte(lines))
	out := clitest.WriteInput(t, filepath.Join(dir, "out.json"), []byte("as it was"))
	r, stderr := runFlows(t, cli.ExitDamaged, damaged, sound, "-w", out)
	if r.RecordsIn != 4000 || !r.Damaged || !strings.Contains(stderr, damaged+": offset ") || !strings.Contains(stderr, "gzip data damaged") {
		t.Errorf("%+v %s", r, stderr)
	}
	if parts, _ := filepath.Glob(filepath.Join(dir, "out*")); len(parts) != 2 || string(mustReadFile(t, out)) != "as it was" {
		t.Errorf("%q", parts)
	}
}

// TestFlowsDamagedLines ends with the exit code of damaged input if a record of text is damaged,
// and keeps the others. Lines about something else are no damage.
func TestFlowsDamagedLines(t *testing.T) {
	t.Parallel()
	lines := strings.SplitAfter(goflowLines, "\n")
	header := "srcaddr,dstaddr,bytes\n"
	for name, c := range map[string]struct {
		text    string
		records uint64
		damaged uint64
	}{
		"a line cut":        {lines[0] + lines[1][:50] + "\n" + lines[2], 2, 1},
		"the last line cut": {goflowLines + lines[0][:70], 4, 1},
		"rubbish between":   {lines[0] + "rubbish\n" + lines[2] + "{]\n", 2, 2},
		"an array cut":      {"[" + lines[0] + "," + lines[2][:40], 1, 1},
		"CSV, a field less": {header + "192.0.2.1,198.51.100.7,5\n192.0.2.1,198\n", 1, 1},
		"sound":             {goflowLines, 4, 0},
		"CSV, sound":        {header + "192.0.2.1,198.51.100.7,5\n" + header, 1, 0},
		"other events":      {lines[0] + `{"event":"x"}` + "\n", 2, 0},
		"a summary behind":  {"ts,sa,da,ipkt\n2026-11-21 06:09:04.828,192.0.2.1,198.51.100.7,6\nSummary\nflows,bytes\n1,2\n", 1, 0},
	} {
		code := cli.ExitDone
		if c.damaged > 0 {
			code = cli.ExitDamaged
		}
		dir := t.TempDir()
		in, out := clitest.WriteInput(t, filepath.Join(dir, "in"), []byte(c.text)), filepath.Join(dir, "out.json")
		r, stderr := runFlows(t, code, in, "-w", out)
		if r.RecordsIn != c.records || r.Damaged != (c.damaged > 0) || r.Undecodable != c.damaged || strings.Contains(stderr, "damaged and left out") != r.Damaged {
			t.Errorf("%s: %+v %s", name, r, stderr)
		}
		if n := strings.Count(string(mustReadFile(t, out)), "\n"); n == 0 || uint64(n) > c.records {
			t.Errorf("%s: %d lines of %d", name, n, c.records)
		}
	}
}
