// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/flowdedup/flowdedup/engine/cluster/hub"
)

// ending is standard error of a run that a signal ends once it has said something.
type ending struct {
	bytes.Buffer
	signals chan os.Signal
}

func (e *ending) Write(p []byte) (int, error) {
	if e.Len() == 0 {
		e.signals <- syscall.SIGTERM
	}
	return e.Buffer.Write(p)
}

// TestCountsNoReader checks that counts says that it waits for the reader of a pipe.
func TestCountsNoReader(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	if _, _, err := hub.MakeFolder(state); err != nil {
		t.Fatal(err)
	}
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	errOut := &ending{signals: make(chan os.Signal, 1)}
	code := run([]string{"counts", "--state", state, pipe}, &bytes.Buffer{}, errOut, errOut.signals)
	if want := "flowdedup-hub: " + pipe + " is a pipe without a reader"; !strings.HasPrefix(errOut.String(), want) {
		t.Errorf("exit code %d, %q, want %q", code, errOut, want)
	}
}
