// SPDX-License-Identifier: Apache-2.0

// Command methods prints the predictions of package sizing's models for every method that
// can express a window, including methods that no command of flowdedup runs: the
// published filters, and the library's other filters. Parameters of one method can be
// given. "flowdedup plan" shows what a command runs.
//
//	go -C bench/papers run ./methods -kind jumping -elements 1e6 -fpr 1e-6
//	go -C bench/papers run ./methods -memory 1e6 -fpr 0.2 -method sbf-paper -k 5 -cell-bits 1
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/flowdedup/flowdedup/engine/sizing"
)

func main() {
	err := run(os.Args[1:], os.Stdout)
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return
	case errors.Is(err, sizing.ErrQuestion):
		fmt.Fprintln(os.Stderr, "methods:", err)
	}
	os.Exit(2)
}

// kinds are the values of -kind, and keys the values of -key, by their place in package
// sizing.
var (
	kinds = []sizing.Kind{sizing.Unbounded, sizing.Landmark, sizing.Sliding, sizing.Count, sizing.Jumping}
	keys  = map[string]sizing.Key{"packets": sizing.Packets, "ipv4": sizing.IPv4, "other": sizing.Other}
)

// parse reads the command line. Errors that do not wrap sizing.ErrQuestion were printed.
func parse(args []string) (q sizing.Question, err error) {
	fs := flag.NewFlagSet("methods", flag.ContinueOnError)
	kind := fs.String("kind", "unbounded", "kind of window: unbounded, landmark, sliding, count, jumping")
	key := fs.String("key", "packets", "elements: packets, ipv4, other")
	fs.IntVar(&q.Parts, "parts", sizing.DefaultParts, "parts of a jumping window")
	fs.Float64Var(&q.Elements, "elements", 1<<24, "elements in the window, or the longest distance of repeats")
	fs.Float64Var(&q.Distinct, "distinct", 1, "share of new elements")
	fs.BoolVar(&q.Refresh, "refresh", false, "a repeat restarts the window")
	fs.IntVar(&q.MemoryBits, "memory", 0, "available bits (0: the least that is enough)")
	fs.Float64Var(&q.FPR, "fpr", 1e-9, "highest false positive rate")
	fs.Float64Var(&q.FNR, "fnr", 1e-4, "false negative rate that counts as none")
	var names []string
	for _, m := range sizing.Methods() {
		names = append(names, m.Name)
	}
	fs.StringVar(&q.Method, "method", "", "only this method, with these parameters: "+strings.Join(names, ", "))
	fs.IntVar(&q.Fixed.K, "k", 0, "hash functions")
	fs.IntVar(&q.Fixed.P, "p", 0, "cells that an element decrements")
	fs.IntVar(&q.Fixed.Cells, "cells", 0, "cells in a row")
	fs.IntVar(&q.Fixed.CellBits, "cell-bits", 0, "bits in a cell")
	if err := fs.Parse(args); err != nil {
		return q, err
	}
	var ok bool
	if q.Key, ok = keys[*key]; !ok {
		return q, fmt.Errorf("%w: -key %s", sizing.ErrQuestion, *key)
	}
	for _, k := range kinds {
		if k.String() == *kind {
			q.Kind = k
			return q, nil
		}
	}
	return q, fmt.Errorf("%w: -kind %s", sizing.ErrQuestion, *kind)
}

func run(args []string, out io.Writer) error {
	q, err := parse(args)
	if err != nil {
		return err
	}
	answer, err := sizing.Plan(q)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "method\tparameters\tbits\tneeds\tFPR\tFNR\tlines\tavailable")
	for i := range answer.Candidates {
		c := &answer.Candidates[i]
		verdict := where(c.Method)
		if !c.Meets {
			verdict += "; " + c.Why
		}
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%.3g\t%.3g\t%.3g\t%s\n", c.Method.Name, parameters(c), c.MemoryBits, c.NeededBits, c.FPR, c.FNR, c.Lines, verdict)
	}
	return table.Flush()
}

// parameters lists the parameters of a candidate.
func parameters(c *sizing.Candidate) string {
	var all []string
	for _, p := range c.Parameters {
		all = append(all, fmt.Sprintf("%s=%d", strings.ReplaceAll(p.Name, " ", "-"), p.Value))
	}
	return strings.Join(all, ",")
}

// where returns the form in which a method exists: in package engine, as published in
// engine/paper, or only as formulas.
func where(m *sizing.Method) string {
	switch {
	case m.Engine != "":
		return "library"
	case m.Reference != "":
		return "reference"
	}
	return "model"
}
