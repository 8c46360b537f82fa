// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/commands"
)

// TestRules breaks each rule of each command's flags, and checks for exit code 2 and a line
// that names both flags and says why.
func TestRules(t *testing.T) {
	in := clitest.Bundled("router-plain.pcapng")
	begin := map[string][]string{
		"dedup": {in}, "distinct": {in}, "live": {"-i", "lo"}, "inspect": {in}, "compare": {in, in}, "verify": {in, in}, "flows": {in}, "plan": nil,
	}
	broken, asked := map[string]bool{}, map[string]bool{}
	for _, cmd := range commands.Root().Commands() {
		args, ours := begin[cmd.Name()]
		rules := cli.Rules(cmd.Flags())
		if !ours && len(rules) > 0 {
			t.Errorf("%s has rules that nobody breaks", cmd.Name())
		}
		for i, r := range rules {
			if r.Needs && slices.Contains(r.Others, "interface") && cmd.Name() == "live" {
				continue // live never runs without
			}
			for _, other := range r.Others {
				text := fmt.Sprint(r.Flag, r.Needs, other)
				asked[text] = true
				line, ok := breaking(t, cmd, &rules[i], other)
				for _, before := range rules[:i] { // which are kept
					if r.Needs && before.Needs && before.Flag == r.Flag && !strings.Contains(before.Others[0], "=") {
						line = append(line, given(t, cmd, before.Others[0], ""))
					}
				}
				if !ok {
					continue // no value of this command
				}
				broken[text] = true
				out, errs, code := clitest.Run(slices.Concat([]string{cmd.Name()}, args, line)...)
				if code != cli.ExitUsage || out != "" || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, r.Why) ||
					!names(errs, cmd, r.Flag) || !names(errs, cmd, other) {
					t.Errorf("%s %q: exit code %d, stdout %q, stderr %q", cmd.Name(), line, code, out, errs)
				}
			}
		}
	}
	for text := range asked {
		if !broken[text] {
			t.Errorf("no command breaks %s", text)
		}
	}
	if len(broken) < 90 {
		t.Errorf("%d rules", len(broken))
	}
}

// names reports whether a message names the flag of a condition.
func names(message string, cmd *cobra.Command, condition string) bool {
	name, _, _ := strings.Cut(condition, "=")
	words := strings.Fields(strings.NewReplacer(":", " ", ",", " ").Replace(message))
	return slices.Contains(words, "--"+name) || slices.Contains(words, "-"+cmd.Flags().Lookup(name).Shorthand)
}

// breaking returns flags that break a rule: a flag without the flag that it needs, or with the
// flag that it excludes. ok is false if the command has no such value.
func breaking(t *testing.T, cmd *cobra.Command, r *cli.Rule, other string) (line []string, ok bool) {
	t.Helper()
	line = []string{given(t, cmd, r.Flag, "")}
	name, values, valued := strings.Cut(other, "=")
	f := cmd.Flags().Lookup(name)
	switch {
	case r.Needs && !valued:
		return line, true
	case !r.Needs && !valued:
		return append(line, given(t, cmd, name, "")), true
	case !r.Needs:
		value, _, _ := strings.Cut(values, ",")
		return append(line, given(t, cmd, name, value)), f.Value.Set(value) == nil
	}
	complete, _ := cmd.GetFlagCompletionFunc(name)
	words, _ := complete(cmd, nil, "")
	at := slices.IndexFunc(words, func(w string) bool { return w != "auto" && !slices.Contains(strings.Split(values, ","), w) })
	return append(line, given(t, cmd, name, words[at])), true
}

// samples are values of flags, by the name of the value in help.
var samples = map[string]string{
	"duration": "1s", "size": "1MiB", "N": "1", "hex": clitest.Key, "bytes": "96", "ADDRESS": "udp://127.0.0.1:9", "EXPR": "arp",
	"MB": "1", "seconds": "1", "KiB": "4096", "rate": "1M", "speed": "1Gb/s", "number": "5", "IFACE": "lo", "name": "roof", "names": "K=3", "probability": "1e-9", "fields": "src=client,dst=server", "layout": "%Y-%m-%d %H:%M", "zone": "UTC", "share": "60%", "seed": "1", "NAME": "roof", "TOKEN": "fd1:x",
}

// given returns a flag with a value: the given value, else a value that help or completion names.
func given(t *testing.T, cmd *cobra.Command, name, value string) string {
	t.Helper()
	f := cmd.Flags().Lookup(name)
	if f.Value.Type() == "bool" {
		return "--" + name
	}
	kind, _ := pflag.UnquoteUsage(f)
	complete, found := cmd.GetFlagCompletionFunc(name)
	sample, has := samples[kind]
	switch {
	case value != "":
	case found:
		words, _ := complete(cmd, nil, "")
		value = words[0]
	case has:
		value = sample
	case kind == "FILE" || kind == "DIR":
		value = filepath.Join(t.TempDir(), "file")
	default:
		t.Fatalf("--%s: no value of the kind %s", name, kind)
	}
	return "--" + name + "=" + value
}

// TestSetAgain gives each flag of each command a value, and several to flags that may be
// repeated. What ValuesOf returns sets the flag of a second run to the same values.
func TestSetAgain(t *testing.T) {
	checked := 0
	for at, cmd := range commands.Root().Commands() {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Name == "help" {
				return
			}
			_, value, valued := strings.Cut(given(t, cmd, f.Name, ""), "=")
			if !valued {
				value = "false" // of a switch
			}
			uses := []string{value}
			if complete, found := cmd.GetFlagCompletionFunc(f.Name); found && slices.Contains(added, f.Name) {
				words, _ := complete(cmd, nil, "")
				uses = words[:min(2, len(words))]
			}
			if kind, _ := pflag.UnquoteUsage(f); kind == "EXPR" && f.Name != "filter" { // words begin conditions
				uses = []string{"udp", "tcp port 80"}
			}
			set := func(values []string) []string {
				again := commands.Root().Commands()[at]
				for _, v := range values {
					if err := again.Flags().Set(f.Name, v); err != nil && len(uses) == 1 {
						t.Errorf("%s --%s %q: %v", cmd.Name(), f.Name, v, err)
					}
				}
				return cli.ValuesOf(again.Flags().Lookup(f.Name))
			}
			first := set(uses)
			if again := set(first); !slices.Equal(again, first) || !strings.Contains(strings.Join(first, ","), uses[0]) {
				t.Errorf("%s --%s: given %q, then %q, then %q", cmd.Name(), f.Name, uses, first, again)
			}
			checked++
		})
	}
	if checked < 150 {
		t.Errorf("%d flags", checked)
	}
	in := clitest.Bundled("router-plain.pcapng")
	for _, line := range []string{
		"flowdedup flows --listen :2055 --listen tcp-listen://:4739", "flowdedup dedup --prefer udp --prefer 'tcp port 80' in.pcap", "flowdedup dedup -- -in.pcap", "flowdedup dedup -",
	} {
		args := clitest.WordsOf(strings.ReplaceAll(line, "'tcp port 80'", "EXPR"), "EXPR", "tcp port 80")
		cmd, rest, err := commands.Root().Find(args[1:])
		if err == nil {
			err = cmd.ParseFlags(rest)
		}
		if got := cli.NewOrigin(cmd, []string{in}).Command; err != nil || got != line {
			t.Errorf("%s: %v, and the page has %s", line, err, got)
		}
	}
}
