// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// TestWithLine writes the line into files of each kind, once.
func TestWithLine(t *testing.T) {
	const line = "SPDX-License-Identifier: Apache-2.0\n"
	for _, c := range []struct{ name, text, want string }{
		{"a.go", "// Package a is a.\npackage a\n", "// " + line + "\n// Package a is a.\npackage a\n"},
		{"a.go", "//go:build linux\n\npackage a\n", "// " + line + "\n//go:build linux\n\npackage a\n"},
		{"a_amd64.s", "#include \"textflag.h\"\n", "// " + line + "\n#include \"textflag.h\"\n"},
		{"a.h", "#define A\n", "// " + line + "\n#define A\n"},
		{"a.c", "", "// " + line + "\n"},
		{"a.sh", "#!/bin/sh\nset -e\n", "#!/bin/sh\n# " + line + "set -e\n"},
		{"scripts/postinst", "#!/bin/sh\n", "#!/bin/sh\n# " + line},
		{"a.py", "import os\n", "# " + line + "import os\n"},
		{"x/Makefile", "all:\n", "# " + line + "all:\n"},
		{"a.service", "[Unit]\n", "# " + line + "[Unit]\n"},
		{"a.md", "# Title\n", "# Title\n"},
		{"a.css", "body {}\n", "body {}\n"},
		{"capture/xdp/instructions_linux.go", "package xdp\n", "// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only\n\npackage xdp\n"},
	} {
		got, err := withLine(c.name, []byte(c.text))
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %v, %q, want %q", c.name, err, got, c.want)
		}
		again, err := withLine(c.name, got)
		if err != nil || string(again) != c.want {
			t.Errorf("%s again: %v, %q", c.name, err, again)
		}
	}
	for name, text := range map[string]string{
		"a.go":                              "// SPDX-License-Identifier: MIT\n",
		"capture/xdp/instructions_linux.go": "// " + line,
		"a.sh":                              "#!/bin/sh\n// " + line,
	} {
		if got, err := withLine(name, []byte(text)); err == nil {
			t.Errorf("%s: %q is taken: %q", name, text, got)
		}
	}
}

// TestRun checks a small clone, writes the lines, and checks it again.
func TestRun(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
	dir := t.TempDir()
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name, text := range map[string]string{
		"a.go": "package a\n", "b/run": "#!/bin/sh\ntrue\n", "README.md": "# A\n", ".gitignore": "made.go\n", "made.go": "package a\n",
		"b/testdata/fuzz/FuzzA/x.go": "go test fuzz v1\n", "cmd/flowdedup/contrib/recipes/aur/x.sh": "true\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		// Chmod, as the user's umask may take modes away.
		if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chmod(path, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"a.go", "b/run"}
	for _, write := range []bool{false, true} {
		changed, err := run(dir, write)
		slices.Sort(changed)
		if err != nil || !slices.Equal(changed, want) {
			t.Errorf("write %v: %q, %v, want %q", write, changed, err, want)
		}
	}
	if changed, err := run(dir, false); err != nil || len(changed) > 0 {
		t.Errorf("afterwards %q lack the line, %v", changed, err)
	}
	if info, err := os.Stat(filepath.Join(dir, "b/run")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the mode of a script changed: %v, %v", info, err)
	}
}

// TestHere wants the line in every source of this clone.
func TestHere(t *testing.T) {
	const top = "../.."
	if _, err := os.Stat(filepath.Join(top, ".git")); err != nil {
		t.Skip("no clone")
	}
	changed, err := run(top, false)
	if err != nil {
		t.Fatal(err)
	}
	if len(changed) > 0 {
		t.Errorf("%d files lack the line of the licence (go run ./bench/spdx writes it): %q ...", len(changed), changed[0])
	}
}
