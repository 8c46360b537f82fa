// SPDX-License-Identifier: Apache-2.0

package flows_test

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"

	benchlab "github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// TestSecondSignal ends a run at once by its second signal, though nobody reads its standard
// error: the word about the first signal waits there.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	var ends [2]int
	if err := syscall.Pipe2(ends[:], syscall.O_CLOEXEC|syscall.O_NONBLOCK); err != nil {
		t.Fatal(err)
	}
	nobody, full := os.NewFile(uintptr(ends[0]), "nobody"), os.NewFile(uintptr(ends[1]), "full")
	defer nobody.Close()
	defer full.Close()
	for _, size := range []int{1 << 12, 1} {
		for {
			_, err := syscall.Write(ends[1], make([]byte, size))
			if errors.Is(err, syscall.EAGAIN) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := syscall.SetNonblock(ends[1], false); err != nil {
		t.Fatal(err)
	}
	port := benchlab.FreePort(t)
	// TCP: users whose UDP buffers are limited get a warning, and that waits for standard error, too.
	cmd := clitest.Program(t, "flows", "--listen", "tcp-listen://127.0.0.1:"+port)
	cmd.Stderr = full
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	clitest.AwaitSocket(t, port, clitest.Listening)                // signals are watched before
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM} { // different ones are never one
		if err := cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	wait.Until(t, "the end", func() bool {
		select {
		case err = <-done:
			return true
		default:
			return false
		}
	})
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != cli.ExitSignal+int(syscall.SIGTERM) && exit.ExitCode() != cli.ExitSignal+int(syscall.SIGINT) {
		t.Errorf("%v", err)
	}
}
