// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// contest runs all programs on all captures.
type contest struct {
	packets, large, rounds int
	revision               string // as the page names it
	tools                  []tool
	missing                []string // names of programs that are not installed
	captures               []capture
	truths                 []*truth
	results                [][]result // by tool and capture
}

// leaveOut removes programs that are not installed.
func (c *contest) leaveOut() {
	c.tools = slices.DeleteFunc(slices.Clone(c.tools), func(t tool) bool {
		if !t.there() {
			c.missing = append(c.missing, t.name)
		}
		return !t.there()
	})
}

// judge makes the captures in a folder, and fills in the results.
func (c *contest) judge(dir, pcaps string) error {
	made, err := makeAll(dir, c.packets)
	if err != nil {
		return err
	}
	filmed, err := realCaptures(pcaps)
	if err != nil {
		return err
	}
	c.captures = append(made, filmed...)
	c.results = make([][]result, len(c.tools))
	for i := range c.captures {
		one := &c.captures[i]
		known, err := newTruth(one.file, one.list)
		if err != nil {
			return err
		}
		c.truths = append(c.truths, known)
		for j := range c.tools {
			r := c.tools[j].try(one, known, dir)
			if r.err != nil {
				fmt.Fprintln(os.Stderr, r.err)
			}
			c.results[j] = append(c.results[j], r)
		}
	}
	return nil
}

// measure takes the processor time of all programs in turn, in several rounds, and prints
// each in the form of go test -bench. bench/peers/report makes a table of them.
func (c *contest) measure(dir string, out io.Writer) error {
	if c.large == 0 {
		return nil
	}
	large, err := makeMixed(dir, c.large)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(out, "pkg: github.com/flowdedup/flowdedup/bench/contest"); err != nil {
		return err
	}
	output := filepath.Join(dir, "out.pcap")
	for range c.rounds {
		for i := range c.tools {
			took, err := c.tools[i].run(&large, output)
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				continue
			}
			if _, err := fmt.Fprintf(out, "program: %s\nBenchmarkContest/program=%d 1 %.5g cpu-s %d packets\n",
				c.tools[i].name, i, took.Seconds(), c.large); err != nil {
				return err
			}
		}
	}
	return nil
}
