// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/flowdedup/flowdedup/bench/papers/internal/biased"
	"github.com/flowdedup/flowdedup/bench/papers/internal/clicks"
	"github.com/flowdedup/flowdedup/bench/papers/internal/distributed"
	"github.com/flowdedup/flowdedup/bench/papers/internal/quotient"
	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/bench/papers/internal/rivals"
	"github.com/flowdedup/flowdedup/bench/papers/internal/stable"
	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return
	}
	fmt.Fprintln(os.Stderr, "papers:", err)
	if errors.Is(err, errUsage) {
		os.Exit(2)
	}
	os.Exit(1)
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
	o.run.Counts = &stream.Counts{}
	if o.run.Full && o.counts != "" {
		if o.run.Counts, err = stream.OpenCounts(o.counts); err != nil {
			return fmt.Errorf("%s: %w", o.counts, err)
		}
		o.run.Counts.Code = commit()
	}
	report, failed := runAll(ctx, chosen, o)
	failed = errors.Join(failed, o.run.Counts.Err())
	if o.check != "" {
		return errors.Join(failed, report.check(o))
	}
	// Tables made before a failure or an interrupt are written all the same.
	return errors.Join(failed, report.write(o))
}

// runAll runs the chosen tables one after another; each uses all workers.
func runAll(ctx context.Context, chosen []choice, o options) (report, error) {
	r := report{args: o.args, commit: commit(), full: o.run.Full, all: experiments()}
	for _, c := range chosen {
		fmt.Fprintf(os.Stderr, "%s ... ", c.table)
		begin := time.Now()
		table, err := c.make(ctx, o.run)
		if err != nil {
			fmt.Fprintln(os.Stderr, "failed")
			return r, fmt.Errorf("%s: %w", c.table, err)
		}
		table.Seconds = time.Since(begin).Seconds() + o.run.Counts.Earlier(c.table)
		fmt.Fprintf(os.Stderr, "%.1f s\n", table.Seconds)
		r.made = append(r.made, table)
	}
	return r, nil
}

// make makes the table. An interrupt does not wait for it, as the command ends then. It
// then makes the table from its kept rows, if there are any.
func (c choice) make(ctx context.Context, o result.Options) (result.Table, error) {
	made := make(chan result.Table, 1)
	if ctx.Err() == nil {
		go func() { made <- c.experiment.Make(c.table, o) }()
	}
	select {
	case t := <-made:
		return t, nil
	case <-ctx.Done():
		if o.Counts.Interrupt(c.table) {
			return c.experiment.Make(c.table, o), nil
		}
		return result.Table{}, ctx.Err()
	}
}

var errUsage = errors.New("wrong usage")

// options are the flags as given.
type options struct {
	args     []string // as they came
	run      result.Options
	only     []string
	list     bool
	counts   string
	markdown string
	check    string
	charts   string
}

func parse(args []string) (options, error) {
	o := options{args: args}
	flags := flag.NewFlagSet("papers", flag.ContinueOnError)
	flags.BoolVar(&o.run.Full, "full", false, "run the printed sizes: hours for p1")
	flags.StringVar(&o.counts, "counts", "", "keep finished rows of full p1 tables in this file, and take them from it")
	flags.IntVar(&o.run.Workers, "workers", runtime.NumCPU(), "goroutines to use")
	flags.BoolVar(&o.list, "list", false, "list the tables, run nothing")
	only := flags.String("only", "", "papers or tables to make, separated by commas: p1,p3.table2")
	flags.StringVar(&o.markdown, "markdown", "", "write the report to this file instead of standard output")
	flags.StringVar(&o.check, "check", "", "write nothing; fail if this report, or its charts, has other numbers")
	flags.StringVar(&o.charts, "charts", "", "write the charts to this folder, as SVG")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return o, err
		}
		return o, fmt.Errorf("%w: %w", errUsage, err)
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("%w: unexpected argument %q", errUsage, flags.Arg(0))
	}
	if o.run.Workers < 1 {
		return o, fmt.Errorf("%w: -workers %d must be 1 or more", errUsage, o.run.Workers)
	}
	o.only = strings.FieldsFunc(*only, func(r rune) bool { return r == ',' || r == ' ' })
	return o, nil
}

// experiments returns all experiments in the order of the papers.
func experiments() []result.Experiment {
	return []result.Experiment{
		stable.Experiment(),
		biased.Experiment(),
		clicks.Experiment(),
		quotient.Experiment(),
		distributed.Experiment(),
		rivals.Experiment(),
	}
}

// choice is a table to make.
type choice struct {
	experiment result.Experiment
	table      string
}

// choose returns the tables asked for by name or by paper, in the order of the
// experiments, or all tables if only is empty.
func choose(all []result.Experiment, only []string) ([]choice, error) {
	var chosen []choice
	known := map[string]bool{}
	for _, e := range all {
		for _, table := range e.Tables {
			known[e.Paper], known[table] = true, true
			if len(only) == 0 || slices.Contains(only, e.Paper) || slices.Contains(only, table) {
				chosen = append(chosen, choice{e, table})
			}
		}
	}
	for _, name := range only {
		if !known[name] {
			return nil, fmt.Errorf("%w: -only %s: no such paper or table; -list shows them", errUsage, name)
		}
	}
	return chosen, nil
}

func list(w io.Writer, chosen []choice) {
	paper := ""
	for _, c := range chosen {
		if title := c.experiment.Paper + ": " + c.experiment.Title; title != paper {
			paper = title
			fmt.Fprintln(w, title)
		}
		fmt.Fprintln(w, "  "+c.table)
	}
}
