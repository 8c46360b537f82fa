//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/flowdedup/flowdedup/bench/lab"
)

// inRounds runs every receiver with every sender in each round, and prints a result
// for each run. A sender that does not work alone is left out; a receiver that fails
// with it is not run again with that.
func (b *bench) inRounds() error {
	there := b.available()
	var errs []error
	for _, sender := range b.senders {
		if _, err := b.send(sender, func() error { return nil }); err != nil {
			b.note("left out: sender %s: %v", sender, err)
			continue
		}
		failed := map[string]bool{}
		for round := range b.rounds {
			b.note("round %d of %d with %s, %d receivers", round+1, b.rounds, sender, len(there))
			for i := range there {
				r := &there[i]
				if failed[r.name] {
					continue
				}
				if err := b.runReceiver(r, sender); err != nil {
					failed[r.name] = true
					errs = append(errs, err)
				}
			}
		}
	}
	return errors.Join(errs...)
}

// runReceiver measures a receiver and prints the result.
func (b *bench) runReceiver(r *receiver, sender string) error {
	dir := filepath.Join(b.outputs, r.name)
	if err := os.Mkdir(dir, 0o777); err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	p, err := start(r.line, processors(r.spread), dir)
	if err != nil {
		return err
	}
	out, sendErr := b.send(sender, p.halfway)
	in, err := p.finish(r.count)
	if err := errors.Join(sendErr, err); err != nil {
		return fmt.Errorf("%s: %w", r.line, err)
	}
	return b.print(r, sender, out, in)
}

func (b *bench) print(r *receiver, sender string, out sent, in result) error {
	where := "one"
	if r.spread {
		where = "all"
	}
	copies := ""
	if in.found {
		copies = fmt.Sprintf(" %d copies", in.copies)
	}
	_, err := fmt.Fprintf(b.out, "command: %s\nprocessors: %s\nBenchmarkLive/sender=%s/receiver=%s 1 %.5g sent/s %d sent %d captured "+
		"%d dropped %.5g cpu-s %.5g packets/cpu-s %.5g later-packets/cpu-s %.5g peak-MiB %d repeats%s\n",
		r.line, where, sender, r.name, float64(out.frames)/out.took.Seconds(), out.frames, in.captured, in.dropped,
		in.cpu.Seconds(), float64(in.captured)/in.cpu.Seconds(), float64(in.captured)/2/in.later.Seconds(), float64(in.peak)/(1<<20), lab.Repeats(out.frames), copies)
	return err
}
