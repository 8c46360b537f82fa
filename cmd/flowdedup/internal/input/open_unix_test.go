// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin

package input

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestOpenCanceled checks that Open gives up a pipe without a writer.
func TestOpenCanceled(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Skip(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Open(ctx, []string{name}, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	// Let the goroutine that waits for a writer end.
	if f, err := os.OpenFile(name, os.O_RDWR, 0); err == nil {
		f.Close()
	}
}
