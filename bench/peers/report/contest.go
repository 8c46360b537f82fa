// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"slices"
)

const contestTimes = "\n### Processor time in the contest\n"

// contest returns the part about the programs of the contest, or "" if none was measured.
func (r *runs) contest() string {
	all := r.named("Contest")
	if len(all) == 0 {
		return ""
	}
	first := all[0]
	slices.SortStableFunc(all, func(a, b *benchmark) int { return cmp.Compare(a.ratioTo(first), b.ratioTo(first)) })
	t := table{head: []string{"program", "CPU s", "times"}}
	for _, b := range all {
		t.rows = append(t.rows, []string{b.config("program"), b.metric("cpu-s", digits), digits(b.ratioTo(first))})
	}
	return fmt.Sprintf("%s\nProcessor time for %s records of `mixed`, user and system; medians of %d, all programs in turn in each round. "+
		"`times` is the median of the rounds' ratios to `%s`. flowdedup does the same here by default and with the flags of the manual, "+
		"so others may be off by as much as these two differ.\n\n%s",
		contestTimes, first.metric("packets", whole), len(first.values["cpu-s"]), first.config("program"), t.markdown())
}

// ratioTo returns the median of the rounds' ratios of processor time. A program that failed
// in some rounds has as many ratios as results.
func (b *benchmark) ratioTo(first *benchmark) float64 {
	mine, others := b.values["cpu-s"], first.values["cpu-s"]
	ratios := make([]float64, min(len(mine), len(others)))
	for i := range ratios {
		ratios[i] = mine[i] / others[i]
	}
	return middle(ratios)
}
