// SPDX-License-Identifier: Apache-2.0

package main

import "fmt"

// options returns the part about options beside plain commands, or "" if none were measured.
func (r *runs) options() string {
	all := r.named("Paths")
	if len(all) == 0 {
		return ""
	}
	first := all[0]
	text := fmt.Sprintf("\nWhat is combined with plain `dedup` and `distinct`, of %s frames of 64 bytes, %s MB in %s; medians of %d rounds, in which all commands run in turn, at a load of %s before. "+
		"Processor time is user and system, as a multiple of the plain command. `verify` and `compare` read two captures. The peak is the resident memory.\n",
		first.metric("packets", whole), first.metric("MB", digits), first.config("place"), len(first.values["cpu-s"]), first.config("load"))
	for _, job := range valuesOf(all, "job") {
		t, of := table{head: []string{"command", "CPU ns a packet", "times", "peak MiB"}}, with(all, "job", job)
		for _, b := range of {
			perPacket := b.ratios("cpu-s", "packets", func(seconds, packets float64) float64 { return seconds / packets * 1e9 })
			t.rows = append(t.rows, []string{b.command(), digits(middle(perPacket)), digits(b.ratioTo(of[0])), b.metric("peak-MiB", digits)})
		}
		text += fmt.Sprintf("\n### %s\n\n%s", job, t.markdown())
	}
	return text
}
