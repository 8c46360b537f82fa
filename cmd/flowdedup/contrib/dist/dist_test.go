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
		if err := check(known, text); (err == nil) != permitted {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := check(known, []byte("do what you want")); err == nil {
		t.Error("a text that is no licence is permitted")
	}
	testModule(t, known)
}

// testModule reads the licences of a folder.
func testModule(t *testing.T, known *classifier.Classifier) {
	dir := t.TempDir()
	m := module{Path: "example.com/m", Dir: dir}
	if _, err := licencesOf(known, m); err == nil {
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
	texts, err := licencesOf(known, m)
	if err != nil || len(texts) != 2 || !bytes.Equal(texts[0], mit) {
		t.Errorf("%d texts, %v", len(texts), err)
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

// root makes a root of Debian with nothing but what every Debian has.
func root(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	if _, err := exec.LookPath("debootstrap"); err != nil {
		t.Skip("needs debootstrap")
	}
	dir := filepath.Join(t.TempDir(), "root")
	command(t, "debootstrap", "--variant=minbase", "stable", dir)
	return dir
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

// asUser runs a shell command in a root, as a user without rights.
func asUser(t *testing.T, root, line string) string {
	t.Helper()
	return command(t, "chroot", "--userspec=65534:65534", root, "/bin/sh", "-c", "cd /data && export HOME=/data && "+line)
}

// recipes runs what the README says, where a package was installed.
func recipes(t *testing.T, root, program string) {
	t.Helper()
	data := filepath.Join(root, "data")
	if err := os.MkdirAll(data, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(data, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"router-ordered.pcapng", "router-in.pcap", "router-out.pcap"} {
		copyFile(t, filepath.Join("../../../../testdata/pcaps", name), filepath.Join(data, name))
	}
	for _, c := range []struct{ line, has string }{
		{" version", "flowdedup "},
		{" dedup --keep flow router-ordered.pcapng -w clean.pcapng --duplicates copies.pcapng", "905 duplicates removed"},
		{" verify router-ordered.pcapng clean.pcapng copies.pcapng", "All 1,224 packets are there"},
		{" distinct --of src,dst,flow router-ordered.pcapng", "flow"},
		{" inspect router-ordered.pcapng", "copies"},
		{" compare router-in.pcap router-out.pcap || test $? = 4", "both"},
		{" plan --rate 1M --window 1ms", "timed"},
	} {
		if out := asUser(t, root, program+c.line); !strings.Contains(out, c.has) {
			t.Errorf("%s: %s", c.line, out)
		}
	}
}

// TestDebian installs the package in a clean root, runs it, and removes it.
func TestDebian(t *testing.T) {
	deb, dir := one(t, made(t), "flowdedup_*_amd64.deb"), root(t)
	copyFile(t, deb, filepath.Join(dir, "p.deb"))
	before := command(t, "find", dir+"/etc", dir+"/usr", "-not", "-path", "*/dpkg/*")
	command(t, "chroot", dir, "dpkg", "-i", "/p.deb")
	recipes(t, dir, "flowdedup")
	for _, name := range []string{
		"/usr/share/man/man1/flowdedup-live.1.gz", "/usr/share/bash-completion/completions/flowdedup",
		"/usr/lib/systemd/system/flowdedup@.service", "/usr/lib/x86_64-linux-gnu/wireshark/extcap/flowdedup-extcap",
	} {
		if _, err := os.Stat(dir + name); err != nil {
			t.Error(err)
		}
	}
	if out := asUser(t, dir, "/usr/lib/x86_64-linux-gnu/wireshark/extcap/flowdedup-extcap --extcap-interfaces"); !strings.Contains(out, "flowdedup-lo") {
		t.Errorf("extcap: %s", out)
	}
	unit(t, dir)
	command(t, "chroot", dir, "dpkg", "-i", "/p.deb") // an update
	command(t, "chroot", dir, "dpkg", "--purge", "flowdedup")
	if after := command(t, "find", dir+"/etc", dir+"/usr", "-not", "-path", "*/dpkg/*"); after != before {
		t.Error("the package leaves files behind")
	}
}

// unit lets systemd read the unit of a root, where this machine has it.
func unit(t *testing.T, root string) {
	t.Helper()
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Log("no systemd-analyze: the unit is not read")
		return
	}
	text, err := os.ReadFile(root + "/usr/lib/systemd/system/flowdedup@.service")
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.ReplaceAll(text, []byte("=/usr/bin/"), []byte("="+root+"/usr/bin/"))
	name := filepath.Join(t.TempDir(), "flowdedup@.service")
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("systemd-analyze", "verify", "--man=no", name).CombinedOutput(); err != nil {
		t.Errorf("unit: %v: %s", err, out)
	}
}

// TestRPM installs the other package, without the database of a distribution.
func TestRPM(t *testing.T) {
	rpm := one(t, made(t), "flowdedup-*.x86_64.rpm")
	if _, err := exec.LookPath("rpm"); err != nil {
		t.Skip("needs rpm")
	}
	dir := root(t)
	command(t, "rpm", "--root", dir, "--nodeps", "-i", rpm)
	recipes(t, dir, "flowdedup")
	command(t, "rpm", "--root", dir, "--nodeps", "-e", "flowdedup")
	if _, err := os.Stat(dir + "/usr/bin/flowdedup"); err == nil {
		t.Error("the program is still there")
	}
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
	copyFile(t, "../../../../testdata/pcaps/router-ordered.pcapng", root+"/data/in.pcapng")
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
	captures, err := filepath.Glob("../../../../testdata/pcaps/*.pcap*")
	if err != nil || len(captures) == 0 {
		t.Fatal(captures, err)
	}
	unpacked := func(arch string) string {
		dir := t.TempDir()
		command(t, "tar", "-C", dir, "--strip-components=1", "-xzf", one(t, made(t), "*_linux_"+arch+".tar.gz"))
		return filepath.Join(dir, "flowdedup")
	}
	key := strings.Repeat("0123456789abcdef", 4)
	verdicts := func(program ...string) (all [][sha256.Size]byte) {
		for _, in := range captures {
			for _, flags := range []string{"", "--keep flow", "--identity inner --window 100ms"} {
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
