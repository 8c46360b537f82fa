package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// asProgram tells the test binary to be flowdedup, so that signals, pipes and
// exit codes are tested on a real process.
const asProgram = "FLOWDEDUP_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(asLimited(func() int { return Main(os.Args[1:], os.Stdout, os.Stderr) }))
	}
	os.Exit(m.Run())
}

func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	return cmd
}

func exitCodeOf(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	t.Fatal(err)
	return -1
}

func bundled(name string) string {
	return filepath.Join("..", "..", "..", "..", "testdata", "pcaps", name)
}

// longCapture has several sections, and more bytes than outputs buffer.
func longCapture(t *testing.T) []byte {
	t.Helper()
	one, err := os.ReadFile(bundled("router-plain.pcapng"))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Repeat(one, 2<<20/len(one))
}

// TestSignals interrupts a run that waits for a silent pipe: it must end, keep
// what it had, and say so in its exit code.
func TestSignals(t *testing.T) {
	capture := longCapture(t)
	for _, s := range []struct {
		signal syscall.Signal
		code   int
	}{{syscall.SIGINT, 130}, {syscall.SIGTERM, 143}} {
		t.Run(s.signal.String(), func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out.pcapng")
			cmd := program(t, "dedup", "-", "-w", out, "--json", "--window", "n:1")
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
			if code := exitCodeOf(t, cmd.Wait()); code != s.code {
				t.Errorf("exit code %d, want %d: %s", code, s.code, &stderr)
			}
			var r dedupResult
			if err := json.Unmarshal(stdout.Bytes(), &r); err != nil {
				t.Fatalf("no summary: %v in %q", err, &stdout)
			}
			again := runDedup(t, exitDone, "--window", "n:1", out)
			if again.PacketsIn != r.PacketsOut {
				t.Errorf("%d packets in the output, summary says %d", again.PacketsIn, r.PacketsOut)
			}
		})
	}
}

// waitForTemporary waits until the output has content under its temporary
// name, that is until packets have gone through.
func waitForTemporary(t *testing.T, dir string) {
	t.Helper()
	for range 500 {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if info, err := e.Info(); err == nil && info.Size() > 0 {
				return
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("nothing was written")
}

// TestKilled leaves nothing under the final name.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out.pcapng")
	cmd := program(t, "dedup", "-", "-w", out, "--window", "n:1")
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

// TestPipes reads from and writes to pipes; a reader that leaves early ends
// the run without a complaint.
func TestPipes(t *testing.T) {
	in, err := os.ReadFile(bundled("router-plain.pcapng"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := program(t, "dedup", "-", "-w", "-", "--json")
	cmd.Stdin = bytes.NewReader(in)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, &stderr)
	}
	var r dedupResult
	if err := json.Unmarshal(stderr.Bytes(), &r); err != nil {
		t.Fatalf("no summary on stderr: %v in %q", err, &stderr)
	}
	file := filepath.Join(t.TempDir(), "out.pcapng")
	direct := runDedup(t, exitDone, bundled("router-plain.pcapng"), "-w", file)
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(stdout.Bytes(), want) || direct.PacketsOut != r.PacketsOut {
		t.Errorf("the pipe got %d bytes, the file %d", stdout.Len(), len(want))
	}
}

func TestClosedPipe(t *testing.T) {
	cmd := program(t, "dedup", bundled("router-plain.pcapng"), "-w", "-")
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
	if code := exitCodeOf(t, cmd.Wait()); code != 0 {
		t.Errorf("exit code %d: %s", code, &stderr)
	}
	if strings.Contains(stderr.String(), "flowdedup:") {
		t.Errorf("complaint: %s", &stderr)
	}
}
