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

// filesOf returns the contents of the files in a folder, hidden ones among them.
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

// TestFolderVerified finds files of the folder that were exchanged, cut or changed.
func TestFolderVerified(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	in := clitest.WriteStream(t, clitest.RandomStream(rng, 600, 3, 300*time.Microsecond), 3)
	rot := folderOf(t, in, 6, 2, 600)
	clean := t.TempDir()
	clitest.RunDedup(t, cli.ExitDone, rot, "-w", clean)
	name := func(n int) string { return filepath.Join(clean, fmt.Sprintf("cap%d-%03d.pcap", n%2, n)) }
	check := func(what string, want int, says string) {
		t.Helper()
		if out, stderr, code := clitest.Run("verify", rot, clean); code != want || !strings.Contains(out, says) {
			t.Errorf("%s: exit code %d, want %d with %q: %s%s", what, code, want, says, out, stderr)
		}
	}
	check("as written", cli.ExitDone, "")
	clitest.WriteInput(t, filepath.Join(clean, "other.pcap"), clitest.HourlyPcap(3))
	check("with a file of another input", cli.ExitDone, "")
	a, b := clitest.ReadFile(t, name(2)), clitest.ReadFile(t, name(4))
	clitest.WriteInput(t, name(2), b)
	clitest.WriteInput(t, name(4), a)
	check("exchanged", cli.ExitDifferent, "cap0-002.pcap")
	clitest.WriteInput(t, name(2), a)
	clitest.WriteInput(t, name(4), a[:len(a)/2])
	check("another one, and cut", cli.ExitDifferent, "cap0-004.pcap")
	if err := os.Remove(name(4)); err != nil {
		t.Fatal(err)
	}
	check("removed", cli.ExitFailed, "")
}

// TestFolderRefused has outputs that would harm files, or that cannot be in a folder. Nothing is
// written, and all files stay.
func TestFolderRefused(t *testing.T) {
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"rot -w rot", cli.ExitUsage, "rot/a.pcap"},
		{"rot -w rot/", cli.ExitUsage, "rot/a.pcap"},
		{"rot -w rot --in-place", cli.ExitUsage, "rot/a.pcap"},
		{"rot -w taken", cli.ExitUsage, "taken/a.pcap"},
		{"rot --duplicates taken", cli.ExitUsage, "taken/a.pcap"},
		{"rot -w new/ --duplicates new", cli.ExitUsage, "same file"},
		{"rot/a.pcap other/a.pcap -w new/", cli.ExitUsage, "has one file for"},
		{"rot - -w new/", cli.ExitUsage, "- is no file"},
		{"rot -w new/ --rotate-size 1MB", cli.ExitFailed, "new/"},
		{"rot -w taken --rotate-size 1MB", cli.ExitUsage, "cannot be rotated"},
		{"rot -w new/ --mark", cli.ExitUsage, "--mark"},
		{"rot/a.pcap -w rot/b.pcap/", cli.ExitFailed, "b.pcap"},
		{"rot -w no/new/", cli.ExitFailed, "no/new"},
		{"empty -w new/", cli.ExitUsage, "empty"},
		{"empty", cli.ExitFailed, "empty"},
		{"other rot -w new/ --only no:expression", cli.ExitUsage, ""},
	} {
		t.Run(c.args, func(t *testing.T) {
			t.Chdir(t.TempDir())
			for _, name := range []string{"rot/a.pcap", "rot/b.pcap", "taken/a.pcap", "other/a.pcap", "empty/.hidden.pcap"} {
				if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
					t.Fatal(err)
				}
				clitest.WriteInput(t, name, clitest.HourlyPcap(2))
			}
			_, stderr, code := clitest.Run(append([]string{"dedup"}, strings.Fields(c.args)...)...)
			if code != c.code || !strings.Contains(stderr, c.says) {
				t.Errorf("exit code %d, want %d with %q: %s", code, c.code, c.says, stderr)
			}
			var all []string
			for dir, files := range map[string]int{"rot": 2, "taken": 1, "other": 1, "empty": 1} {
				got := filesOf(t, dir)
				if all = append(all, dir); len(got) != files {
					t.Errorf("%s has %d files", dir, len(got))
				}
				for name, content := range got {
					if content != string(clitest.HourlyPcap(2)) {
						t.Errorf("%s/%s changed", dir, name)
					}
				}
			}
			if entries, _ := os.ReadDir("."); len(entries) != len(all) {
				t.Errorf("there is more: %v", entries)
			}
		})
	}
}

// TestFolderInputs reads the captures of a folder, and names other files.
func TestFolderInputs(t *testing.T) {
	dir := t.TempDir()
	for name, data := range map[string][]byte{
		"b.pcap": clitest.HourlyPcap(2), "a.pcap3": clitest.HourlyPcap(3), ".hidden.pcap": clitest.HourlyPcap(4),
		"README": []byte("hi"), "eve.json": []byte(`{"a":1,"b":2,"c":3,"d":4,"e":5}`), "empty.pcap": nil, "young.pcap7": clitest.HourlyPcap(1)[:10],
	} {
		clitest.WriteInput(t, filepath.Join(dir, name), data)
	}
	for _, command := range []string{"dedup", "distinct", "inspect"} {
		out, stderr, code := clitest.Run(command, dir, "--json")
		if code != cli.ExitDone || !strings.Contains(out, `"packets_in":5`) && command == "dedup" {
			t.Errorf("%s: exit code %d: %s%s", command, code, out, stderr)
		}
		for _, name := range []string{"README", "eve.json", "empty.pcap", "young.pcap7"} {
			if !strings.Contains(stderr, name) {
				t.Errorf("%s says nothing of %s: %s", command, name, stderr)
			}
		}
	}
	clitest.WriteInput(t, filepath.Join(dir, "broken.pcap"), []byte("no capture at all"))
	clean := filepath.Join(t.TempDir(), "clean") + "/"
	if _, stderr, code := clitest.Run("dedup", dir, "-w", clean); code != cli.ExitFailed || !strings.Contains(stderr, "broken.pcap") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if got := filesOf(t, clean); len(got) != 2 || got["a.pcap3"] != string(clitest.HourlyPcap(3)) {
		t.Errorf("%d files", len(got))
	}
	if out, stderr, code := clitest.Run("verify", dir, clean); code != cli.ExitFailed || !strings.Contains(out, "All 5 packets") || !strings.Contains(stderr, dir) {
		t.Errorf("verify: exit code %d: %s%s", code, out, stderr)
	}
}
