// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/commands"
)

// unitNeedsNothing are the flags of live for which the unit permits enough.
const unitNeedsNothing = `filter merge-wait tunnel snaplen promiscuous ignore-outgoing wait no-promiscuous-mode count duration
window identity ignore across within only protect site verdict-wait learn keep prefer hold strip mark slice for
of every tz mask4 mask6 vlan top top-by slide rotate-size rotate-every rotate-keep rotate-keep-bytes rotate-megabytes
rotate-seconds rotate-files forward balance on-failure sensor state json quiet log
identity-bytes refresh digest param verify-copies method memory fpr key learn-every distinct-memory set-limit rings
fanout block-timeout buffer-size state-every state-mismatch workers check help`

// TestUnitPermits finds each flag of live in the manual's table of what the unit has to permit, or in
// the list of flags that need nothing, and the lines of that table in the unit, as comments.
func TestUnitPermits(t *testing.T) {
	page, unit := read(t, "live.md"), read(t, "../contrib/flowdedup@.service")
	_, page, _ = strings.Cut(page, "\n| flags | lines |\n")
	page, _, _ = strings.Cut(page, "\n\n")
	var named []string
	for row := range strings.Lines(page) {
		cells := strings.Split(row, "|")
		for _, flag := range regexp.MustCompile("`--([a-z0-9-]+)").FindAllStringSubmatch(cells[1], -1) {
			named = append(named, flag[1])
		}
		if len(cells) < 3 {
			continue
		}
		for _, line := range regexp.MustCompile("`([A-Z][A-Za-z]+=[^`]+)`").FindAllStringSubmatch(cells[2], -1) {
			if !strings.Contains(unit, "\n#"+line[1]+"\n") {
				t.Errorf("the unit has no comment %s", line[1])
			}
		}
	}
	live, _, err := commands.Root().Find([]string{"live"})
	if err != nil {
		t.Fatal(err)
	}
	free, all := strings.Fields(unitNeedsNothing), []string{}
	live.Flags().VisitAll(func(f *pflag.Flag) {
		all = append(all, f.Name)
		if slices.Contains(named, f.Name) == slices.Contains(free, f.Name) {
			t.Errorf("--%s: in the table %v, needs nothing %v", f.Name, slices.Contains(named, f.Name), slices.Contains(free, f.Name))
		}
	})
	for _, name := range slices.Concat(named, free) {
		if !slices.Contains(all, name) && name != "help" {
			t.Errorf("live has no --%s", name)
		}
	}
}
