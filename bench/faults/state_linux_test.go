package faults

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// liveRun runs live capture on the loopback interface of a network namespace of its own,
// from a state and to one, under strace.
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
	var told strings.Builder
	cmd.Stderr = &told
	_ = cmd.Run() // the exit code says how it ended
	return cmd.ProcessState.ExitCode(), told.String()
}

// TestFaultsOfState fails calls of a run that goes on from a state: the next run goes on
// from it, or from the one before. It takes minutes, so it is tried with all faults only.
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
