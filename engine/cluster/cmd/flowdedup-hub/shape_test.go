// SPDX-License-Identifier: Apache-2.0

package main

import (
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
		{[]string{"--layout", "vertical"}, "vertical 8, bloom, 4 hash functions, test-and-set", 8, true},
		{nil, "vertical 8, bloom, 4 hash functions, test-and-set", 8, false},
		{[]string{"--hashes", "6", "--slices", "5"}, "vertical 5, bloom, 6 hash functions, test-and-set", 5, true},
		{[]string{"--filter", "timers", "--timers", "equal"}, "vertical 5, timers, 6 hash functions, first-test-then-set", 5, true},
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
		if slices.Contains(c.args, "--lost") && s.Shape.AtLeast != 2 {
			t.Errorf("%q: %+v", c.args, s.Shape)
		}
	}
}
