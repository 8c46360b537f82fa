// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
)

// process is a program that runs.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdout bytes.Buffer
	stderr lockedBuffer
	ended  chan struct{}
	err    error
}

// lockedBuffer is a buffer that is read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// start starts a program in a namespace. It ends with the test at the latest.
func (l *lab) start(at *namespace, program string, args ...string) *process {
	l.t.Helper()
	return startProcess(l.t, at.command(filepath.Join(l.programs, program), args...))
}

// startProcess starts a command. It ends with the test at the latest.
func startProcess(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{t: t, cmd: cmd, ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		p.err = p.cmd.Wait()
	}()
	t.Cleanup(p.kill)
	return p
}

// kill ends a program at once.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.ended
}

// stop ends a program with SIGTERM, and returns its output. Programs that a shell starts
// in the background ignore SIGINT.
func (p *process) stop() string {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err, p.stderr.String())
	}
	select {
	case <-p.ended:
	case <-time.After(wait.Timeout):
		p.t.Fatal("does not end: ", p.stderr.String())
	}
	return p.stdout.String()
}

// wait waits until a program has written a text.
func (p *process) wait(text string) {
	p.t.Helper()
	if !wait.For(func() bool {
		select {
		case <-p.ended:
			return true
		default:
			return strings.Contains(p.stderr.String(), text)
		}
	}) {
		p.t.Fatalf("never wrote %q: %s", text, p.stderr.String())
	}
	if !strings.Contains(p.stderr.String(), text) {
		p.t.Fatalf("ended before %q: %v %s", text, p.err, p.stderr.String())
	}
}
