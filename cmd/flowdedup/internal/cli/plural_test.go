// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/gopacket/layers"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// onePackets is the number 1 with a word for many.
var onePackets = regexp.MustCompile(`(^|[^0-9,.])1 (packets|duplicates|records|copies|files|blocks)\b`)

// TestOnePacket runs commands on a capture of one packet, and on a packet with a copy: no text says
// "1 packets".
func TestOnePacket(t *testing.T) {
	dir := t.TempDir()
	frame := clitest.UDPFrame(1, 1)
	one := writeEvery(t, "one.pcap", layers.LinkTypeEthernet, 0, 0, frame)
	two := writeEvery(t, "two.pcap", layers.LinkTypeEthernet, 0, 0, frame, frame)
	for _, args := range []string{
		"dedup ONE", "dedup TWO", "dedup TWO --only udp", "dedup TWO --protect udp", "dedup ONE --filter tcp", "dedup TWO --html PAGE", "dedup TWO --sort 1s",
		"dedup TWO --slice 20 -w OUT.pcap", "dedup TWO --strip vlan -w OUT.pcap", "distinct ONE", "distinct TWO --filter tcp", "inspect ONE", "inspect TWO", "inspect ONE --html PAGE",
		"compare ONE ONE", "compare ONE TWO", "compare TWO ONE", "compare TWO ONE --html PAGE", "verify ONE ONE", "verify TWO ONE", "verify TWO ONE --html PAGE", "flows ONE",
	} {
		out, errs, code := clitest.Run(clitest.WordsOf(args, "ONE", one, "TWO", two, "OUT", filepath.Join(dir, "out"), "PAGE", filepath.Join(dir, "page.html"))...)
		page, _ := os.ReadFile(filepath.Join(dir, "page.html"))
		if strings.Contains(args, "PAGE") && len(page) == 0 {
			t.Errorf("%s: no page", args)
		}
		if code == 2 {
			t.Errorf("%s: %s", args, errs)
		}
		if found := onePackets.FindString(out + errs + string(page)); found != "" {
			t.Errorf("%s: %q in %s%s", args, found, out, errs)
		}
	}
}
