//go:build linux

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
)

// printMachine prints what the results have in common.
func (b *bench) printMachine(ctx context.Context) error {
	kernel, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return err
	}
	floor, err := measure(ctx, b.dir, "true", "")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(b.out, "goos: %s\ngoarch: %s\npkg: github.com/flowdedup/flowdedup/bench/pipeline\n"+
		"cpu: %s\nthreads: %d\nkernel: %s\nplace: %s\nlowest-peak: %.1f MiB\n",
		runtime.GOOS, runtime.GOARCH, field("/proc/cpuinfo", "model name"), runtime.NumCPU(),
		strings.TrimSpace(string(kernel)), b.parent, float64(floor.peak)/(1<<20))
	return err
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

// freeSpace returns how many bytes of files in a folder may be counted on to stay in
// memory: two thirds of what is free of both, because programs need some and
// others are at work.
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
