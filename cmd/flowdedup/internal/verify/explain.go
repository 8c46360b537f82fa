// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/flowdedup/flowdedup/capture/identity"
)

// stripped are the headers that explain tries, the most usual ones first.
var stripped = []string{"vlan", "tunnel", "vlan,tunnel", "mpls", "pppoe", "vlan,mpls", "vlan,mpls,pppoe", "vlan,mpls,pppoe,tunnel", "arista"}

// explain looks for other flags with which an output is right that is not so with the given ones.
// Nobody knows then whether the output is right: its differences become unknown. It reads the
// captures again for each try, so it takes files only.
func (f *flags) explain(cmd *cobra.Command, cfg *config, s *summary) {
	for _, name := range cfg.files() {
		if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
			return
		}
	}
	given := func(names ...string) bool { return slices.ContainsFunc(names, cmd.Flags().Changed) }
	var words []string
	at, report := *cfg, *s
	// try runs with other settings, and keeps them if that is better.
	try := func(c config, better func(*summary) bool, flag string) {
		if r, err := run(cmd.Context(), &c); err == nil && better(&r) {
			at, report, words = c, r, append(words, flag)
		}
	}
	known := func(r *summary) bool { return r.Foreign == 0 }
	right := func(r *summary) bool { return r.Same }
	if c := at; c.Duplicates != "" && len(c.Inputs) == 1 && !given("read") && cmd.ArgsLenAtDash() < 0 && report.Foreign > 0 {
		c.Inputs, c.Output, c.Duplicates = []string{c.Inputs[0], c.Output}, c.Duplicates, ""
		try(c, known, "-- before the output")
	}
	for _, names := range stripped {
		if c := at; report.Foreign > 0 && !given("strip", "for") {
			c.Headers = strings.Split(names, ",")
			try(c, known, "--strip "+names)
		}
	}
	changes := []struct {
		flag  string
		given bool
		set   func(*config)
	}{
		{"--identity inner", given("identity"), func(c *config) { c.Identity.Kind = identity.Inner }},
		{"--window 1s", given("window"), func(c *config) { c.Window, c.Tolerance = time.Second, usualTolerance }},
		{"--ignore l4-checksum", given("ignore", "for"), func(c *config) { c.Identity.Ignore = identity.IgnoreAlso(identity.L4Checksum) }},
	}
	for some := 1; some < 1<<len(changes) && report.Foreign == 0 && !report.Same; some++ {
		c, flags, tried := at, []string(nil), true
		for i := range changes {
			if one := &changes[i]; some>>i&1 != 0 {
				one.set(&c)
				flags, tried = append(flags, one.flag), tried && !one.given
			}
		}
		if tried {
			try(c, right, strings.Join(flags, " "))
		}
	}
	if !report.Same || len(words) == 0 {
		return
	}
	fits := strings.Join(words, " and ")
	report.Fits, report.Unknown, report.Same = &fits, max(s.Lost, s.Foreign), false
	*s = report
}
