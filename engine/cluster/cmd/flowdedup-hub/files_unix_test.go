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
	"time"
)

// TestFilesThatWait has pipes without a writer, and devices without an end, where the hub reads files:
// a signal ends it, and devices are refused.
func TestFilesThatWait(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	for _, c := range []struct {
		args string
		code int
	}{
		{"--config NAME", exitSignal + int(syscall.SIGINT)},
		{"join-token a --config NAME", exitSignal + int(syscall.SIGINT)},
		{"--tls-cert NAME --tls-key NAME", exitSignal + int(syscall.SIGINT)},
		{"--config /dev/zero", exitUsage},
		{"--tls-cert /dev/zero --tls-key /dev/zero", exitUsage},
		{"--parent NAME", exitUsage},
		{"--parent /dev/zero", exitUsage},
	} {
		args := strings.Fields(strings.ReplaceAll(c.args, "NAME", pipe))
		args = append(args, "--state", filepath.Join(dir, "state"))
		if args[0] != "join-token" {
			args = append(args, "--http", "none", "--listen", "127.0.0.1:0")
		}
		signals := make(chan os.Signal, 1)
		timer := time.AfterFunc(time.Second, func() { signals <- syscall.SIGINT })
		var out, errOut bytes.Buffer
		if code := run(args, &out, &errOut, signals); code != c.code {
			t.Errorf("%s: %d, want %d: %s%s", c.args, code, c.code, &out, &errOut)
		}
		timer.Stop()
		if strings.Contains(errOut.String(), "canceled") {
			t.Errorf("%s: %s", c.args, &errOut)
		}
	}
}
