package main

import (
	"bytes"
	"crypto/sha256"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	classifier "github.com/google/licenseclassifier/v2"
	"github.com/google/licenseclassifier/v2/assets"
)

func TestVersion(t *testing.T) {
	at := time.Date(2026, 11, 22, 23, 0, 0, 0, time.UTC)
	for described, want := range map[string]string{
		"v1.4.0": "1.4.0", "v1.4.0-12-g0123456789ab": "1.4.0+12+g0123456789ab", "0123456789ab": "0.0.0~20261122.0123456789ab",
	} {
		if got := versionOf(described, at); got != want {
			t.Errorf("%s: %s, want %s", described, got, want)
		}
	}
}

// TestLicences rejects licences that are not permitted, and texts that are none.
func TestLicences(t *testing.T) {
	known, err := assets.DefaultClassifier()
	if err != nil {
		t.Fatal(err)
	}
	for name, permitted := range map[string]bool{"MIT/pristine": true, "Apache-2.0/pristine": true, "GPL-3.0/license": false, "AGPL-3.0/license": false} {
		text, err := assets.ReadLicenseFile("License/" + name + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := check(known, text); (err == nil) != permitted {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := check(known, []byte("do what you want")); err == nil {
		t.Error("a text that is no licence is permitted")
	}
	testModule(t, known)
}

// testModule reads the licences of a folder.
func testModule(t *testing.T, known *classifier.Classifier) {
	dir := t.TempDir()
	m := module{Path: "example.com/m", Dir: dir}
	if _, _, err := licencesOf(known, m); err == nil {
		t.Error("a module without a licence is permitted")
	}
	mit, err := assets.ReadLicenseFile("License/MIT/pristine.txt")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"LICENSE": mit, "NOTICE": []byte("made by us"), "licence.go": []byte("package m"), "README": []byte("GPL")} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	texts, names, err := licencesOf(known, m)
	if err != nil || len(texts) != 2 || !bytes.Equal(texts[0], mit) || !slices.Equal(names, []string{"MIT"}) {
		t.Errorf("%d texts, %q, %v", len(texts), names, err)
	}
}

// made returns the folder that a run made, which FLOWDEDUP_DIST names.
func made(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("FLOWDEDUP_DIST")
	if dir == "" {
		t.Skip("FLOWDEDUP_DIST names no folder: see make dist-test")
	}
	return dir
}

// one returns the one file of a folder that matches.
func one(t *testing.T, dir, pattern string) string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(all) != 1 {
		t.Fatalf("%s: %v, %v", pattern, all, err)
	}
	return all[0]
}

// command runs a command, and returns what it prints.
func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// TestImage unpacks the image, which has nothing but the program, and runs it there.
func TestImage(t *testing.T) {
	image := one(t, made(t), "flowdedup_*_linux_amd64_image.tar")
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	dir := t.TempDir()
	command(t, "tar", "-C", dir, "-xf", image)
	root := filepath.Join(dir, "root")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	command(t, "tar", "-C", root, "-xzf", one(t, dir, "*.tar.gz"))
	copyFile(t, filepath.Join(captures, "router-ordered.pcapng"), root+"/data/in.pcapng")
	for _, c := range []struct{ line, has string }{
		{"dedup /data/in.pcapng -w /data/out.pcapng", "duplicates removed"},
		{"verify /data/in.pcapng /data/out.pcapng", "All 1,224 packets"},
	} {
		if out := command(t, "chroot", append([]string{"--userspec=65534:65534", root, "/flowdedup"}, strings.Fields(c.line)...)...); !strings.Contains(out, c.has) {
			t.Errorf("%s: %s", c.line, out)
		}
	}
}

// emulators run programs of other processors: Debian's package qemu-user.
var emulators = map[string]string{"arm64": "qemu-aarch64", "arm7": "qemu-arm", "riscv64": "qemu-riscv64", "s390x": "qemu-s390x"}

// TestPlatforms compares what the programs for other processors make of each bundled capture
// with what that for amd64 makes. s390x is big-endian.
func TestPlatforms(t *testing.T) {
	inputs, err := filepath.Glob(filepath.Join(captures, "*.pcap*"))
	if err != nil || len(inputs) == 0 {
		t.Fatal(inputs, err)
	}
	unpacked := func(arch string) string {
		dir := t.TempDir()
		command(t, "tar", "-C", dir, "--strip-components=1", "-xzf", one(t, made(t), "*_linux_"+arch+".tar.gz"))
		return filepath.Join(dir, "flowdedup")
	}
	key := strings.Repeat("0123456789abcdef", 4)
	verdicts := func(program ...string) (all [][sha256.Size]byte) {
		for _, in := range inputs {
			for _, flags := range []string{"", "--keep first", "--identity inner --window 100ms"} {
				args := slices.Concat(program[1:], []string{"dedup", "--quiet", "--key", key, in, "-w", "-"}, strings.Fields(flags))
				out, err := exec.Command(program[0], args...).Output()
				if err != nil {
					t.Fatalf("%v %v: %v", program, args, err)
				}
				all = append(all, sha256.Sum256(out))
			}
		}
		return all
	}
	want := verdicts(unpacked("amd64"))
	for arch, emulator := range emulators {
		t.Run(arch, func(t *testing.T) {
			if _, err := exec.LookPath(emulator); err != nil {
				t.Skip("needs " + emulator)
			}
			if matches, err := filepath.Glob(filepath.Join(made(t), "*_linux_"+arch+".tar.gz")); err != nil || len(matches) == 0 {
				t.Skip("not made")
			}
			if !slices.Equal(verdicts(emulator, unpacked(arch)), want) {
				t.Error("its outputs differ from those of amd64")
			}
		})
	}
}

// TestAgain compares two runs: SHA256SUMS of the one names the files of the other.
func TestAgain(t *testing.T) {
	again := os.Getenv("FLOWDEDUP_DIST_AGAIN")
	if again == "" {
		t.Skip("FLOWDEDUP_DIST_AGAIN names no second folder: see make dist-test")
	}
	var sums [2][]byte
	for i, dir := range []string{made(t), again} {
		f, err := os.Open(filepath.Join(dir, checksumFile))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if sums[i], err = io.ReadAll(f); err != nil {
			t.Fatal(err)
		}
		check := exec.Command("sha256sum", "--quiet", "-c", checksumFile)
		check.Dir = dir
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", dir, err, out)
		}
	}
	if !bytes.Equal(sums[0], sums[1]) {
		t.Errorf("two runs differ:\n%s\n%s", sums[0], sums[1])
	}
}
