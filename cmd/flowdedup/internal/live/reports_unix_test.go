// SPDX-License-Identifier: Apache-2.0

//go:build unix

package live

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/sink"
)

// limitedProcess says in the environment that this process may limit its files.
const limitedProcess = "FLOWDEDUP_TEST_LIMITED"

// inLimitedProcess runs the test in a process of its own, and reports whether this is that
// process. The limit holds for all files of a process: those of go test, too.
func inLimitedProcess(t *testing.T) bool {
	t.Helper()
	if os.Getenv(limitedProcess) != "" {
		return true
	}
	c := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	c.Env = append(os.Environ(), limitedProcess+"=1")
	out, err := c.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) && !strings.Contains(string(out), "--- SKIP: "+t.Name()) {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// limitFiles limits the size of this process's files until the returned function is called.
func limitFiles(t *testing.T, size uint64) (end func()) {
	t.Helper()
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		t.Skip("no limits: ", err)
	}
	set := func(l syscall.Rlimit) {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &l); err != nil {
			t.Error(err)
		}
	}
	set(syscall.Rlimit{Cur: size, Max: was.Max})
	return func() { set(was) }
}

// TestReportsFull fills the disk within a line. The partial line is removed, and later
// lines are complete.
func TestReportsFull(t *testing.T) {
	if !inLimitedProcess(t) {
		return
	}
	for _, room := range []int{0, 1, len(wantRows) / 2, len(wantRows) - 1} {
		name := filepath.Join(t.TempDir(), "counts.jsonl")
		r, logged, stops := testReports(t, name)
		if err := r.rows(testRows(0)); err != nil {
			t.Fatal(err)
		}
		end := limitFiles(t, uint64(len(wantRows)+room))
		for i := range 2 {
			if err := r.rows(testRows(i + 1)); err != nil {
				t.Error(err)
			}
		}
		end()
		if err := r.rows(testRows(0)); err != nil {
			t.Error(err)
		}
		if err := r.close(); !errors.Is(err, sink.ErrOutput) || !errors.Is(err, syscall.EFBIG) || *stops != 0 {
			t.Errorf("%v, %d stops", err, *stops)
		}
		if text, err := os.ReadFile(name); err != nil || string(text) != wantRows+wantRows {
			t.Errorf("room for %d bytes: %v, %s", room, err, text)
		}
		if got := logged.String(); strings.Count(got, "report failed") != 1 || strings.Count(got, "window closed") != 2 {
			t.Errorf("logged %s", got)
		}
	}
}
