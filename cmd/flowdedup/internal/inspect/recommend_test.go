// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// TestProfileInspect checks that the recommended command is for the reader.
func TestProfileInspect(t *testing.T) {
	for _, c := range []struct{ reader, capture, want string }{
		{"suricata", "router-ordered.pcapng", "--identity l3 --window 1ms --for suricata -w"},
		{"wireshark", "router-ordered.pcapng", "--identity l3 --window 1ms --for wireshark -w"},
		{"zeek", "mirror-vxlan.pcap", "--identity inner --window 1ms --for zeek "},
		{"arkime", "mirror-vxlan.pcap", "--identity inner --window 1ms --ignore l4-checksum --for arkime "},
	} {
		out, errs, code := clitest.Run("inspect", "--json", "--for", c.reader, clitest.Bundled(c.capture))
		var s struct {
			Recommendation struct {
				For, Keep, Command string
				Strip, Ignore      []string
			}
		}
		if err := json.Unmarshal([]byte(out), &s); code != cli.ExitDone || err != nil {
			t.Fatalf("exit code %d, %v: %s", code, err, errs)
		}
		r := &s.Recommendation
		if !strings.Contains(r.Command, c.want) || r.For != c.reader || r.Keep != "flow" || slices.Contains(r.Strip, "vlan") != (c.reader == "suricata") {
			t.Errorf("%s, %s: %+v", c.reader, c.capture, r)
		}
		words := strings.Fields(r.Command)
		words[slices.Index(words, "-w")+1] = filepath.Join(t.TempDir(), "clean.pcapng")
		if _, errs, code := clitest.Run(words[1:]...); code != cli.ExitDone {
			t.Errorf("%s: exit code %d: %s", r.Command, code, errs)
		}
	}
}
