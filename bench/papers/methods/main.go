// SPDX-License-Identifier: Apache-2.0

// Command methods prints predictions for every method of package models that can express a
// window: the published filters, and the library's filters for measurements. Parameters of one
// method can be given. "flowdedup plan" predicts what its commands run by default.
//
//	go -C bench/papers run ./methods -kind jumping -elements 1e6 -fpr 1e-6
//	go -C bench/papers run ./methods -memory 1e6 -fpr 0.2 -method sbf-paper -k 5 -cell-bits 1
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/flowdedup/flowdedup/bench/papers/internal/models"
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

// kinds are the values of -kind, by names, and keys the values of -key.
var (
	kinds = []sizing.Kind{sizing.Unbounded, sizing.Landmark, sizing.Sliding, sizing.Count, models.Jumping}
	names = []string{"unbounded", "landmark", "sliding", "count", "jumping"}
	keys  = map[string]sizing.Key{"packets": sizing.Packets, "ipv4": sizing.IPv4, "other": sizing.Other}
)

// parse reads the command line. Errors that do not wrap sizing.ErrQuestion were printed.
func parse(args []string) (q models.Question, err error) {
	fs := flag.NewFlagSet("methods", flag.ContinueOnError)
	kind := fs.String("kind", "unbounded", "kind of window: "+strings.Join(names, ", "))
	key := fs.String("key", "packets", "elements: packets, ipv4, other")
	fs.IntVar(&q.Parts, "parts", models.DefaultParts, "parts of a jumping window")
	fs.Float64Var(&q.Elements, "elements", 1<<24, "elements in the window, or the longest distance of repeats")
	fs.Float64Var(&q.Distinct, "distinct", 1, "share of new elements")
	fs.BoolVar(&q.Refresh, "refresh", false, "a repeat restarts the window")
	fs.IntVar(&q.MemoryBits, "memory", 0, "available bits (0: the least that is enough)")
	fs.Float64Var(&q.FPR, "fpr", 1e-9, "highest false positive rate")
	fs.Float64Var(&q.FNR, "fnr", 1e-4, "false negative rate that counts as none")
	var all []string
	for _, m := range models.Methods() {
		all = append(all, m.Name)
	}
	fs.StringVar(&q.Method, "method", "", "only this method, with these parameters: "+strings.Join(all, ", "))
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
	if i := slices.Index(names, *kind); i >= 0 {
		q.Kind = kinds[i]
		return q, nil
	}
	return q, fmt.Errorf("%w: -kind %s", sizing.ErrQuestion, *kind)
}

func run(args []string, out io.Writer) error {
	q, err := parse(args)
	if err != nil {
		return err
	}
	candidates, err := models.Plan(q)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "method\tparameters\tbits\tneeds\tFPR\tFNR\tlines\tavailable")
	for i := range candidates {
		c := &candidates[i]
		verdict := where(c.Method)
		if c.Why != "" {
			verdict += "; " + c.Why
		}
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%.3g\t%.3g\t%.3g\t%s\n", c.Method.Name, parameters(c), c.Bits, c.NeededBits, c.FPR, c.FNR, c.Lines, verdict)
	}
	return table.Flush()
}

// parameters lists the parameters of a candidate.
func parameters(c *models.Candidate) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(c.Parameters)) {
		all = append(all, fmt.Sprintf("%s=%d", strings.ReplaceAll(name, " ", "-"), c.Parameters[name]))
	}
	return strings.Join(all, ",")
}

// where returns the form in which a method exists: in package engine, as published in
// engine/paper, or only as formulas.
func where(m *models.Method) string {
	switch {
	case m.Engine != "":
		return "library"
	case m.Reference != "":
		return "reference"
	}
	return "model"
}
