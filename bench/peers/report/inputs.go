// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/flowdedup/flowdedup/bench/papers/chart"
)

// inputs returns the table of costs by the size of the input, below the chart if it has a name.
func (r *runs) inputs(chart string) string {
	all := r.named("Input")
	if len(all) == 0 {
		return ""
	}
	sizes := sizesOf(all)
	t := table{head: []string{"traffic", "command"}}
	for _, size := range sizes {
		t.head = append(t.head, digits(megabytes(size))+" MB")
	}
	for _, capture := range valuesOf(all, "capture") {
		traffic := with(all, "capture", capture)
		name := traffic[0].config("traffic")
		for _, command := range valuesOf(traffic, "command") {
			one := with(traffic, "command", command)
			row := []string{name, one[0].command()}
			for _, size := range sizes {
				row = append(row, costAt(with(one, "bytes", size)))
			}
			t.rows = append(t.rows, row)
			name = ""
		}
	}
	if chart != "" {
		chart = fmt.Sprintf("![nanoseconds a packet](charts/%s)\n\n", chart)
	}
	return fmt.Sprintf("\n#### By the size of the input\n\nNanoseconds a packet, and in brackets the peak in MiB. "+
		"Larger captures of the same traffic last longer.\n\n%s%s", chart, t.markdown())
}

// costAt returns a cell for the benchmark of one size, if there is one.
func costAt(one []*benchmark) string {
	if len(one) == 0 {
		return "-"
	}
	return fmt.Sprintf("%s (%s)", one[0].metric(perPacket, digits), one[0].metric("peak-MiB", digits))
}

// inputsSVG draws the costs by the size of the input, or returns "" if there are none.
func (r *runs) inputsSVG() (string, error) {
	all := r.named("Input")
	if len(all) == 0 {
		return "", nil
	}
	c := chart.Chart{Title: "Cost by the size of the input", X: "capture, MB", Y: "ns a packet", LogX: true, LogY: true}
	for _, capture := range valuesOf(all, "capture") {
		for _, command := range valuesOf(all, "command") {
			line := chart.Line{Name: command + ", " + capture}
			for _, b := range with(with(all, "capture", capture), "command", command) {
				if m, ok := b.median(perPacket); ok {
					line.X, line.Y = append(line.X, megabytes(b.get("bytes"))), append(line.Y, m)
				}
			}
			c.Lines = append(c.Lines, line)
		}
	}
	var svg strings.Builder
	err := c.SVG(&svg)
	return svg.String(), err
}
