package cli

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestLiveHangup has SIGHUP open the file of counts again, where one is written and there
// is no terminal; SIGTERM still ends the run.
func TestLiveHangup(t *testing.T) {
	lab(t)
	pair(t, "left", "right")
	dir := t.TempDir()
	name := filepath.Join(dir, "counts.jsonl")
	r := startLive(t, "-i", "left", "--of", "src", "--every", "1s", "--slide", "0", "--reports", name)
	sendTo(t, "right", burst(10, func(*liveFrame) {})...)
	waitFor(t, "counts", func() bool { return size(name) > 0 })
	if err := os.Rename(name, name+".1"); err != nil {
		t.Fatal(err)
	}
	if err := r.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	sendTo(t, "right", burst(10, func(*liveFrame) {})...)
	waitFor(t, "counts in a new file", func() bool { return size(name) > 0 })
	before := size(name + ".1")
	r.terminate()
	if code := r.wait(); code != 143 || size(name+".1") != before {
		t.Errorf("exit code %d: %s", code, r.stderr.String())
	}
}

// size returns the bytes of a file, 0 if there is none.
func size(name string) int64 {
	info, err := os.Stat(name)
	if err != nil {
		return 0
	}
	return info.Size()
}
