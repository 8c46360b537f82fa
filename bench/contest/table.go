// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
)

// sectionHeading begins the contest's part of bench/RESULTS.md.
const sectionHeading = "\n## Contest\n"

// text returns a verdict for people.
func (v *verdict) text(t *truth) string {
	return fmt.Sprintf(`records written          %d, of %d captured
packets lost             %d, of %d
  that repeat and stay   %d, of %d
copies left              %d, of %d
other bytes              %d
not captured, or twice   %d
out of order             %d
wrong checksums          %d, where right ones were captured
conversations two-sided  %d, of %d
  by VLAN and tunnel     %d
`, v.Records, len(t.records), v.Lost, t.packets, v.LostStay, t.stay, v.Copies, len(t.records)-t.packets,
		v.Changed, v.Unknown, v.Backwards, v.WrongSums, v.TwoSided, v.Talks, v.ByVLAN)
}

// section returns the contest's part of the page in Markdown.
func (c *contest) section() string {
	var p strings.Builder
	fmt.Fprintf(&p, "%s\nMade by `make bench SUITE=contest`%s. Counts are exact, and the same on any machine. "+
		"A cell has the packets that a program lost, and the copies that it left. Programs with fewer of both together come first. Their processor time is in the parts about CPUs. "+
		"[README.md](README.md#contest) says how the captures are made, and how to send a result for another program or device.\n\n", sectionHeading, c.origin())
	p.WriteString(c.summary())
	if len(c.missing) > 0 {
		fmt.Fprintf(&p, "\nNot installed: %s.\n", strings.Join(c.missing, ", "))
	}
	fmt.Fprintf(&p, "\n<details>\n<summary>All that the judge counts</summary>\n\n%s\n</details>\n", c.details())
	return p.String()
}

// origin names the revision, if it was given.
func (c *contest) origin() string {
	if c.revision == "" {
		return ""
	}
	return " from " + c.revision
}

// summary has a row for each program, the most correct first.
func (c *contest) summary() string {
	var p strings.Builder
	p.WriteString("| program | lost | left |")
	for _, one := range c.captures {
		fmt.Fprintf(&p, " %s |", one.kind)
	}
	p.WriteString("\n|---|" + strings.Repeat("---:|", len(c.captures)+2) + "\n| *packets, copies* |")
	packets, copies := 0, 0
	for _, t := range c.truths {
		packets, copies = packets+t.packets, copies+len(t.records)-t.packets
	}
	fmt.Fprintf(&p, " *%d* | *%d* |", packets, copies)
	for _, t := range c.truths {
		fmt.Fprintf(&p, " *%d, %d* |", t.packets, len(t.records)-t.packets)
	}
	p.WriteString("\n")
	for _, tool := range c.ranked() {
		lost, left, cells := 0, 0, ""
		for _, r := range c.results[tool] {
			if r.err != nil {
				cells += " fails |"
				continue
			}
			lost, left = lost+r.Lost, left+r.Copies
			cells += fmt.Sprintf(" %d, %d |", r.Lost, r.Copies)
		}
		fmt.Fprintf(&p, "| %s | %d | %d |%s\n", c.tools[tool].name, lost, left, cells)
	}
	return p.String()
}

// ranked orders programs by wrong answers. A program that cannot read a capture leaves every
// copy of it.
func (c *contest) ranked() []int {
	faults := func(tool int) (sum int) {
		for i, r := range c.results[tool] {
			sum += r.Lost + r.Copies
			if r.err != nil {
				sum += len(c.truths[i].records)
			}
		}
		return sum
	}
	order := make([]int, len(c.tools))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(faults(a), faults(b)) })
	return order
}

// details has a table for each capture.
func (c *contest) details() string {
	var p strings.Builder
	for i, one := range c.captures {
		t := c.truths[i]
		fmt.Fprintf(&p, "\n**%s**: %s; %d records, %d packets, %d that repeat others and must stay.", one.kind, one.what, len(t.records), t.packets, t.stay)
		if len(one.flags) > 0 {
			fmt.Fprintf(&p, " The manual's flags are `%s`.", strings.Join(one.flags, " "))
		}
		p.WriteString("\n\n| program | written | lost | must stay | left | other bytes | unknown | order | wrong checksums | two-sided | by VLAN |\n|---|" + strings.Repeat("---:|", 10) + "\n")
		for _, tool := range c.ranked() {
			r := c.results[tool][i]
			if r.err != nil {
				fmt.Fprintf(&p, "| %s | fails |%s\n", c.tools[tool].name, strings.Repeat(" |", 9))
				continue
			}
			fmt.Fprintf(&p, "| %s | %d | %d | %d | %d | %d | %d | %d | %d | %d of %d | %d |\n", c.tools[tool].name,
				r.Records, r.Lost, r.LostStay, r.Copies, r.Changed, r.Unknown, r.Backwards, r.WrongSums, r.TwoSided, r.Talks, r.ByVLAN)
		}
	}
	return p.String()
}

// replaceSection writes a section into a page: where the old one was, or before the first
// section.
func replaceSection(page, section string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	old := string(text)
	at := strings.Index(old, sectionHeading)
	if at < 0 {
		at = max(0, strings.Index(old, "\n## "))
		return os.WriteFile(page, []byte(old[:at]+section+old[at:]), 0o666)
	}
	rest := old[at+1:]
	if next := strings.Index(rest, "\n## "); next >= 0 {
		rest = rest[next:]
	} else {
		rest = ""
	}
	return os.WriteFile(page, []byte(old[:at]+section+rest), 0o666)
}
