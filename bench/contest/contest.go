// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// contest runs all programs on all captures.
type contest struct {
	packets, large, rounds int
	revision, machine      string // as the page names them
	tools                  []tool
	missing                []string // names of programs that are not installed
	captures               []capture
	truths                 []*truth
	results                [][]result        // by tool and capture
	times                  [][]time.Duration // by tool, one for each round; none where the program failed
}

// run makes the captures in a folder, and fills in the results.
func (c *contest) run(dir, pcaps string) error {
	made, err := makeAll(dir, c.packets)
	if err != nil {
		return err
	}
	filmed, err := realCaptures(pcaps)
	if err != nil {
		return err
	}
	c.captures = append(made, filmed...)
	c.tools = slices.DeleteFunc(slices.Clone(c.tools), func(t tool) bool {
		if !t.there() {
			c.missing = append(c.missing, t.name)
		}
		return !t.there()
	})
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
	if c.large == 0 {
		return nil
	}
	return c.measure(dir)
}

// measure takes the processor time of all programs in turn, in several rounds.
func (c *contest) measure(dir string) error {
	large, err := makeMixed(dir, c.large)
	if err != nil {
		return err
	}
	c.times = make([][]time.Duration, len(c.tools))
	output := filepath.Join(dir, "out.pcap")
	for range c.rounds {
		for j := range c.tools {
			took, err := c.tools[j].run(&large, output)
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				continue
			}
			c.times[j] = append(c.times[j], took)
		}
	}
	return nil
}

// cost returns a tool's processor time as a multiple of the first tool's: the median of
// the ratios of the rounds. ok is false where it was not measured.
func (c *contest) cost(tool int) (ratio float64, ok bool) {
	if c.times == nil || len(c.times[tool]) != c.rounds || len(c.times[0]) != c.rounds {
		return 0, false
	}
	ratios := make([]float64, c.rounds)
	for i, took := range c.times[tool] {
		ratios[i] = float64(took) / float64(c.times[0][i])
	}
	slices.Sort(ratios)
	return (ratios[(len(ratios)-1)/2] + ratios[len(ratios)/2]) / 2, true
}
