package main

import (
	"errors"
	"flag"
	"fmt"
	"runtime"
	"strings"

	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
)

var errUsage = errors.New("wrong usage")

// options are the flags as given.
type options struct {
	args     []string // as they came
	run      result.Options
	only     []string
	list     bool
	markdown string
	json     string
	charts   string
}

func parse(args []string) (options, error) {
	o := options{args: args}
	flags := flag.NewFlagSet("papers", flag.ContinueOnError)
	flags.BoolVar(&o.run.Full, "full", false, "run the printed sizes: hours for p1")
	flags.IntVar(&o.run.Workers, "workers", runtime.NumCPU(), "goroutines to use")
	flags.BoolVar(&o.list, "list", false, "list the tables, run nothing")
	only := flags.String("only", "", "papers or tables to make, separated by commas: p1,p3.table2")
	flags.StringVar(&o.markdown, "markdown", "", "write the report to this file instead of standard output")
	flags.StringVar(&o.json, "json", "", "write every number to this file")
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
