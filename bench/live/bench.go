//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/flowdedup/flowdedup/bench/lab"
)

// bench is one run of the program.
type bench struct {
	plan
	outputs string // the folder of the outputs
	out     io.Writer
}

// measureAll measures in a namespace that ends with the program.
func measureAll(p plan, dir string, out io.Writer) (err error) {
	if err := errors.Join(lab.Enter(), lab.Pair("left", "right"), lab.Pair("out", "tool")); err != nil {
		return err
	}
	outputs, err := os.MkdirTemp(dir, "live-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(outputs)) }()
	b := &bench{p, outputs, out}
	if err := errors.Join(pin(0), b.printMachine()); err != nil {
		return err
	}
	return errors.Join(b.inRounds(), b.delays())
}

// pin keeps the calling thread on one processor, which the receivers leave to it.
func pin(processor int) error {
	var set unix.CPUSet
	set.Set(processor)
	return os.NewSyscallError("sched_setaffinity", unix.SchedSetaffinity(0, &set))
}

// processors is the list of those that a receiver runs on.
func processors(spread bool) string {
	last := fmt.Sprint(runtime.NumCPU() - 1)
	if spread {
		return "0-" + last
	}
	return last
}

// printMachine prints what the results have in common.
func (b *bench) printMachine() error {
	kernel, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return err
	}
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return err
	}
	_, model, _ := strings.Cut(string(info), "model name\t: ")
	model, _, _ = strings.Cut(model, "\n")
	_, err = fmt.Fprintf(b.out, "goos: %s\ngoarch: %s\npkg: github.com/flowdedup/flowdedup/bench/live\ncpu: %s\nthreads: %d\nkernel: %s\n",
		runtime.GOOS, runtime.GOARCH, model, runtime.NumCPU(), strings.TrimSpace(string(kernel)))
	return err
}

func (b *bench) note(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "live: "+format+"\n", args...)
}
