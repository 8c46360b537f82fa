package main

import (
	"fmt"
	"io"

	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
)

// choice is a table to make.
type choice struct {
	experiment result.Experiment
	table      string
}

// choose returns the tables that are asked for by name or by paper, in the order
// of the experiments; all if none is.
func choose(all []result.Experiment, only []string) ([]choice, error) {
	var chosen []choice
	used := map[string]bool{}
	for _, e := range all {
		for _, table := range e.Tables {
			if len(only) == 0 || wanted(only, e.Paper, table, used) {
				chosen = append(chosen, choice{e, table})
			}
		}
	}
	for _, name := range only {
		if !used[name] {
			return nil, fmt.Errorf("%w: -only %s: no such paper or table; -list shows them", errUsage, name)
		}
	}
	return chosen, nil
}

// wanted reports whether a table is asked for, and notes by which name.
func wanted(only []string, paper, table string, used map[string]bool) bool {
	found := false
	for _, name := range only {
		if name == paper || name == table {
			used[name], found = true, true
		}
	}
	return found
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
