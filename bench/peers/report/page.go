// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// perElement is the unit of the commands' parts.
const perElement = "ns/element"

// baselineName is the benchmark that the others with lines are compared with.
const baselineName = "line LineBaseline"

const kernelsHeading = "\n### Parts\n"

// kernels returns the part about what commands are made of, or "" if none was measured. It is
// long, so it is folded.
func (r *runs) kernels() string {
	if !slices.ContainsFunc(r.all, func(b *benchmark) bool { return len(b.values[perElement]) > 0 }) {
		return ""
	}
	var p strings.Builder
	fmt.Fprintf(&p, "%s\nAll times are nanoseconds an element of one thread, medians of several rounds. %s\n", kernelsHeading, r.spread())
	fold(&p, "Kernels", "Filters by their memory; in brackets, how many times the [baseline](README.md#baselines)'s time, "+
		"as measured in the same rounds. "+
		"Digests are given and lie in the first cache.\n\n"+r.bySize("asm", true))
	fold(&p, "Digests", r.list("asm"))
	fold(&p, "Engines", "Digests (for ExactV4, addresses) are given.\n\n"+r.bySize("engine", false)+"\n"+r.list("engine"))
	fold(&p, "Other libraries", "Keys of 16 bytes are given, which everyone hashes; for addresses, 32-bit words. "+
		"Half of the elements repeat earlier ones. `times` compares with the first line of a group: a filter with greater "+
		"rates of wrong answers than that line does less for its time, one with smaller rates more. `fpr` is the share "+
		"of first sightings that were taken for repeats, `fnr` the share of repeats taken for first sightings; "+
		"0 means none of the measured ones, 16,384 elements or more.\n"+r.jobs())
	return p.String()
}

// fold writes a part of a section that readers unfold.
func fold(p *strings.Builder, summary, text string) {
	fmt.Fprintf(p, "\n<details>\n<summary>%s</summary>\n\n%s\n</details>\n", summary, text)
}

// spread returns the differences between rounds.
func (r *runs) spread() string {
	var spreads []float64
	rounds := 0
	for _, b := range r.all {
		values := b.values[perElement]
		if m, ok := b.median(perElement); ok && m > 0 {
			spreads = append(spreads, (slices.Max(values)-slices.Min(values))/m)
			rounds = max(rounds, len(values))
		}
	}
	if rounds < 2 {
		return "There was one round."
	}
	slices.Sort(spreads)
	return fmt.Sprintf("Over %d rounds at most, slowest and fastest lie %.0f %% of the median apart for half of the benchmarks, "+
		"and %.0f %% for nine of ten.", rounds, 100*spreads[len(spreads)/2], 100*spreads[len(spreads)*9/10])
}

// bySize returns a table of the benchmarks in the folders below top, with a column for each
// size.
func (r *runs) bySize(top string, withBaseline bool) string {
	cells, sizes, labels := map[[2]string]float64{}, []string{}, []string{}
	for _, b := range r.all {
		size := b.get("memory")
		folder, here := b.below(top)
		m, ok := b.median(perElement)
		if !here || size == "" || !ok {
			continue
		}
		label := b.label(folder+" "+b.base, "memory")
		cells[[2]string{label, size}] = m
		if !slices.Contains(sizes, size) {
			sizes = append(sizes, size)
		}
		if !slices.Contains(labels, label) {
			labels = append(labels, label)
		}
	}
	slices.SortFunc(sizes, func(a, b string) int { return cmp.Compare(kib(a), kib(b)) })
	slices.SortStableFunc(labels, func(a, b string) int { return cmp.Compare(baselineFirst(a), baselineFirst(b)) })
	t := table{head: []string{""}}
	for _, size := range sizes {
		t.head = append(t.head, sizeName(size))
	}
	for _, label := range labels {
		row := []string{label}
		for _, size := range sizes {
			m, ok := cells[[2]string{label, size}]
			baseline, baselineOK := cells[[2]string{baselineName, size}]
			row = append(row, sizeCell(m, ok, baseline, withBaseline && baselineOK && label != baselineName))
		}
		t.rows = append(t.rows, row)
	}
	return t.markdown()
}

// baselineFirst puts the baseline before the others.
func baselineFirst(label string) int {
	if label == baselineName {
		return 0
	}
	return 1
}

func kib(size string) int {
	n, _ := strconv.Atoi(strings.TrimSuffix(size, "KiB")) // names without a size come first
	return n
}

func sizeCell(m float64, ok bool, baseline float64, compare bool) string {
	switch {
	case !ok:
		return "-"
	case compare:
		return fmt.Sprintf("%s (%.1f)", digits(m), m/baseline)
	default:
		return digits(m)
	}
}

// list returns a table of the benchmarks without a size in the folders below top.
func (r *runs) list(top string) string {
	t := table{head: []string{"", perElement}}
	for _, b := range r.all {
		folder, here := b.below(top)
		if m, ok := b.median(perElement); ok && here && b.get("memory") == "" {
			t.rows = append(t.rows, []string{b.label(folder + " " + b.base), digits(m)})
		}
	}
	return t.markdown()
}

// jobs returns the tables of the other libraries, one for each job.
func (r *runs) jobs() string {
	var p strings.Builder
	var t table
	job, group, first := "", "", 0.0
	end := func() {
		if job != "" {
			fmt.Fprintf(&p, "\n#### %s\n\n%s", job, t.markdown())
		}
	}
	for _, b := range r.all {
		m, ok := b.median(perElement)
		if b.pkg != "bench/peers" || !ok {
			continue
		}
		if b.base != job {
			end()
			job, group, t = b.base, "", table{head: []string{"", "filter", perElement, "times", "fpr", "fnr", "MiB"}}
		}
		name := ""
		if g := b.label("", "filter"); g != group {
			group, name, first = g, g, m
		}
		t.rows = append(t.rows, []string{name, b.get("filter"), digits(m), fmt.Sprintf("%.1f", m/first),
			b.metric("fpr", rate), b.metric("fnr", rate), b.metric("held-MiB", digits)})
	}
	end()
	return p.String()
}

// metric returns a metric's median, written by format.
func (b *benchmark) metric(unit string, format func(float64) string) string {
	m, ok := b.median(unit)
	if !ok {
		return "-"
	}
	return format(m)
}

// rate writes a probability.
func rate(p float64) string { return fmt.Sprintf("%.2g", p) }

// digits writes a time or a size with about three significant digits.
func digits(x float64) string {
	switch {
	case x < 0.1:
		return fmt.Sprintf("%.2g", x)
	case x < 10:
		return fmt.Sprintf("%.2f", x)
	case x < 100:
		return fmt.Sprintf("%.1f", x)
	default:
		return fmt.Sprintf("%.0f", x)
	}
}

// table is a table of text. Its first column is aligned left, the others right.
type table struct {
	head []string
	rows [][]string
}

func (t table) markdown() string {
	if len(t.rows) == 0 {
		return "No results.\n"
	}
	var p strings.Builder
	line := func(cells []string) {
		p.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	line(t.head)
	p.WriteString("|---" + strings.Repeat("|---:", len(t.head)-1) + "|\n")
	for _, row := range t.rows {
		line(row)
	}
	return p.String()
}
