// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/flowdedup/flowdedup/bench/lab"
	"golang.org/x/sys/unix"
)

// rated are the receivers that are measured at each rate: both captures, and only the
// kernel's ring.
var rated = []string{"baseline-ring", "dedup", "dedup-xdp"}

// atRates sends at each rate to every rated receiver, in each round. The generator
// reaches rate 0, the highest, where the kernel has all of the sender's processor. So the
// number of frames that it sends shows how many each capture lets the kernel take.
func (b *bench) atRates() error {
	if err := lab.ReceiveOffload("right"); err != nil {
		b.note("left out: rates: %v", err)
		return nil
	}
	g, err := lab.NewPacedGenerator("left", lab.MinFrame, b.rates[0])
	if err != nil {
		b.note("left out: rates: %v", err)
		return nil
	}
	if err := g.Close(); err != nil {
		return err
	}
	there := slices.DeleteFunc(b.available(), func(r receiver) bool { return !slices.Contains(rated, r.name) })
	for round := range b.rounds {
		b.note("round %d of %d at %d rates, %d receivers", round+1, b.rounds, len(b.rates), len(there))
		for _, rate := range b.rates {
			for i := range there {
				if err := b.atRate(&there[i], rate); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// atRate measures a receiver at a rate and prints the result. The sender's processor time
// is the kernel's work on the frames, on their way out and in. At rates other than the
// highest it also includes waiting.
func (b *bench) atRate(r *receiver, rate int) error {
	frames := b.most
	if rate > 0 {
		frames = rate * b.seconds / 2
	}
	spent := time.Duration(0)
	out, in, err := b.measure(r, func(*process) (sent, error) {
		out, err := inject(frames, func() error { return nil }, func() (*lab.Generator, error) {
			g, err := lab.NewPacedGenerator("left", lab.MinFrame, rate)
			spent = threadTime()
			return g, err
		})
		spent = threadTime() - spent
		return out, err
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(b.out, "command: %s\nBenchmarkRate/rate=%d/receiver=%s 1 %.5g sent/s %d sent %d captured %d dropped %.5g cpu-s %.5g sender-cpu-s\n",
		r.line, rate, r.name, float64(out.frames)/out.took.Seconds(), out.frames, in.captured, in.dropped, in.cpu.Seconds(), spent.Seconds())
	return err
}

// threadTime returns the processor time of the calling thread.
func threadTime() time.Duration {
	var at unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &at) != nil {
		return 0
	}
	return time.Duration(at.Nano())
}
