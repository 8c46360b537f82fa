// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// perPacket is the unit that commands are compared in: slow ones had fewer packets.
const perPacket = "ns/packet"

const pipelineHeading = "\n### Whole commands\n"

// pipeline returns the part about whole commands, or "" if none was measured.
func (r *runs) pipeline(chart string) string {
	tools := r.named("Pipeline")
	if len(tools) == 0 {
		return ""
	}
	var p strings.Builder
	config := tools[0].config
	fmt.Fprintf(&p, "%s\nCommands are started by `bash -o pipefail`, all of them in turn in each round; medians of %d. "+
		"`$IN` is a capture in %s, and `out` an empty folder next to it. CPU seconds count all programs of a command "+
		"together, user and system; the peak is the resident memory of the largest one, where less than %s does not show. "+
		"`cat`, `cp` and `times` give the time of a packet as a multiple of the time that `cat` to `/dev/null`, `cp` "+
		"and the first command of the same job take. `baseline-file` is the [baseline](README.md#baselines); with an output it writes all packets. "+
		"Tools that are too slow for the whole capture had a shorter one of the same traffic. "+
		"Not all of a job's commands find the same: `editcap` compares whole frames, so it finds no copy with another "+
		"TTL, VLAN or address, and with `-d` it compares with four frames back only.\n",
		pipelineHeading, len(tools[0].values[perPacket]), config("place"), config("lowest-peak"))
	for _, capture := range valuesOf(tools, "capture") {
		p.WriteString(captureTable(with(tools, "capture", capture)))
	}
	p.WriteString(r.inputs(chart))
	return p.String()
}

// captureTable returns the times of all commands for one capture.
func captureTable(all []*benchmark) string {
	t := table{head: []string{"job", "command", "packets", "million/s", "wall s", "CPU s", "peak MiB", "cat", "cp", "times"}}
	cat, cp := with(all, "command", "cat"), with(all, "command", "cp")
	job, first := "", all[:1]
	for _, b := range all {
		name := ""
		if j := b.get("job"); j != job {
			job, name, first = j, j, []*benchmark{b}
		}
		rate, _ := b.median("packets/s")
		t.rows = append(t.rows, []string{name, b.command(), b.metric("packets", whole), digits(rate / 1e6),
			b.metric("wall-s", digits), b.metric("cpu-s", digits), b.metric("peak-MiB", digits),
			b.times(cat), b.times(cp), b.times(first)})
	}
	return fmt.Sprintf("\n#### %s\n\n%s packets, %s MB.\n\n%s", all[0].config("traffic"),
		all[0].metric("packets", whole), all[0].metric("MB", digits), t.markdown())
}

// times returns the time of a packet as a multiple of the time of the first of others.
func (b *benchmark) times(others []*benchmark) string {
	if len(others) == 0 {
		return "-"
	}
	m, ok := b.median(perPacket)
	other, otherOK := others[0].median(perPacket)
	if !ok || !otherOK {
		return "-"
	}
	return digits(m / other)
}

// command returns the line that was run, for a cell.
func (b *benchmark) command() string {
	return "`" + strings.ReplaceAll(b.config("command"), "|", `\|`) + "`"
}

// named returns the benchmarks of a name.
func (r *runs) named(base string) []*benchmark {
	return slices.DeleteFunc(slices.Clone(r.all), func(b *benchmark) bool { return b.base != base })
}

// with returns the benchmarks whose name has a part with the given value.
func with(all []*benchmark, key, value string) []*benchmark {
	return slices.DeleteFunc(slices.Clone(all), func(b *benchmark) bool { return b.get(key) != value })
}

// valuesOf returns the values of a part of the names, in order of their appearance.
func valuesOf(all []*benchmark, key string) []string {
	var values []string
	for _, b := range all {
		if value := b.get(key); !slices.Contains(values, value) {
			values = append(values, value)
		}
	}
	return values
}

// whole writes a number with a comma before each thousand.
func whole(x float64) string {
	text := strconv.FormatFloat(x, 'f', 0, 64)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// sizesOf returns the sizes of inputs, the smallest first.
func sizesOf(all []*benchmark) []string {
	sizes := valuesOf(all, "bytes")
	slices.SortFunc(sizes, func(a, b string) int { return cmp.Compare(megabytes(a), megabytes(b)) })
	return sizes
}

// megabytes reads a number of bytes; other texts count as 0.
func megabytes(bytes string) float64 {
	n, _ := strconv.ParseFloat(bytes, 64)
	return n / 1e6
}
