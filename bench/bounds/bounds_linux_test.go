// SPDX-License-Identifier: Apache-2.0

package bounds

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	benchlab "github.com/flowdedup/flowdedup/bench/lab"
	"golang.org/x/sys/unix"
)

// limit is the memory of the cgroup that each command runs in.
const limit = 256 << 20

// whole reports whether every command gets every input, each of them larger than the limit.
func whole() bool { return os.Getenv("FLOWDEDUP_BOUNDS") == "all" }

// diskFolder returns a folder on a disk: files in memory would count as memory of the cgroup.
func diskFolder(t *testing.T) string {
	t.Helper()
	for _, parent := range []string{os.TempDir(), "/var/tmp", "."} {
		var fs unix.Statfs_t
		if err := unix.Statfs(parent, &fs); err != nil || fs.Type == unix.TMPFS_MAGIC {
			continue
		}
		if dir, err := os.MkdirTemp(parent, "flowdedup-bounds-"); err == nil {
			t.Cleanup(func() {
				if err := os.RemoveAll(dir); err != nil {
					t.Error(err)
				}
			})
			return dir
		}
	}
	t.Skip("no folder on a disk")
	return ""
}

// inputs lists all inputs, and small ones of each kind.
func inputs(t *testing.T) (large, small []input) {
	t.Helper()
	large = append(append(append(large, captures...), exports...), savedCounts...)
	if !whole() {
		return large, append(damaged(t, 16), corpora(t, "../..")...)
	}
	small = append(append(damaged(t, 160), shared(t)...), corpora(t, "../..", fuzzCache(t))...)
	return large, small
}

// TestBounds gives hostile inputs to commands. In its short form a large input has a quarter of
// the limit, and each input goes to one command, in turn, so that each command is tried.
func TestBounds(t *testing.T) {
	large, small := inputs(t)
	r := newRunner(t)
	bytes, tries, few := int64(limit+limit/4), len(commands), 12
	if !whole() {
		bytes, tries, few = limit/4, 1, 1
	}
	next, given := map[subject]int{}, 0
	give := func(in input, bytes int64, tries int) {
		name := filepath.Join(r.folder, in.name)
		writeCapture(t, name, func(c *capture) { in.fill(c, bytes) })
		of := commandsOf(in.of)
		given++
		for range min(tries, len(of)) {
			r.try(t, of[next[in.of]%len(of)], name)
			next[in.of]++
		}
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	for _, in := range large {
		t.Run(in.name, func(t *testing.T) { give(in, bytes, tries) })
	}
	for _, in := range small {
		t.Run(in.name, func(t *testing.T) { give(in, 0, few) })
	}
	r.report(t)
	for _, c := range commands {
		if given == len(large)+len(small) && r.most[c.line].runs == 0 && (!c.live() || r.namespace == nil) {
			t.Errorf("nothing was given to %q", c.line)
		}
	}
}

// commandsOf returns the commands that read such a file.
func commandsOf(of subject) (all []command) {
	for _, c := range commands {
		if c.of == of {
			all = append(all, c)
		}
	}
	return all
}

// report logs the most memory of each command.
func (r *runner) report(t *testing.T) {
	runs := 0
	for _, c := range commands {
		m := r.most[c.line]
		runs += m.runs
		t.Logf("%4d MiB at most, %8v, in %3d runs, with %s: %s", m.bytes>>20, m.took.Round(1e7), m.runs, m.input, c.line)
	}
	t.Logf("%d runs, %s", runs, r.how)
}

// enterNamespace moves the test into a network namespace with a loopback interface, for peers.
func enterNamespace() error {
	if err := benchlab.Enter(); err != nil {
		return err
	}
	if err := benchlab.IP("link set lo up"); err != nil {
		return fmt.Errorf("no loopback interface: %w", err)
	}
	return nil
}
