// SPDX-License-Identifier: Apache-2.0

package main

import (
	"debug/buildinfo"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
)

// TestStamped rejects programs that do not say which commit they were built from.
func TestStamped(t *testing.T) {
	const commit = "0123456789abcdef0123456789abcdef01234567"
	for name, c := range map[string]struct {
		version, revision, modified string
		fails                       bool
	}{
		"a release":               {"v0.1.0", commit, "false", false},
		"a commit":                {"v0.0.0-20261122230000-0123456789ab", commit, "false", false},
		"without the commit":      {"(devel)", "", "", true},
		"of another commit":       {"v0.1.0", strings.Repeat("0", 40), "false", true},
		"of a changed clone":      {"v0.1.0+dirty", commit, "true", true},
		"without a version of it": {"(devel)", commit, "false", true},
	} {
		built := &buildinfo.BuildInfo{Main: debug.Module{Version: c.version}}
		if c.revision != "" {
			built.Settings = []debug.BuildSetting{{Key: "vcs.revision", Value: c.revision}, {Key: "vcs.modified", Value: c.modified}}
		}
		if err := stamped(built, commit); errors.Is(err, errStamp) != c.fails {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestScripts runs the packages' scripts as dpkg and rpm do, in a root where systemd seems to
// run, and compares what they ask of it.
func TestScripts(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	const (
		instances = "flowdedup@*.service flowdedup-flows@*.service"
		hub       = "flowdedup-hub.service"
	)
	for _, c := range []struct{ script, args, want string }{
		{"flowdedup.postinst", "configure", "daemon-reload"},
		{"flowdedup.postinst", "configure 0.1.0-1", "daemon-reload, try-restart " + instances},
		{"flowdedup.postinst", "abort-upgrade 0.1.0-1", "daemon-reload"},
		{"flowdedup.postinst", "1", "daemon-reload"},
		{"flowdedup.postinst", "2", "daemon-reload, try-restart " + instances},
		{"flowdedup.prerm", "upgrade 0.2.0-1", ""},
		{"flowdedup.prerm", "1", ""},
		{"flowdedup.prerm", "remove", "stop " + instances},
		{"flowdedup.prerm", "0", "stop " + instances},
		{"flowdedup.postrm", "remove", "daemon-reload"},
		{"flowdedup-hub.postinst", "configure", "daemon-reload"},
		{"flowdedup-hub.postinst", "configure 0.1.0-1", "daemon-reload, try-restart " + hub},
		{"flowdedup-hub.postinst", "2", "daemon-reload, try-restart " + hub},
		{"flowdedup-hub.prerm", "upgrade 0.2.0-1", ""},
		{"flowdedup-hub.prerm", "0", "stop " + hub},
		{"flowdedup-hub.postrm", "remove", "daemon-reload"},
	} {
		if got := asked(t, c.script, strings.Fields(c.args)); got != c.want {
			t.Errorf("%s %s asks for %q, want %q", c.script, c.args, got, c.want)
		}
	}
}

// asked runs a script, and returns how it has called systemctl.
func asked(t *testing.T, script string, args []string) string {
	t.Helper()
	bin := t.TempDir()
	called := filepath.Join(bin, "called")
	if err := os.WriteFile(filepath.Join(bin, "systemctl"), []byte("#!/bin/sh\necho \"$@\" >>"+called+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	path, err := filepath.Abs(filepath.Join("scripts", script))
	if err != nil {
		t.Fatal(err)
	}
	// A file system of its own for /run, where the folder says that systemd runs.
	const enter = `mount -t tmpfs none /run && mkdir -p /run/systemd/system && exec sh "$@"`
	cmd := exec.Command("unshare", append([]string{"--mount", "sh", "-c", enter, "sh", path}, args...)...)
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "FLOWDEDUP_SETCAP=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v: %s", script, args, err, out)
	}
	calls, err := os.ReadFile(called)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.ReplaceAll(strings.TrimSpace(string(calls)), "\n", ", ")
}

// TestLintian has Debian's checker read the packages: all findings are overridden with
// reasons.
func TestLintian(t *testing.T) {
	dir := made(t)
	if _, err := exec.LookPath("lintian"); err != nil {
		t.Skip("needs lintian")
	}
	for _, p := range products {
		command(t, "lintian", "--fail-on=error,warning", one(t, dir, p.name+"_*_amd64.deb"))
	}
}
