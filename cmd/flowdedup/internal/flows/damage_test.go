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
