//go:build linux

package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestMeasure counts what programs started by programs take, and gives each line
// its input and an empty folder.
func TestMeasure(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "in"), []byte("text"), 0o666); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		took, err := measure(t.Context(), dir, `test -z "$(ls out)" && cp $IN out/copy && head -c 30000000 /dev/zero | bash -c 'x=$(tr "\0" x); true'`, "in")
		if err != nil {
			t.Fatal(err)
		}
		if took.cpu <= 0 || took.wall <= 0 || took.peak < 30_000_000 {
			t.Errorf("took %+v, want some time and 30 MB", took)
		}
	}
}

func TestMeasureFailure(t *testing.T) {
	for _, line := range []string{"echo reason >&2; false", "{ echo reason >&2; false; } | cat"} {
		if _, err := measure(t.Context(), t.TempDir(), line, ""); err == nil || !strings.HasSuffix(err.Error(), "reason") {
			t.Errorf("%s: error %v, want the reason", line, err)
		}
	}
}

// TestMeasureInterrupted ends what hangs, pipes included.
func TestMeasureInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	dir := t.TempDir()
	failed := make(chan error)
	go func() {
		_, err := measure(ctx, dir, "echo > $IN; sleep 1000 | cat", filepath.Join(dir, "started"))
		failed <- err
	}()
	for started := false; !started; time.Sleep(time.Millisecond) {
		_, err := os.Stat(filepath.Join(dir, "started"))
		started = err == nil
	}
	cancel()
	if err := <-failed; err == nil {
		t.Error("no error")
	}
}
