// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/sha256"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
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

// made returns the folder that a run made, which DIST_FOLDER names.
func made(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("DIST_FOLDER")
	if dir == "" {
		t.Skip("DIST_FOLDER names no folder: see make dist SUITE=test")
	}
	return dir
}

// one returns the only file of a folder that matches.
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

// images are the images of a release that run here, with a command line and its output.
var images = map[string][]struct{ line, has string }{
	"flowdedup": {
		{"dedup /data/in.pcapng -w /data/out.pcapng", "duplicates removed"},
		{"verify /data/in.pcapng /data/out.pcapng", "All 1,224 packets"},
	},
	"flowdedup-hub": {{"version", "flowdedup-hub "}, {"join-token berlin --state /data/state", "fd1:"}},
}

// TestImage unpacks each image, which has nothing but the program, and runs it there.
func TestImage(t *testing.T) {
	for product, commands := range images {
		image := one(t, made(t), product+"_*_linux_amd64_image.tar")
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
		for _, c := range commands {
			if out := command(t, "chroot", append([]string{"--userspec=65534:65534", root, "/" + product}, strings.Fields(c.line)...)...); !strings.Contains(out, c.has) {
				t.Errorf("%s %s: %s", product, c.line, out)
			}
		}
	}
}

// TestLayout reads the OCI layout of each product: every hash in it is right, and its labels
// say what it is.
func TestLayout(t *testing.T) {
	for _, p := range products {
		dir := t.TempDir()
		command(t, "tar", "-C", dir, "-xf", one(t, made(t), p.name+"_*_image.oci.tar"))
		top, err := layout.ImageIndexFromPath(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate.Index(top); err != nil {
			t.Error(err)
		}
		outer, err := top.IndexManifest()
		if err != nil || len(outer.Manifests) != 1 || outer.Manifests[0].Annotations["org.opencontainers.image.ref.name"] == "" {
			t.Fatalf("%s: %v, %+v", p.name, err, outer)
		}
		index, err := top.ImageIndex(outer.Manifests[0].Digest)
		if err != nil {
			t.Fatal(err)
		}
		inner, err := index.IndexManifest()
		if err != nil || len(inner.Manifests) == 0 {
			t.Fatalf("%s: %v, %+v", p.name, err, inner)
		}
		for _, d := range inner.Manifests {
			image, err := index.Image(d.Digest)
			if err != nil {
				t.Fatal(err)
			}
			config, err := image.ConfigFile()
			if err != nil || config.Architecture != d.Platform.Architecture {
				t.Fatalf("%s: %v, %+v of %v", p.name, err, config, d.Platform)
			}
			for _, label := range []string{"title", "description", "documentation", "licenses", "revision", "source", "version"} {
				if config.Config.Labels["org.opencontainers.image."+label] == "" {
					t.Errorf("%s for %v: no label %s", p.name, d.Platform, label)
				}
			}
		}
	}
}

// TestComponents wants a licence and a hash of every module in the lists of components, and
// the hash of each program.
func TestComponents(t *testing.T) {
	for _, p := range products {
		f, err := os.Open(one(t, made(t), p.name+"_*.cdx.json"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		var bom cdx.BOM
		if err := cdx.NewBOMDecoder(f, cdx.BOMFileFormatJSON).Decode(&bom); err != nil {
			t.Fatal(err)
		}
		if bom.Components == nil || len(*bom.Components) < 10 {
			t.Fatalf("%s has the components %v", p.name, bom.Components)
		}
		for _, c := range *bom.Components {
			if c.Licenses == nil || len(*c.Licenses) == 0 || (*c.Licenses)[0].License.ID == "" {
				t.Errorf("%s: no licence of %s", p.name, c.Name)
			}
			ours := c.Name == mainModule || strings.HasPrefix(c.PackageURL, "pkg:golang/std@")
			if ours == (c.Hashes != nil) {
				t.Errorf("%s: the hashes of %s are %v", p.name, c.Name, c.Hashes)
			}
		}
		programs := bom.Metadata.Component.Components
		if programs == nil || len(*programs) == 0 {
			t.Fatalf("%s: no programs", p.name)
		}
		dir := t.TempDir()
		command(t, "tar", "-C", dir, "-xzf", one(t, made(t), p.name+"_*_linux_amd64.tar.gz"))
		sum, err := sumOf(one(t, dir, "*/"+p.name))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(*programs, func(c cdx.Component) bool { return (*c.Hashes)[0].Value == sum }) {
			t.Errorf("%s: no program has the hash %s", p.name, sum)
		}
	}
}

// TestBrowser runs the tests of the page for browsers on the page of the release.
func TestBrowser(t *testing.T) {
	if _, err := exec.LookPath("chromium"); err != nil {
		t.Skip("needs chromium")
	}
	dir := t.TempDir()
	command(t, "unzip", "-q", one(t, made(t), "flowdedup_*_browser.zip"), "-d", dir)
	test := exec.Command("go", "test", "-count=1", ".")
	test.Dir, test.Env = "../browser/chromium", append(os.Environ(), "FLOWDEDUP_BROWSER="+one(t, dir, "flowdedup_*"))
	if out, err := test.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestBrowserSize compares the sizes that the manual has of the page for browsers with the files of
// the release, up to 5 %.
func TestBrowserSize(t *testing.T) {
	dir := t.TempDir()
	command(t, "unzip", "-q", one(t, made(t), "flowdedup_*_browser.zip"), "-d", dir)
	files, err := os.ReadDir(one(t, dir, "flowdedup_*"))
	if err != nil {
		t.Fatal(err)
	}
	var page, loaded float64
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			t.Fatal(err)
		}
		switch f.Name() {
		case "flowdedup.html":
			page = float64(info.Size())
		case "LICENSE", "THIRD-PARTY-LICENSES":
		default:
			loaded += float64(info.Size())
		}
	}
	manual, err := os.ReadFile("../../doc/browser.md")
	if err != nil {
		t.Fatal(err)
	}
	for text, bytes := range map[string]float64{`is one file of ([\d.]+) MB`: page, `loads ([\d.]+) MB`: loaded} {
		found := regexp.MustCompile(text).FindSubmatch(manual)
		if found == nil {
			t.Fatalf("the manual does not have %s", text)
		}
		if mb, err := strconv.ParseFloat(string(found[1]), 64); err != nil || math.Abs(mb*1e6/bytes-1) > 0.05 {
			t.Errorf("%s: %.0f bytes, the manual has %s", text, bytes, found[0])
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
		command(t, "tar", "-C", dir, "--strip-components=1", "-xzf", one(t, made(t), "flowdedup_*_linux_"+arch+".tar.gz"))
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
			if matches, err := filepath.Glob(filepath.Join(made(t), "flowdedup_*_linux_"+arch+".tar.gz")); err != nil || len(matches) == 0 {
				t.Skip("not made")
			}
			if !slices.Equal(verdicts(emulator, unpacked(arch)), want) {
				t.Error("its outputs differ from those of amd64")
			}
		})
	}
}

// TestAgain compares two runs: SHA256SUMS of each names the files of both.
func TestAgain(t *testing.T) {
	again := os.Getenv("DIST_AGAIN")
	if again == "" {
		t.Skip("DIST_AGAIN names no second folder: see make dist SUITE=test")
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
