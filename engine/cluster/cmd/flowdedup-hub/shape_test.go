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
