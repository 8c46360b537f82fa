//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/bench/lab"
)

// TestQuick expects a result of each receiver of this module, and of the delay, and
// nothing left behind.
func TestQuick(t *testing.T) {
	if testing.Short() {
		t.Skip("receivers take seconds to settle")
	}
	if err := lab.Enter(); err != nil {
		t.Skip(err)
	}
	programs, dir := t.TempDir(), t.TempDir()
	build := exec.Command("go", "build", "-o", programs+"/", "../../cmd/flowdedup", "./barering")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	t.Setenv("PATH", programs+string(filepath.ListSeparator)+os.Getenv("PATH"))
	var skip, want []string
	for i := range receivers {
		switch r := &receivers[i]; r.tool() {
		case "barering", "flowdedup":
			want = append(want, "BenchmarkLive/sender=sendmmsg/receiver="+r.name+" 1 ")
		default:
			skip = append(skip, r.name)
		}
	}
	var out strings.Builder
	err := run([]string{"-quick", "-senders", "sendmmsg", "-skip", strings.Join(skip, ","), "-dir", dir}, &out)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(want, "BenchmarkForward/load=10000 1 ") {
		if strings.Count(out.String(), "\n"+name) != 1 {
			t.Errorf("not one result of %s in\n%s", name, out.String())
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}
