// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
)

// bench is one run of the program.
type bench struct {
	plan
	parent   string // where dir is made
	dir      string // of captures and outputs
	commands []command
	out      io.Writer
}

func newBench(ctx context.Context, p plan, parent string, out io.Writer) (*bench, error) {
	b := &bench{plan: p, parent: parent, commands: available(ctx, p.exports), out: out}
	if parent == "" {
		b.parent = os.TempDir()
		if free, err := freeSpace("/dev/shm"); err == nil && free >= p.spaceNeeded() {
			b.parent = "/dev/shm"
		}
	}
	dir, err := os.MkdirTemp(b.parent, "pipeline-")
	b.dir = dir
	return b, err
}

// spaceNeeded returns how many bytes the comparison of tools takes: the captures, and as
// much again for the output of a command.
func (p plan) spaceNeeded() int64 {
	sum := int64(0)
	for _, bytes := range p.bytes {
		sum += 2 * bytes
	}
	return sum
}

// tools measures all commands on a capture of each kind.
func (b *bench) tools(ctx context.Context) error {
	var all []task
	for _, k := range kinds {
		whole := k.of(b.bytes[k.name])
		short := whole.first(b.slow)
		for _, c := range []capture{whole, short} {
			if err := b.generate(ctx, c); err != nil {
				return err
			}
			defer b.remove(c)
		}
		for _, c := range b.commands {
			if !slices.Contains(k.jobs, c.job) {
				continue
			}
			on := whole
			if c.slow {
				on = short
			}
			all = append(all, task{c, on, fmt.Sprintf("Pipeline/capture=%s/job=%s/command=%s", k.name, c.job, c.name)})
		}
	}
	return b.inRounds(ctx, all)
}

// inputs measures some commands on inputs of several sizes. All have the same rate, so a
// larger one lasts longer.
func (b *bench) inputs(ctx context.Context) error {
	var errs []error
	for _, k := range kinds {
		if k.sized && ctx.Err() == nil {
			errs = append(errs, b.inputsOf(ctx, k))
		}
	}
	return errors.Join(errs...)
}

func (b *bench) inputsOf(ctx context.Context, k kind) error {
	free, err := freeSpace(b.dir)
	if err != nil {
		return err
	}
	var all []task
	for _, bytes := range b.plan.inputs {
		if free -= bytes; free < 0 {
			fmt.Fprintf(os.Stderr, "pipeline: no room in %s for an input of %d MB\n", b.parent, bytes/megabyte)
			break
		}
		on := k.of(bytes)
		if err := b.generate(ctx, on); err != nil {
			return err
		}
		defer b.remove(on)
		for _, c := range b.commands {
			if c.sized {
				all = append(all, task{c, on, fmt.Sprintf("Input/capture=%s/command=%s/bytes=%d", k.name, c.name, bytes)})
			}
		}
	}
	return b.inRounds(ctx, all)
}

// generate writes a capture in another process: see measure.
func (b *bench) generate(ctx context.Context, c capture) error {
	hours := float64(c.packets) / float64(c.hourly)
	text, err := exec.CommandContext(ctx, "genworkload", "-size", c.size,
		"-packets", strconv.FormatInt(c.packets, 10), "-flows", strconv.Itoa(flows),
		"-hours", strconv.FormatFloat(hours, 'g', -1, 64), "-o", filepath.Join(b.dir, c.file)).CombinedOutput()
	if err != nil {
		return fmt.Errorf("genworkload: %w: %s", err, text)
	}
	return nil
}

// remove frees the space of a capture. Files that cannot be removed go with the folder.
func (b *bench) remove(c capture) { os.Remove(filepath.Join(b.dir, c.file)) }

// task is a command on a capture, with its name as a benchmark.
type task struct {
	command
	on        capture
	benchmark string
}

// inRounds runs all tasks in each round, and prints a result for each run. A task that
// fails is not run again; the others go on.
func (b *bench) inRounds(ctx context.Context, all []task) error {
	errs := make([]error, len(all))
	for round := range b.rounds {
		fmt.Fprintf(os.Stderr, "pipeline: round %d of %d, %d commands\n", round+1, b.rounds, len(all))
		for i, t := range all {
			if errs[i] != nil {
				continue
			}
			if errs[i] = b.runTask(ctx, t); ctx.Err() != nil {
				return ctx.Err()
			}
		}
	}
	return errors.Join(errs...)
}

// runTask measures a task and prints the result.
func (b *bench) runTask(ctx context.Context, t task) error {
	work := measure
	if t.job == "listen" {
		work = collected
	}
	took, err := work(ctx, b.dir, t.line, t.on.file)
	if err != nil {
		return err
	}
	file, err := os.Stat(filepath.Join(b.dir, t.on.file))
	if err != nil {
		return err
	}
	packets := float64(t.on.packets)
	_, err = fmt.Fprintf(b.out, "traffic: %s\ncommand: %s\nBenchmark%s 1 %.5g ns/packet %.5g packets/s "+
		"%.5g wall-s %.5g cpu-s %.5g peak-MiB %.0f packets %.5g MB\n",
		t.on.title, t.line, t.benchmark, float64(took.wall.Nanoseconds())/packets, packets/took.wall.Seconds(),
		took.wall.Seconds(), took.cpu.Seconds(), float64(took.peak)/(1<<20), packets, float64(file.Size())/1e6)
	return err
}
