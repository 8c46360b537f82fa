//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// task is a command on a capture, with its name as a benchmark.
type task struct {
	command
	on        capture
	benchmark string
}

// inRounds runs tasks, all of them in each round, and prints a result for each
// run. One that fails once is not run again; the others go on.
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
	took, err := measure(ctx, b.dir, t.line, t.on.file)
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
