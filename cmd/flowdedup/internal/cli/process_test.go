// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/dedup"
)

// asLimited runs main with the limits that a test asks for, where the system has any.
var asLimited func(main func() int) int

func TestMain(m *testing.M) { clitest.Main(m, asLimited) }

// longCapture returns a capture with several sections, larger than the buffers of
// outputs.
func longCapture(t *testing.T) []byte {
	t.Helper()
	one := clitest.ReadFile(t, clitest.Bundled("router-plain.pcapng"))
	return bytes.Repeat(one, 2<<20/len(one))
}

// TestSignals interrupts a run that waits for a silent pipe. It must end, keep what it
// had, and return the right exit code.
func TestSignals(t *testing.T) {
	capture := longCapture(t)
	for _, s := range []struct {
		signal syscall.Signal
		code   int
	}{{syscall.SIGINT, 130}, {syscall.SIGTERM, 143}} {
		t.Run(s.signal.String(), func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out.pcapng")
			cmd := clitest.Program(t, "dedup", "-", "-w", out, "--json", "--window", "n:1")
			stdin, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if _, err := stdin.Write(capture); err != nil {
				t.Fatal(err)
			}
			waitForTemporary(t, filepath.Dir(out))
			if err := cmd.Process.Signal(s.signal); err != nil {
				t.Fatal(err)
			}
			if code := clitest.ExitCode(t, cmd.Wait()); code != s.code {
				t.Errorf("exit code %d, want %d: %s", code, s.code, &stderr)
			}
			var r dedup.Summary
			if err := json.Unmarshal(stdout.Bytes(), &r); err != nil {
				t.Fatalf("no summary: %v in %q", err, &stdout)
			}
			again := clitest.RunDedup(t, cli.ExitDone, "--window", "n:1", out)
			if again.PacketsIn != r.PacketsOut {
				t.Errorf("%d packets in the output, summary says %d", again.PacketsIn, r.PacketsOut)
			}
		})
	}
}

// waitForTemporary waits until the temporary file has content, that is until packets have
// gone through.
func waitForTemporary(t *testing.T, dir string) {
	t.Helper()
	wait.Until(t, "packets in "+dir, func() bool {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
			info, err := e.Info()
			return err == nil && info.Size() > 0
		})
	})
}

// TestKilled checks that a killed run leaves nothing under the final name.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out.pcapng")
	cmd := clitest.Program(t, "dedup", "-", "-w", out, "--window", "n:1")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := stdin.Write(longCapture(t)); err != nil {
		t.Fatal(err)
	}
	waitForTemporary(t, dir)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("a killed process ended well")
	}
	if _, err := os.Stat(out); !os.IsNotExist(err) {
		t.Errorf("half a file was left under the final name: %v", err)
	}
}

// TestPipes reads from and writes to pipes. A reader that leaves early ends the run
// without a message.
func TestPipes(t *testing.T) {
	in := clitest.ReadFile(t, clitest.Bundled("router-plain.pcapng"))
	cmd := clitest.Program(t, "dedup", "-", "-w", "-", "--json")
	cmd.Stdin = bytes.NewReader(in)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, &stderr)
	}
	var r dedup.Summary
	if err := json.Unmarshal(stderr.Bytes(), &r); err != nil {
		t.Fatalf("no summary on stderr: %v in %q", err, &stderr)
	}
	file := filepath.Join(t.TempDir(), "out.pcapng")
	direct := clitest.RunDedup(t, cli.ExitDone, clitest.Bundled("router-plain.pcapng"), "-w", file)
	want := clitest.ReadFile(t, file)
	if !bytes.Equal(stdout.Bytes(), want) || direct.PacketsOut != r.PacketsOut {
		t.Errorf("the pipe got %d bytes, the file %d", stdout.Len(), len(want))
	}
}

func TestClosedPipe(t *testing.T) {
	cmd := clitest.Program(t, "dedup", clitest.Bundled("router-plain.pcapng"), "-w", "-")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(stdout, make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	stdout.Close()
	if code := clitest.ExitCode(t, cmd.Wait()); code != 0 {
		t.Errorf("exit code %d: %s", code, &stderr)
	}
	if strings.Contains(stderr.String(), "flowdedup:") {
		t.Errorf("complaint: %s", &stderr)
	}
}

// TestStdoutByPath checks that the summary does not mix with packets if standard output
// is named by its path.
func TestStdoutByPath(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no /dev/stdout")
	}
	want, err := clitest.Program(t, "dedup", clitest.Bundled("router-plain.pcapng"), "-w", "-").Output()
	if err != nil {
		t.Fatal(err)
	}
	cmd := clitest.Program(t, "dedup", "--json", clitest.Bundled("router-plain.pcapng"), "-w", "/dev/stdout")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	got, err := cmd.Output()
	if err != nil || !bytes.Equal(got, want) || !strings.HasPrefix(stderr.String(), `{"command":"dedup",`) {
		t.Errorf("%v: %d bytes, want %d; stderr %q", err, len(got), len(want), &stderr)
	}
}

// intoClosedPipe runs a command whose standard output is a closed pipe.
func intoClosedPipe(t *testing.T, cmd *exec.Cmd) (stderr string, code int) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	defer w.Close()
	var errs strings.Builder
	cmd.Stdout, cmd.Stderr = w, &errs
	code = clitest.ExitCode(t, cmd.Run())
	return errs.String(), code
}

// TestClosedPipeCutsOthers checks for a failure if a reader that leaves early cuts off
// the second output, which keeps what was processed so far.
func TestClosedPipeCutsOthers(t *testing.T) {
	other := filepath.Join(t.TempDir(), "other")
	for _, c := range []struct {
		args []string
		kept string // packets in part have a name that says so
		says int    // lines
	}{
		{[]string{"dedup", "-w", "-", "--duplicates", other}, other + ".partial", 2},
		{[]string{"distinct", "--json", "--list", "--every", "1s", "--csv", other}, other, 1},
	} {
		stderr, code := intoClosedPipe(t, clitest.Program(t, append(c.args, clitest.Bundled("router-plain.pcapng"))...))
		if code != cli.ExitFailed || !strings.Contains(stderr, c.kept) || strings.Count(stderr, "\n") != c.says {
			t.Errorf("%s: exit code %d, stderr %q", c.args, code, stderr)
		}
		if err := os.Remove(c.kept); err != nil {
			t.Errorf("%s: nothing was kept: %v", c.args, err)
		}
	}
}

// TestFullStdout checks for one message about a full standard output, also where it is to get
// help.
func TestFullStdout(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full")
	}
	defer full.Close()
	for _, args := range [][]string{
		{"distinct", "--quiet", "--list", "--every", "1s", clitest.Bundled("router-plain.pcapng")}, {"--help"}, {"dedup", "-h"}, {"help", "dedup"}, {"--version"}, {"completion", "bash"},
	} {
		cmd := clitest.Program(t, args...)
		var stderr strings.Builder
		cmd.Stdout, cmd.Stderr = full, &stderr
		if code := clitest.ExitCode(t, cmd.Run()); code != cli.ExitFailed || strings.Count(stderr.String(), "\n") != 1 {
			t.Errorf("%q: exit code %d, stderr %q", args, code, &stderr)
		}
	}
}

func TestScripts(t *testing.T) { clitest.Scripts(t) }
