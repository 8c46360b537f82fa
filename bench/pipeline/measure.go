//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// cost is what a command took, together with the programs that it started.
type cost struct {
	wall, cpu time.Duration
	peak      int64 // bytes: the greatest resident set of any one program
}

// measure runs a line. What it prints is dropped; if it fails, the error ends with
// the end of its messages.
//
// Linux counts the memory of the process that starts a program for the program too,
// so nothing below this one's own shows: it keeps small and leaves the making of
// captures to others.
func measure(ctx context.Context, dir, line, in string) (cost, error) {
	out := filepath.Join(dir, "out")
	if err := errors.Join(os.RemoveAll(out), os.Mkdir(out, 0o777)); err != nil {
		return cost{}, err
	}
	messages, err := os.Create(filepath.Join(dir, "messages"))
	if err != nil {
		return cost{}, err
	}
	defer messages.Close()
	shell := exec.CommandContext(ctx, "bash", "-o", "pipefail", "-c", line)
	shell.Dir, shell.Stderr = dir, messages
	shell.Env = append(os.Environ(), "IN="+in, "LC_ALL=C")
	// A group of its own ends as a whole, pipes included.
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	shell.Cancel = func() error { return syscall.Kill(-shell.Process.Pid, syscall.SIGKILL) }
	begin := time.Now()
	err = shell.Run()
	wall := time.Since(begin)
	if err != nil {
		return cost{}, fmt.Errorf("%s: %w: %s", line, err, tail(messages.Name()))
	}
	state := shell.ProcessState
	usage := state.SysUsage().(*syscall.Rusage)
	return cost{wall, state.UserTime() + state.SystemTime(), int64(usage.Maxrss) * 1024}, nil
}

// tail returns the last lines of a file, a few hundred bytes at most.
func tail(name string) string {
	text, err := os.ReadFile(name)
	if err != nil {
		return err.Error()
	}
	return string(bytes.TrimSpace(text[max(0, len(text)-400):]))
}
