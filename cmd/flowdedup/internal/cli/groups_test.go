package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestGroups wants each flag of our commands under a heading, where --help has it once.
func TestGroups(t *testing.T) {
	for _, cmd := range newRoot(&env{}).Commands() {
		if !hasGroups(cmd.LocalFlags()) {
			continue
		}
		long, _, _ := run(cmd.Name(), "--help")
		short, _, _ := run(cmd.Name(), "-h")
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			name := "--" + f.Name + " "
			lines := func(text string) int {
				return strings.Count(text, "\n      "+name) + strings.Count(text, "\n  -"+f.Shorthand+", "+name)
			}
			group := groupOf(f)
			if group == groupNone || !slices.Contains(flagGroups, group) || lines(long) != 1 {
				t.Errorf("%s --%s: group %q, %d lines of --help", cmd.Name(), f.Name, group, lines(long))
			}
			if want := group != groupAdvanced; (lines(short) == 1) != want {
				t.Errorf("%s --%s: %d lines of -h, in the group %s", cmd.Name(), f.Name, lines(short), group)
			}
		})
	}
}

// TestShortHelp shows what most runs need, whatever stands beside -h.
func TestShortHelp(t *testing.T) {
	want, errs, code := run("dedup", "-h")
	if code != exitDone || errs != "" || !strings.Contains(want, "Comparing flags:\n      --window window") || strings.Contains(want, "Examples:") {
		t.Errorf("exit code %d, stderr %q: %s", code, errs, want)
	}
	for line := range strings.Lines(want) {
		if strings.HasPrefix(line, "       ") {
			t.Errorf("-h has a second line for a flag: %s", line)
		}
	}
	for _, method := range measuringMethods() {
		if strings.Contains(want, " "+method+",") {
			t.Errorf("-h names the method %s", method)
		}
	}
	if got, _, code := run("dedup", "-qh", "in.pcap"); code != exitDone || got != want {
		t.Errorf("-qh: exit code %d: %s", code, got)
	}
	if long, _, _ := run("dedup", "-h", "--help"); !strings.Contains(long, "Examples:") {
		t.Errorf("--help beside -h: %s", long)
	}
}
