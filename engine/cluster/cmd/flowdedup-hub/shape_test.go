// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"slices"
	"testing"

	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/engine/cluster/chain"
	"github.com/flowdedup/flowdedup/engine/cluster/hub"
)

// TestShapeFlags restarts a hub with other flags: settings without a flag stay.
func TestShapeFlags(t *testing.T) {
	s := hub.Settings{Slices: 64, WindowUS: 10_000}
	for i, c := range []struct {
		args    []string
		want    string
		slices  int
		invalid bool
	}{
		{nil, "rows", 64, false},
		{[]string{"--slices", "8"}, "rows", 8, true},
		{[]string{"--filter", "bloom"}, "horizontal 8, bloom, 4 hash functions, test-and-set", 8, true},
		{[]string{"--grow", "density"}, "horizontal 8, bloom, 4 hash functions, test-and-set, grows by density", 8, true},
		{[]string{"--grow-at", "0.02"}, "horizontal 8, bloom, 4 hash functions, test-and-set, grows by density", 8, true},
		{[]string{"--grow", "density", "--grow-limit", "1GiB"}, "horizontal 8, bloom, 4 hash functions, test-and-set, grows by density", 8, false},
		{[]string{"--filter", "events", "--events", "1000"}, "horizontal 8, events, 4 hash functions, first-test-then-set", 8, true},
		{[]string{"--filter", "bloom"}, "horizontal 8, bloom, 4 hash functions, test-and-set", 8, true},
		{[]string{"--grow", "cardinality"}, "horizontal 8, bloom, 4 hash functions, test-and-set, grows by cardinality", 8, true},
		{[]string{"--grow", "never"}, "horizontal 8, bloom, 4 hash functions, test-and-set", 8, true},
		{[]string{"--layout", "vertical"}, "vertical 8, bloom, 4 hash functions, test-and-set", 8, true},
		{nil, "vertical 8, bloom, 4 hash functions, test-and-set", 8, false},
		{[]string{"--hashes", "6", "--slices", "5"}, "vertical 5, bloom, 6 hash functions, test-and-set", 5, true},
		{[]string{"--filter", "timers", "--timers", "equal"}, "vertical 5, timers, 6 hash functions, first-test-then-set", 5, true},
		{[]string{"--grow", "density"}, "vertical 5, timers, 6 hash functions, first-test-then-set, grows by density", 5, true},
		{[]string{"--grow", "never"}, "vertical 5, timers, 6 hash functions, first-test-then-set", 5, true},
		{[]string{"--lost", "2", "--layout", "hv", "--slices", "3,4"}, "hv 3,4, timers, 6 hash functions, first-test-then-set", 12, true},
		{[]string{"--layout", "vh"}, "vh 4,4, timers, 6 hash functions, first-test-then-set", 16, true},
		{[]string{"--layout", "vh"}, "vh 4,4, timers, 6 hash functions, first-test-then-set", 16, false},
		{[]string{"--filter", "rows", "--layout", "horizontal"}, "rows", 64, true},
		// S_f: f/(1-(1-most)^(1/k)) = 2/(1-0.95^(1/4)) = 156.98 by misses, and with horizontal slices
		// 2/0.05.
		{[]string{"--filter", "bloom", "--layout", "vertical", "--tolerate", "2,0.05"}, "vertical 157, bloom, 4 hash functions, test-and-set", 157, true},
		{[]string{"--layout", "horizontal", "--tolerate", "2,0.05"}, "horizontal 40, bloom, 4 hash functions, test-and-set", 40, true},
	} {
		var f shapeFlags
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		f.define(flags)
		if err := flags.Parse(c.args); err != nil {
			t.Fatal(err)
		}
		invalid, err := f.apply(flags.Changed, &s)
		if err != nil {
			t.Fatalf("%d: %v", i, err)
		}
		if got := s.Shape.String(); got != c.want || s.Slices != c.slices || invalid != c.invalid {
			t.Errorf("%q: %s, %d slices, invalid %v, want %+v", c.args, got, s.Slices, invalid, c)
		}
		switch s.Shape.Filter {
		case chain.Timers:
			if s.Shape.Equal != 6 || s.Shape.WindowUS != s.WindowUS || s.Shape.AtLeast != 6 && s.Shape.AtLeast != 2 {
				t.Errorf("%q: %+v", c.args, s.Shape)
			}
		case chain.Bloom:
			if s.Shape.AtLeast != s.Shape.Hashes { // open
				t.Errorf("%q: %+v", c.args, s.Shape)
			}
		}
		if g := s.Shape; (g.Grow != "") != (g.FPR > 0) || (g.Grow != "") != (g.Limit == 1<<30) {
			t.Errorf("%q: %+v", c.args, g)
		}
		if slices.Contains(c.args, "--lost") && s.Shape.AtLeast != 2 {
			t.Errorf("%q: %+v", c.args, s.Shape)
		}
	}
}

// TestShapeUsage has flags that do not go together be refused.
func TestShapeUsage(t *testing.T) {
	for _, args := range [][]string{
		{"--filter", "events", "--grow", "density"}, {"--filter", "bloom", "--grow", "slowly"}, {"--filter", "bloom", "--grow-at", "0.1"},
		{"--filter", "bloom", "--grow", "density", "--grow-at", "1"}, {"--filter", "bloom", "--grow", "density", "--grow-limit", "1KiB"},
		{"--filter", "bloom", "--grow", "density", "--grow-limit", "much"}, {"--filter", "bloom", "--grow", "density", "--grow-limit", "5GiB"},
		{"--filter", "bloom", "--tolerate", "2"}, {"--filter", "bloom", "--tolerate", "2,1.5"}, {"--filter", "bloom", "--tolerate", "0,0.1"},
		{"--filter", "bloom", "--tolerate", "2,0.1", "--slices", "4"}, {"--filter", "bloom", "--lost", "2", "--tolerate", "2,0.1"},
		{"--filter", "bloom", "--layout", "hv", "--tolerate", "2,0.1"}, {"--filter", "bloom", "--lost", "closed", "--tolerate", "2,0.005"},
		{"--tolerate", "2,0.1"}, {"--filter", "bloom", "--tolerate", "900,0.01"},
		{"--grow", "density"}, {"--filter", "bloom", "--size", "much"}, {"--filter", "bloom", "--events", "5"},
	} {
		var f shapeFlags
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		f.define(flags)
		if err := flags.Parse(args); err != nil {
			t.Fatal(err)
		}
		s := hub.Settings{Slices: 64, WindowUS: 10_000}
		if _, err := f.apply(flags.Changed, &s); !errors.As(err, new(usageError)) || !s.Shape.Rows() {
			t.Errorf("%q: %v, %v", args, err, s.Shape)
		}
	}
}

// TestTolerate compares the number of slices with an example of the paper: vertical slices need less
// than 20, and horizontal ones more than 30, to keep 2 % within 15 % with 4 of them lost.
func TestTolerate(t *testing.T) {
	for layout, want := range map[string]int{chain.Vertical: 11, chain.Horizontal: 31} {
		var f shapeFlags
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		f.define(flags)
		args := []string{"--filter", "bloom", "--layout", layout, "--lost", "closed", "--grow", "density", "--grow-at", "0.02", "--tolerate", "4,0.15"}
		if err := flags.Parse(args); err != nil {
			t.Fatal(err)
		}
		s := hub.Settings{Slices: 64, WindowUS: 10_000}
		if _, err := f.apply(flags.Changed, &s); err != nil || s.Slices != want {
			t.Errorf("%s: %d slices, %v, want %d", layout, s.Slices, err, want)
		}
	}
}
