// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// process is a running receiver.
type process struct {
	command        *exec.Cmd
	ready          time.Duration // processor time when it began to capture
	half           time.Duration // processor time after half of the frames
	stdout, stderr bytes.Buffer
}

// result is a receiver's report and its cost.
type result struct {
	counts
	cpu   time.Duration // since it captured
	later time.Duration // of the second half of the frames
	peak  int64         // bytes: the greatest resident set
}

// settle is the time that a receiver gets to finish its setup after opening its socket,
// and to read the remaining packets at the end.
const settle = time.Second

// start starts a line in the calling thread's namespace, on the given processors. It
// returns when the line captures.
func start(line, processors, dir string) (*process, error) {
	before, err := captures()
	if err != nil {
		return nil, err
	}
	p := &process{command: exec.Command("taskset", append([]string{"-c", processors}, strings.Fields(line)...)...)}
	p.command.Dir, p.command.Stdout, p.command.Stderr = dir, &p.stdout, &p.stderr
	// Signals from the terminal go only to this program. The line ends with the calling
	// thread, however that ends.
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		now, err := captures()
		if err == nil && now > before {
			p.ready, err = p.settled()
			return p, err
		}
		if err != nil || time.Now().After(deadline) {
			_ = p.command.Process.Kill()
			// A process that hangs in the kernel is left there.
			return nil, fmt.Errorf("%s: captures nothing (%v)", line, err)
		}
	}
}

// spent returns how much processor time the process has taken. The kernel has a clock for
// this, whose number follows from the process's (linux/posix-timers.h).
func (p *process) spent() (time.Duration, error) {
	const scheduled = 2
	var at unix.Timespec
	if err := unix.ClockGettime(int32(^p.command.Process.Pid<<3|scheduled), &at); err != nil {
		return 0, fmt.Errorf("%s: %w", p.command, os.NewSyscallError("clock_gettime", err))
	}
	return time.Duration(at.Nano()), nil
}

// settled is spent after the receiver has come to rest.
func (p *process) settled() (time.Duration, error) {
	time.Sleep(settle)
	return p.spent()
}

// halfway records the processor time of the first half of the frames.
func (p *process) halfway() (err error) {
	p.half, err = p.settled()
	return err
}

// captures returns how many packet sockets there are in the thread's namespace.
func captures() (int, error) {
	text, err := os.ReadFile("/proc/thread-self/net/packet")
	return bytes.Count(text, []byte("\n")) - 1, err
}

// stop interrupts the receiver and returns its output, stdout first.
func (p *process) stop() (string, error) {
	if err := p.command.Process.Signal(os.Interrupt); err != nil {
		return "", err
	}
	err := p.command.Wait()
	text := p.stdout.String() + "\n" + p.stderr.String()
	const interrupted = 130 // the exit code of shells for SIGINT, and of flowdedup
	if err != nil && p.command.ProcessState.ExitCode() != interrupted {
		return "", fmt.Errorf("%s: %w: %s", p.command, err, text)
	}
	return text, nil
}

// finish stops the receiver and reads its counts.
func (p *process) finish(count func(string) (counts, error)) (result, error) {
	end, err := p.settled()
	if err != nil {
		return result{}, err
	}
	text, err := p.stop()
	if err != nil {
		return result{}, err
	}
	c, err := count(text)
	state := p.command.ProcessState
	usage := state.SysUsage().(*syscall.Rusage)
	return result{c, state.UserTime() + state.SystemTime() - p.ready, end - p.half, int64(usage.Maxrss) * 1024}, err
}
