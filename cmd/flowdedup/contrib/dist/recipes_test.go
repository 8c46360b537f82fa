// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// contribFolder is the folder of what comes with the program.
const contribFolder = ".."

// filled writes the recipes with made-up checksums, one for each platform, and returns their
// texts by name.
func filled(t *testing.T, version string) (folder string, texts map[string]string) {
	t.Helper()
	r := &release{version: version, time: time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)}
	sums := map[string]string{}
	for i, on := range all {
		sums[on.name()] = strings.Repeat(string("0123456789abcdef"[i]), 64)
	}
	folder, texts = t.TempDir(), map[string]string{}
	if err := r.fillRecipes(filepath.Join(contribFolder, recipeFolder), folder, sums); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"homebrew/flowdedup.rb", "aur/PKGBUILD", "aur/.SRCINFO", "nix/flake.nix", "scoop/flowdedup.json", "winget/flowdedup.flowdedup.yaml",
		"winget/flowdedup.flowdedup.installer.yaml", "winget/flowdedup.flowdedup.locale.en-US.yaml",
	} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = string(text)
	}
	return folder, texts
}

// TestRecipes checks that all fields are filled, and that each address has the checksum of its
// archive.
func TestRecipes(t *testing.T) {
	_, texts := filled(t, "1.4.0")
	address := regexp.MustCompile(`releases/download/v1\.4\.0/flowdedup_1\.4\.0_(\w+)\.(?:tar\.gz|zip)`)
	digits := regexp.MustCompile(`\b[0-9a-fA-F]{64}\b`)
	for name, text := range texts {
		if strings.Contains(text, "{{") || strings.Contains(text, "<no value>") || !strings.Contains(text, "1.4.0") {
			t.Errorf("%s: %s", name, text)
		}
		found := address.FindAllStringSubmatch(text, -1)
		sums := digits.FindAllString(text, -1)
		if len(found) != len(sums) {
			t.Errorf("%s has %d addresses and %d checksums", name, len(found), len(sums))
			continue
		}
		for i, f := range found {
			for j, on := range all {
				if want := strings.Repeat(string("0123456789abcdef"[j]), 64); on.name() == f[1] && !strings.EqualFold(sums[i], want) {
					t.Errorf("%s: %s has the checksum %s", name, f[1], sums[i])
				}
			}
		}
	}
	r := &release{version: "1"}
	if err := r.fillRecipes(filepath.Join(contribFolder, recipeFolder), t.TempDir(), nil); !errors.Is(err, errPlatform) {
		t.Errorf("without archives: %v", err)
	}
}

// TestRecipesParse reads each recipe by a parser of its language, some of which have to be
// installed.
func TestRecipesParse(t *testing.T) {
	folder, texts := filled(t, "1.4.0")
	var scoop struct {
		Version, Homepage, License, Bin string
		Architecture                    map[string]struct{ URL, Hash, ExtractDir string }
	}
	if err := json.Unmarshal([]byte(texts["scoop/flowdedup.json"]), &scoop); err != nil || scoop.Version != "1.4.0" || scoop.Bin != "flowdedup.exe" || len(scoop.Architecture["64bit"].Hash) != 64 {
		t.Errorf("scoop: %v, %+v", err, scoop)
	}
	for kind, wanted := range map[string][]string{
		"version": {"DefaultLocale"}, "installer": {"Installers", "InstallerType", "NestedInstallerFiles"},
		"defaultLocale": {"PackageLocale", "Publisher", "PackageName", "License", "ShortDescription"},
	} {
		name := map[string]string{"version": "", "installer": ".installer", "defaultLocale": ".locale.en-US"}[kind]
		var manifest map[string]any
		if err := yaml.Unmarshal([]byte(texts["winget/flowdedup.flowdedup"+name+".yaml"]), &manifest); err != nil {
			t.Errorf("winget %s: %v", kind, err)
		}
		for _, key := range append(wanted, "PackageIdentifier", "PackageVersion", "ManifestVersion") {
			if manifest[key] == nil {
				t.Errorf("winget %s: no %s", kind, key)
			}
		}
		if manifest["ManifestType"] != kind || manifest["PackageVersion"] != "1.4.0" {
			t.Errorf("winget %s: %v", kind, manifest)
		}
	}
	for name, parser := range map[string][]string{
		"homebrew/flowdedup.rb": {"ruby", "-c"}, "nix/flake.nix": {"nix-instantiate", "--parse"}, "aur/PKGBUILD": {"bash", "-n"},
	} {
		t.Run(parser[0], func(t *testing.T) {
			if _, err := exec.LookPath(parser[0]); err != nil {
				t.Skip("needs " + parser[0])
			}
			command(t, parser[0], append(parser[1:], filepath.Join(folder, name))...)
		})
	}
}

// TestPKGBUILD runs the recipe for Arch Linux on a made-up archive, and compares what it says
// with .SRCINFO.
func TestPKGBUILD(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("needs bash")
	}
	folder, texts := filled(t, "0.0.0~20261122.0123456789ab")
	work := t.TempDir()
	for _, name := range []string{
		"flowdedup", "THIRD-PARTY-LICENSES", "man/flowdedup-live.1.gz", "man/flowdedup-live.7.gz", "completion/bash", "completion/zsh", "completion/fish", "systemd/flowdedup@.service",
	} {
		if err := write(filepath.Join(work, "flowdedup_1_linux_amd64", name), []byte(name)); err != nil {
			t.Fatal(err)
		}
	}
	script := `set -eu; . "$0"; cd "$1"; pkgdir=$1/pkg; (package); echo "$pkgname $pkgver ${sha256sums_x86_64[0]} ${source_aarch64[0]}"`
	words := strings.Fields(command(t, "bash", "-c", script, filepath.Join(folder, "aur/PKGBUILD"), work))
	if len(words) != 4 || words[1] != "0.0.0_20261122.0123456789ab" {
		t.Fatal(words)
	}
	for _, line := range []string{"pkgname = " + words[0], "pkgver = " + words[1], "sha256sums_x86_64 = " + words[2], "source_aarch64 = " + words[3]} {
		if !strings.Contains(texts["aur/.SRCINFO"], line+"\n") {
			t.Errorf(".SRCINFO has no %q", line)
		}
	}
	for _, name := range []string{
		"bin/flowdedup", "share/man/man1/flowdedup-live.1.gz", "share/man/man7/flowdedup-live.7.gz", "lib/systemd/system/flowdedup@.service", "share/licenses/flowdedup-bin/THIRD-PARTY-LICENSES",
	} {
		if _, err := os.Stat(filepath.Join(work, "pkg/usr", name)); err != nil {
			t.Error(err)
		}
	}
}
