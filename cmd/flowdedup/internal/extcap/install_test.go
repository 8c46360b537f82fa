// SPDX-License-Identifier: Apache-2.0

package extcap_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

func TestMain(m *testing.M) { clitest.Main(m, nil) }

// TestExtcapInstall links the program into folders that tshark names as its versions do.
func TestExtcapInstall(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a right of their own")
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, folders := range map[string]string{
		"4.4": "Temp:\t\t\t/tmp\nPersonal configuration:\t/x\nPersonal Extcap path:\tDIR/extcap\nGlobal Extcap path:\t/usr/lib/wireshark/extcap\n",
		"4.0": "Personal configuration:\tDIR\nExtcap path:\t\t/usr/lib/wireshark/extcap\n",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			want := filepath.Join(dir, "extcap")
			script := "#!/bin/sh\ncat <<'E'\n" + strings.ReplaceAll(folders, "DIR", dir) + "E\n"
			if err := os.WriteFile(filepath.Join(dir, "tshark"), []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
			t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
			for range 2 { // the second time replaces the link
				out, errs, code := clitest.Run("extcap", "install")
				if code != cli.ExitDone || errs != "" || !strings.Contains(out, want) {
					t.Errorf("exit code %d, %q: %s", code, errs, out)
				}
				if to, err := os.Readlink(filepath.Join(want, "flowdedup-extcap")); err != nil || to != program {
					t.Errorf("%v: the link leads to %s, want %s", err, to, program)
				}
			}
		})
	}
	empty := t.TempDir()
	t.Setenv("PATH", empty)
	if _, errs, code := clitest.Run("extcap", "install"); code != cli.ExitFailed || !strings.Contains(errs, "--folder") || strings.Count(errs, "\n") != 1 {
		t.Errorf("without tshark: exit code %d, %q", code, errs)
	}
	file := filepath.Join(empty, "flowdedup-extcap")
	if err := os.WriteFile(file, []byte("of somebody else"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, errs, code := clitest.Run("extcap", "install", "--folder", empty); code != cli.ExitFailed || !strings.Contains(errs, "is a file") {
		t.Errorf("over a file: exit code %d, %q", code, errs)
	}
}

// TestExtcapFound links the program where the installed tshark says, which finds it there.
func TestExtcapFound(t *testing.T) {
	if _, err := exec.LookPath("tshark"); err != nil {
		t.Skip(err)
	}
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", "")
	said, errs, code := clitest.Run("extcap", "install")
	program, _, _ := strings.Cut(said, ": ")
	if code != cli.ExitDone || !strings.HasPrefix(program, os.Getenv("HOME")) {
		t.Fatalf("exit code %d, %q: %s", code, said, errs)
	}
	if err := os.Remove(program); err != nil { // a script stands for the link to this test
		t.Fatal(err)
	}
	script := "#!/bin/sh\ncase \"$*\" in *--extcap-interfaces*) echo 'interface {value=flowdedup-x}{display=x without duplicates}' ;; esac\n"
	if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("tshark", "-D").Output()
	if err != nil || !strings.Contains(string(out), "x without duplicates") {
		t.Errorf("%v: tshark does not find %s: %s", err, program, out)
	}
}
