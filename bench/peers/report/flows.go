// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"slices"
)

// jobTitles say what commands do with flow records.
var jobTitles = map[string]string{"count": "read and count", "write": "write as JSON", "listen": "receive"}

// flows returns the part about flow records, or "" if none were measured.
func (r *runs) flows() string {
	all := r.named("Flows")
	if len(all) == 0 {
		return ""
	}
	first, least := all[0], math.Inf(1) // the measuring process takes as much
	for _, b := range all {
		least = min(least, slices.Min(b.values["peak-MiB"]))
	}
	text := fmt.Sprintf("\nTwo exporters report each of %s flows; medians of %d rounds, in which all programs run in turn, at a load of %s before. "+
		"`$IN` is a capture of their datagrams, in %s, and `$IN.nf` what nfcapd made of it. Processor time is user and system, "+
		"as a multiple of the first command of a job. flowdedup finds the copies, goflow2 only decodes, and nfdump reads "+
		"its own files. Collectors get 4,000 datagrams a second; the sender's time is not in theirs. "+
		"The peak is the resident memory; less than %s MiB does not show.\n",
		whole(middle(first.values["packets"])/2), len(first.values["cpu-s"]), first.config("load"), first.config("place"), digits(least))
	for _, format := range valuesOf(all, "format") {
		t, of := table{head: []string{"job", "command", "CPU ns a record", "CPU s", "times", "peak MiB"}}, with(all, "format", format)
		for _, b := range of {
			job := with(of, "job", b.get("job"))
			name := ""
			if b == job[0] {
				name = jobTitles[b.get("job")]
			}
			perRecord := b.ratios("cpu-s", "packets", func(seconds, records float64) float64 { return seconds / records * 1e9 })
			t.rows = append(t.rows, []string{name, b.command(), digits(middle(perRecord)), b.metric("cpu-s", digits),
				digits(b.ratioTo(job[0])), b.metric("peak-MiB", digits)})
		}
		text += fmt.Sprintf("\n### %s\n\n%s records, %s MB.\n\n%s", of[0].config("traffic"), of[0].metric("packets", whole), of[0].metric("MB", digits), t.markdown())
	}
	return text
}
