// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// TestIgnoredSignals starts a run as a shell without job control starts commands in the
// background: with SIGINT and SIGQUIT ignored. These end it nevertheless. A SIGHUP that is
// ignored, as by nohup, does not.
func TestIgnoredSignals(t *testing.T) {
	content := longCapture(t)
	for _, s := range []struct {
		signal syscall.Signal
		code   int
	}{{syscall.SIGINT, 130}, {syscall.SIGQUIT, 131}, {syscall.SIGTERM, 143}, {syscall.SIGHUP, cli.ExitDone}} {
		t.Run(s.signal.String(), func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out.pcapng")
			cmd := clitest.Program(t, "dedup", "-", "-w", out, "--quiet", "--window", "n:1")
			shell := exec.Command("sh", append([]string{"-c", `trap "" INT QUIT TERM HUP; exec "$0" "$@"`, cmd.Path}, cmd.Args[1:]...)...)
			shell.Env = cmd.Env
			stdin, err := shell.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			var stderr bytes.Buffer
			shell.Stderr = &stderr
			if err := shell.Start(); err != nil {
				t.Skip(err)
			}
			t.Cleanup(func() { _ = shell.Process.Kill() }) // it has ended, if nothing failed
			if _, err := stdin.Write(content); err != nil {
				t.Fatal(err)
			}
			waitForTemporary(t, filepath.Dir(out))
			if err := shell.Process.Signal(s.signal); err != nil {
				t.Fatal(err)
			}
			if s.code == cli.ExitDone {
				if err := stdin.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if code := clitest.ExitCode(t, shell.Wait()); code != s.code {
				t.Errorf("exit code %d, want %d: %s", code, s.code, &stderr)
			}
		})
	}
}
