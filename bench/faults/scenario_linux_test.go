// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// scenario is a command line with the files around it.
type scenario struct {
	name string
	args []string
	// outputs are the files that a clean run writes, in the folder of the run.
	outputs []string
	// older are those outputs that exist before, with this content; "in" stands for the
	// input's.
	older map[string]string
	stdin bool // the input is standard input
}

var scenarios = []scenario{
	{name: "new", args: []string{"dedup", "in.pcapng", "-w", "out.pcapng"}, outputs: []string{"out.pcapng"}},
	{name: "older", args: []string{"dedup", "in.pcapng", "-w", "out.pcapng"}, outputs: []string{"out.pcapng"}, older: map[string]string{"out.pcapng": "older"}},
	{name: "in place", args: []string{"dedup", "in.pcapng", "-w", "in.pcapng", "--in-place"}, outputs: []string{"in.pcapng"}, older: map[string]string{"in.pcapng": "in"}},
	{name: "two outputs", args: []string{"dedup", "in.pcapng", "-w", "out.pcapng", "--duplicates", "copies.pcapng"}, outputs: []string{"out.pcapng", "copies.pcapng"}},
	{name: "gzip", args: []string{"dedup", "in.pcapng", "-w", "out.pcapng.gz"}, outputs: []string{"out.pcapng.gz"}},
	{name: "zstd", args: []string{"dedup", "in.pcapng", "-w", "out.pcapng.zst"}, outputs: []string{"out.pcapng.zst"}, older: map[string]string{"out.pcapng.zst": "older"}},
	{name: "merged", args: []string{"dedup", "in.pcapng", "second.pcap", "-w", "out.pcapng"}, outputs: []string{"out.pcapng"}},
	{name: "standard input", args: []string{"dedup", "-", "-w", "out.pcapng"}, outputs: []string{"out.pcapng"}, stdin: true},
	{name: "exact, one worker", args: []string{"dedup", "--method", "exact", "--workers", "1", "in.pcapng", "-w", "out.pcapng"}, outputs: []string{"out.pcapng"}},
	{name: "rotated", args: []string{"dedup", "in.pcapng", "-w", "out.pcapng", "--rotate-every", "1s"}, outputs: nil},
	{name: "csv", args: []string{"distinct", "in.pcapng", "--every", "1s", "--csv", "out.csv"}, outputs: []string{"out.csv"}},
	{name: "older csv", args: []string{"distinct", "in.pcapng", "--every", "1s", "--csv", "out.csv"}, outputs: []string{"out.csv"}, older: map[string]string{"out.csv": "older"}},
	{name: "html", args: []string{"plan", "--from", "in.pcapng", "--html", "out.html"}, outputs: []string{"out.html"}},
}

// merged reports whether there are several inputs.
func (s *scenario) merged() bool { return slices.Contains(s.args, "second.pcap") }

// input is a capture of this project.
func input(t *testing.T, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "testdata", "pcaps", name))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// stage makes the folder of a run.
func (s *scenario) stage(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	in := input(t, "router-vlan.pcapng")
	files := map[string][]byte{"in.pcapng": in, "second.pcap": input(t, "router-in.pcap")}
	for name, content := range s.older {
		if content == "in" {
			files[name] = in
		} else {
			files[name] = []byte(content)
		}
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// outcome holds the files of a folder after a run, hidden ones separately, without the record of
// rotated files.
type outcome struct {
	visible map[string][]byte
	hidden  []string
}

func outcomeOf(t *testing.T, dir string) outcome {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	o := outcome{visible: map[string][]byte{}}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".flowdedup-files") {
			continue // a later run reads which files this one made
		}
		if e.Name()[0] == '.' {
			o.hidden = append(o.hidden, e.Name())
			continue
		}
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		o.visible[e.Name()] = content
	}
	return o
}

// same reports whether a file equals a clean run's. It ignores the duration that pages
// show.
func same(name string, got, want []byte) bool {
	if filepath.Ext(name) == ".html" {
		return len(got) > len(want)/2 && bytes.Contains(got, []byte("</html>"))
	}
	return bytes.Equal(got, want)
}

// liveRun runs live capture on the loopback interface of a new network namespace, from a
// state and to one, under strace.
func liveRun(t *testing.T, exe, dir string, strace ...string) (code int, stderr string) {
	t.Helper()
	args := append([]string{"--net", "sh", "-c", `ip link set lo up && exec "$@"`, "sh", "strace", "-f", "-qq",
		"-o", filepath.Join(t.TempDir(), "trace")}, strace...)
	args = append(args, exe, "live", "-i", "lo", "--quiet", "--duration", "150ms", "--memory", "64KiB", "--state", "state",
		"-w", "out.pcapng", "--of", "src", "--every", "8760h", "--reports", "counts.jsonl")
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "unshare", args...)
	cmd.Dir = dir
	// A run that hangs is killed with all its children, and its goroutines are in the
	// message.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGABRT) }
	cmd.WaitDelay = 10 * time.Second
	var printed strings.Builder
	cmd.Stderr = &printed
	_ = cmd.Run() // the exit code says how it ended
	if ctx.Err() != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // its remaining processes
		t.Errorf("%q never ended: %s", strace, &printed)
	}
	return cmd.ProcessState.ExitCode(), printed.String()
}

// TestFaultsOfState makes calls fail in a run that continues from a state. The next run
// must continue from the new state or from the one before. It takes minutes, so it runs
// with all faults only.
func TestFaultsOfState(t *testing.T) {
	if os.Getenv("FLOWDEDUP_FAULTS") != "all" {
		t.Skip("with all faults only")
	}
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("no strace")
	}
	exe, clean := program(t), t.TempDir()
	if code, stderr := liveRun(t, exe, clean); code != 0 {
		t.Skipf("no live capture here: exit code %d: %s", code, stderr)
	}
	trace := filepath.Join(t.TempDir(), "clean")
	if code, stderr := liveRun(t, exe, clean, "-o", trace); code != 0 {
		t.Fatalf("a run from a state: exit code %d: %s", code, stderr)
	}
	state, err := os.ReadFile(filepath.Join(clean, "state"))
	if err != nil {
		t.Fatal(err)
	}
	all := faultsOf(calls(t, trace))
	for _, f := range all {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "state"), state, 0o600); err != nil {
			t.Fatal(err)
		}
		code, stderr := liveRun(t, exe, dir, "-e", "trace="+f.call, "-e", fmt.Sprintf("inject=%s:error=%s:when=%d", f.call, f.errno, f.when))
		fatal := strings.Contains(stderr, "fatal error: ") || strings.Contains(stderr, "runtime")
		if code != 0 && code != 1 && !fatal || strings.Contains(stderr, "panic: ") && !fatal {
			t.Errorf("%+v: exit code %d: %s", f, code, stderr)
		}
		if again, stderr := liveRun(t, exe, dir); again != 0 {
			t.Errorf("%+v, exit code %d: the next run: exit code %d: %s", f, code, again, stderr)
		}
		if left := outcomeOf(t, dir).hidden; len(left) > 0 {
			t.Errorf("%+v: hidden after the next run: %q", f, left)
		}
	}
	t.Logf("%d runs with a fault", len(all))
}
