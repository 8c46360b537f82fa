package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errUsage):
		fmt.Fprintln(os.Stderr, "papers:", err)
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, "papers:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	chosen, err := choose(experiments(), o.only)
	if err != nil {
		return err
	}
	if o.list {
		list(os.Stdout, chosen)
		return nil
	}
	report, failed := runAll(ctx, chosen, o)
	// What was made before a failure or an interrupt is written all the same.
	return errors.Join(failed, report.write(o))
}

// runAll runs the chosen tables one after another; each uses all workers.
func runAll(ctx context.Context, chosen []choice, o options) (report, error) {
	r := report{args: o.args, full: o.run.Full}
	for _, c := range chosen {
		fmt.Fprintf(os.Stderr, "%s ... ", c.table)
		begin := time.Now()
		table, err := c.experiment.Run(ctx, c.table, o.run)
		if err != nil {
			fmt.Fprintln(os.Stderr, "failed")
			return r, fmt.Errorf("%s: %w", c.table, err)
		}
		table.Name, table.FullSize = c.table, o.run.Full
		table.Seconds = time.Since(begin).Seconds()
		fmt.Fprintf(os.Stderr, "%.1f s\n", table.Seconds)
		r.add(c.experiment, table)
	}
	return r, nil
}
