// SPDX-License-Identifier: Apache-2.0

package clitest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	benchlab "github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/bench/lab/labtest"
	"github.com/flowdedup/flowdedup/bench/lab/wait"
)

// What tests do to the interfaces of a lab.
var (
	Pair      = labtest.Pair
	IP        = labtest.IP
	AwaitLink = labtest.AwaitLink
)

// Lab moves the test's thread into a network namespace of its own, which programs that
// it starts share. Each of pairs names two interfaces that Pair makes there, "left right".
func Lab(t *testing.T, pairs ...string) {
	t.Helper()
	labtest.Enter(t)
	for _, p := range pairs {
		left, right, _ := strings.Cut(p, " ")
		Pair(t, left, right)
	}
}

// AwaitRead waits until programs have read what this namespace has sent to a port over UDP.
func AwaitRead(t *testing.T, port int) {
	t.Helper()
	benchlab.Settle()
	local := fmt.Sprintf(":%04X", port)
	wait.Until(t, fmt.Sprintf("what came to port %d to be read", port), func() bool {
		sockets := 0
		for _, name := range []string{"udp", "udp6"} {
			all, err := os.ReadFile("/proc/thread-self/net/" + name)
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(all)) {
				if f := strings.Fields(line); len(f) > 4 && strings.HasSuffix(f[1], local) {
					sockets++
					if !strings.HasSuffix(f[4], ":00000000") {
						return false
					}
				}
			}
		}
		return sockets > 0
	})
}

// CopyProgram copies the test binary to where every user can run it, whatever the umask.
func CopyProgram(t *testing.T) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	content := ReadFile(t, exe)
	dir, err := os.MkdirTemp("/tmp", "flowdedup-live-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // in a folder for such things
	name := filepath.Join(dir, "flowdedup")
	// A process that a different test forks meanwhile would hold the file open for writing, and
	// the kernel refuses to execute such a file.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := errors.Join(os.WriteFile(name, content, 0o755), os.Chmod(name, 0o755), os.Chmod(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	return name
}
