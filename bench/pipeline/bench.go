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
	b := &bench{plan: p, parent: parent, commands: available(ctx), out: out}
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

// spaceNeeded returns how many bytes the comparison of tools takes: the captures, and at
// most as much for what a command writes.
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

// inputs measures some commands on inputs of several sizes. They are of the same
// rate, so that a larger one only lasts longer.
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

// generate writes a capture. It leaves that to a program of its own: see measure.
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

// remove makes room; what stays is removed with the folder.
func (b *bench) remove(c capture) { os.Remove(filepath.Join(b.dir, c.file)) }
