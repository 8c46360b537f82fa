// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/flowdedup/flowdedup/bench/lab"
	"golang.org/x/sys/unix"
)

func main() {
	err := run(os.Args[1:], os.Stdout)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "live:", err)
		os.Exit(1)
	}
}

// plan says how much is measured.
type plan struct {
	rounds  int
	frames  map[string]int // of each sender
	rate    int            // of the slower sender, frames a second
	loads   []int          // for the delay, frames a second
	seconds int            // of each load; of each of rates, half
	rates   []int          // for both captures, frames a second; 0 is the highest
	most    int            // frames at the highest
	senders []string
	skip    []string // receivers
}

var (
	full = plan{rounds: 5, frames: map[string]int{"xdp": 15_000_000, "pair": 15_000_000, "sendmmsg": 4_000_000}, rate: 1_000_000,
		loads: []int{100_000, 250_000, 500_000}, seconds: 5,
		rates: []int{1_000_000, 1_500_000, 2_000_000, 3_000_000, 4_000_000, 0}, most: 8_000_000}
	small = plan{rounds: 1, frames: map[string]int{"xdp": 100_000, "pair": 100_000, "sendmmsg": 50_000}, rate: 100_000,
		loads: []int{10_000}, seconds: 1, rates: []int{100_000}}
)

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("live", flag.ContinueOnError)
	quick := flags.Bool("quick", false, "few frames and one round, to see that everything works")
	rounds := flags.Int("rounds", 0, "rounds, instead of 5, or of 1 with -quick")
	senders := flags.String("senders", "xdp,sendmmsg", "senders to measure with")
	skip := flags.String("skip", "", "receivers to leave out, with commas")
	dir := flags.String("dir", "/dev/shm", "folder for outputs, in memory")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 || *rounds < 0 {
		return errors.New("wrong usage: an argument, or negative rounds")
	}
	p := full
	if *quick {
		p = small
	}
	if *rounds > 0 {
		p.rounds = *rounds
	}
	p.senders, p.skip = strings.Split(*senders, ","), strings.Split(*skip, ",")
	lab.AllowInterrupts()
	// This goroutine starts everything in the namespace.
	runtime.LockOSThread()
	return measureAll(p, *dir, out)
}

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
	if slices.Contains(p.senders, "pair") {
		if err := lab.ReceiveOffload("right"); err != nil {
			return err
		}
	}
	outputs, err := os.MkdirTemp(dir, "live-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(outputs)) }()
	b := &bench{p, outputs, out}
	if err := pin(0); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(out, "pkg: github.com/flowdedup/flowdedup/bench/live"); err != nil {
		return err
	}
	// The rates come last: they leave receive offload on.
	return errors.Join(b.inRounds(), b.delays(), b.atRates())
}

// pin keeps the calling thread on one processor, which the receivers do not use.
func pin(processor int) error {
	var set unix.CPUSet
	set.Set(processor)
	return os.NewSyscallError("sched_setaffinity", unix.SchedSetaffinity(0, &set))
}

// processors returns the list of processors that a receiver runs on.
func processors(spread bool) string {
	last := fmt.Sprint(runtime.NumCPU() - 1)
	if spread {
		return "0-" + last
	}
	return last
}

func (b *bench) note(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "live: "+format+"\n", args...)
}
