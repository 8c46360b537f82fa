// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// cost is the cost of a command, together with the programs that it started.
type cost struct {
	wall, cpu time.Duration
	peak      int64 // bytes: the greatest resident set of any one program
}

// measure runs a line and drops its output. If the line fails, the error ends with its
// last messages.
//
// Linux counts the memory of the parent process for a program too, so a peak below this
// process's own does not show. This process therefore stays small and leaves making
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

// printPlace prints the configuration lines common to all results.
func (b *bench) printPlace(ctx context.Context) error {
	least, err := measure(ctx, b.dir, "true", "")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(b.out, "pkg: github.com/flowdedup/flowdedup/bench/pipeline\nplace: %s\nlowest-peak: %.1f MiB\nload: %s\n",
		b.parent, float64(least.peak)/(1<<20), load())
	return err
}

// load returns how many tasks ran or waited in the last minute.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}

// field returns the first value of a key in a file of lines "key: value", or
// "unknown".
func field(name, key string) string {
	file, err := os.Open(name)
	if err != nil {
		return "unknown"
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if k, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

// freeSpace returns how many bytes of files in a folder will stay in memory: two thirds
// of the free space of both, since programs need some and others are running.
func freeSpace(dir string) (int64, error) {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(dir, &disk); err != nil {
		return 0, fmt.Errorf("%s: %w", dir, err)
	}
	var free int64
	if _, err := fmt.Sscanf(field("/proc/meminfo", "MemAvailable"), "%d kB", &free); err != nil {
		return 0, errors.New("no MemAvailable in /proc/meminfo")
	}
	return min(free*1024, int64(disk.Bavail)*int64(disk.Bsize)) / 3 * 2, nil
}
