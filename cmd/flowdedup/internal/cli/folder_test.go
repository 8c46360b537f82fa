// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// folderOf rotates a capture into a folder of many files, every fourth of which is compressed. Of
// several series, each has some of the packets.
func folderOf(t *testing.T, from string, files, series, packets int) string {
	t.Helper()
	dir := t.TempDir()
	for k := range files {
		name := filepath.Join(dir, fmt.Sprintf("cap%d-%03d.pcap", k%series, k))
		clitest.WritePart(t, name, from, func(number int, _ *capture.Batch, _ int) bool {
			return number*(files/series)/packets == k/series && number%series == k%series
		})
		if k%4 == 1 { // the name does not say so
			var packed bytes.Buffer
			z := gzip.NewWriter(&packed)
			_, _ = z.Write(clitest.ReadFile(t, name))
			_ = z.Close()
			clitest.WriteInput(t, name, packed.Bytes())
		}
	}
	return dir
}

// filesOf returns the contents of the files in a folder, hidden files among them.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		all[entry.Name()] = string(clitest.ReadFile(t, filepath.Join(dir, entry.Name())))
	}
	return all
}

// unpacked decompresses what is compressed.
func unpacked(t *testing.T, data string) string {
	t.Helper()
	if !strings.HasPrefix(data, "\x1f\x8b") {
		return data
	}
	z, err := gzip.NewReader(strings.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(plain)
}

// TestFolder cleans the files of random rotated captures one to one. Together they have the packets
// of one run over all into one file; each is what its input is without the removed packets.
func TestFolder(t *testing.T) {
	const packets = 3000
	for seed, series := range []int{1, 2, 5} {
		rng := rand.New(rand.NewPCG(uint64(seed), 7))
		in := clitest.WriteStream(t, clitest.RandomStream(rng, packets, 3, 300*time.Microsecond), 3)
		rot := folderOf(t, in, 40, series, packets)
		before := filesOf(t, rot)
		out := t.TempDir()
		clean, copies := filepath.Join(out, "clean")+"/", filepath.Join(out, "copies")
		if err := os.Mkdir(copies, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, flags := range [][]string{{"--keep", "first"}, {"--sort", "10ms"}, {"--identity", "inner", "--strip", "vlan", "--slice", "l4+10"}, {"--only", "udp"}} {
			one := filepath.Join(t.TempDir(), "one.pcapng")
			want := clitest.RunDedup(t, cli.ExitDone, slices.Concat([]string{rot, "-w", one}, flags)...)
			got := clitest.RunDedup(t, cli.ExitDone, slices.Concat([]string{rot, "-w", clean, "--duplicates", copies}, flags)...)
			if got.Duplicates != want.Duplicates || got.Duplicates == 0 {
				t.Errorf("%q: %d duplicates, want %d", flags, got.Duplicates, want.Duplicates)
			}
			var names []string
			for name, content := range filesOf(t, clean) {
				names = append(names, filepath.Join(clean, name))
				if strings.HasPrefix(content, "\x1f\x8b") != strings.HasPrefix(before[name], "\x1f\x8b") {
					t.Errorf("%s: another compression", name)
				}
				if was, is := unpacked(t, before[name]), unpacked(t, content); flags[0] == "--keep" && (is[:40] != was[:40] || len(is) > len(was)) {
					t.Errorf("%s begins with % x, want % x", name, is[:40], was[:40])
				}
			}
			if slices.Sort(names); len(names) != len(before) {
				t.Errorf("%d files, want %d: %q", len(names), len(before), names)
			}
			clitest.CompareRecords(t, fmt.Sprint(flags), clitest.ReadAll(t, names...), clitest.ReadAll(t, one))
			verify := slices.Concat([]string{"verify", rot, clean, copies}, slices.DeleteFunc(slices.Clone(flags), func(s string) bool { return s == "--keep" || s == "first" }))
			if flags[0] != "--only" {
				if out, stderr, code := clitest.Run(verify...); code != cli.ExitDone {
					t.Errorf("%q: exit code %d: %s%s", verify, code, out, stderr)
				}
			}
			for _, dir := range []string{clean, copies} {
				if err := os.RemoveAll(dir); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Mkdir(copies, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		for name, content := range filesOf(t, rot) {
			if before[name] != content {
				t.Errorf("the input %s changed", name)
			}
		}
	}
}
