// SPDX-License-Identifier: Apache-2.0

//go:build unix

package clitest

import (
	"bufio"
	"bytes"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
)

// Process is a run of flowdedup as a process. A test reads its messages as they come.
type Process struct {
	T      *testing.T
	Cmd    *exec.Cmd
	Stdout bytes.Buffer
	Stderr bytes.Buffer // up to the end of the run
	Lines  chan string  // of stderr, that no Event has taken
	ended  chan error
}

// NewProcess returns a run that Start begins.
func NewProcess(t *testing.T, args ...string) *Process {
	t.Helper()
	r := &Process{T: t, Cmd: Program(t, args...)}
	r.Cmd.Stdout = &r.Stdout
	return r
}

// Start starts the program and collects its messages.
func (r *Process) Start() {
	t := r.T
	t.Helper()
	pipe, err := r.Cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r.Lines, r.ended = make(chan string, 1000), make(chan error, 1)
	go func() {
		for s := bufio.NewScanner(pipe); s.Scan(); {
			r.Stderr.WriteString(s.Text() + "\n")
			r.Lines <- s.Text()
		}
		close(r.Lines)
		r.ended <- r.Cmd.Wait()
	}()
	t.Cleanup(func() { _ = r.Cmd.Process.Kill() }) // it has ended, if nothing failed
}

// Event waits for a line on stderr that holds a text, and returns it.
func (r *Process) Event(text string) string {
	r.T.Helper()
	for timeout := time.After(wait.Timeout); ; {
		select {
		case line, ok := <-r.Lines:
			if !ok {
				r.T.Fatalf("no %q in\n%s", text, r.Stderr.String())
			}
			if strings.Contains(line, text) {
				return line
			}
		case <-timeout:
			r.T.Fatalf("no %q for a long time", text)
		}
	}
}

// Wait returns the exit code.
func (r *Process) Wait() int {
	r.T.Helper()
	select {
	case err := <-r.ended:
		return ExitCode(r.T, err)
	case <-time.After(wait.Timeout):
	}
	_ = r.Cmd.Process.Signal(syscall.SIGABRT) // it prints its goroutines
	for range r.Lines {
		continue
	}
	<-r.ended
	r.T.Fatalf("it does not end\n%s", r.Stderr.String())
	return -1
}
