// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/bench/lab/wait"
)

// buildPrograms puts flowdedup and genworkload at the head of the PATH.
func buildPrograms(t *testing.T) {
	t.Helper()
	dir := lab.Build(t, "../../cmd/flowdedup", "../workload/cmd/genworkload")
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
}

// TestQuick expects a result for every available command, and no files left behind.
func TestQuick(t *testing.T) {
	buildPrograms(t)
	dir := t.TempDir()
	var out strings.Builder
	if err := run(context.Background(), []string{"-quick", "-dir", dir}, &out); err != nil {
		t.Fatal(err)
	}
	there := available(context.Background(), false)
	for _, k := range kinds {
		for _, c := range there {
			for name, count := range resultsOf(k, c) {
				if got := strings.Count(out.String(), "\nBenchmark"+name); got != count {
					t.Errorf("%d results of %s, want %d", got, name, count)
				}
			}
		}
	}
	for _, key := range []string{"place", "lowest-peak", "traffic", "command"} {
		if !strings.Contains(out.String(), "\n"+key+": ") {
			t.Errorf("nothing tells the %s", key)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}

// TestPaths expects a result for every command whose tools there are.
func TestPaths(t *testing.T) {
	buildPrograms(t)
	var out strings.Builder
	if err := run(context.Background(), []string{"-quick", "-paths", "-dir", t.TempDir()}, &out); err != nil {
		t.Fatal(err)
	}
	for _, c := range installed(paths) {
		if name := "\nBenchmarkPaths/job=" + c.job + "/command=" + c.name + " 1 "; strings.Count(out.String(), name) != 1 {
			t.Errorf("not one result of %s %s", c.job, c.name)
		}
	}
}

// resultsOf returns how many results of each name a command gives on a kind.
func resultsOf(k kind, c command) map[string]int {
	tools, inputs := 0, 0
	if slices.Contains(k.jobs, c.job) {
		tools = 1
	}
	if k.sized && c.sized {
		inputs = len(small.inputs)
	}
	return map[string]int{
		"Pipeline/capture=" + k.name + "/job=" + c.job + "/command=" + c.name + " 1 ": tools,
		"Input/capture=" + k.name + "/command=" + c.name + "/bytes=":                  inputs,
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{"more"}, {"-rounds", "-1"}, {"-largest", "-1"}, {"-unknown"}, {"-dir", filepath.Join(t.TempDir(), "missing")}} {
		if err := run(context.Background(), args, &strings.Builder{}); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}

// TestMeasure checks that the cost includes child processes, and that each line gets its
// input and an empty folder.
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

// TestMeasureInterrupted checks that an interrupt ends a hanging line, pipes included.
func TestMeasureInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	dir := t.TempDir()
	failed := make(chan error)
	go func() {
		_, err := measure(ctx, dir, "echo > $IN; sleep 1000 | cat", filepath.Join(dir, "started"))
		failed <- err
	}()
	wait.Until(t, "the line to start", func() bool {
		_, err := os.Stat(filepath.Join(dir, "started"))
		return err == nil
	})
	cancel()
	if err := <-failed; err == nil {
		t.Error("no error")
	}
}
