// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// TestSplitConversations checks who is warned of conversations that are kept in parts, and the
// advice.
func TestSplitConversations(t *testing.T) {
	const inSummary, inWarning = "  split  ", "sees one side of each"
	for _, c := range []struct {
		name, capture    string
		args             []string
		written          bool
		summary, warning []string // what they have, nil for none
	}{
		{"counted", "router-vlan.pcapng", nil, false, nil, nil}, // written packets are of one point
		{"written", "router-vlan.pcapng", []string{"--keep", "first"}, true,
			[]string{"sampled conversations were kept from more than one VLAN or interface: use --keep flow or --strip vlan\n"},
			[]string{"more than one VLAN, and an analyzer that tracks flows by VLAN sees", ": use --keep flow or --strip vlan (the manual, keep.md)\n"}},
		{"interfaces", "router-plain.pcapng", []string{"--keep", "first"}, true, []string{"from more than one interface: use --keep flow\n"}, nil},
		{"inner", "router-vlan.pcapng", []string{"--identity", "inner", "--keep", "first"}, true, []string{"VLAN, tunnel or interface: use --keep flow or --strip vlan,tunnel\n"},
			[]string{"flows by VLAN or tunnel sees"}},
		{"one home", "router-plain.pcapng", nil, true, nil, nil},
		{"one home, late", "mirror-geneve.pcap", []string{"--identity", "inner"}, true, []string{"VLAN, tunnel or interface: use --strip vlan,tunnel\n"}, nil},
		{"two taps", "router-in.pcap", []string{clitest.Bundled("router-out.pcap"), "--across", "--window", "50ms"}, true, nil, nil},
		{"nothing removed", "router-vlan.pcapng", []string{"--window", "n:1"}, true, nil, nil},
		{"one point", "loopback-twice.pcap", nil, true, nil, nil},
	} {
		args := append([]string{"dedup", clitest.Bundled(c.capture)}, c.args...)
		if c.written {
			args = append(args, "-w", filepath.Join(t.TempDir(), "out"))
		}
		out, errs, code := clitest.Run(args...)
		if code != cli.ExitDone {
			t.Fatalf("%s: exit code %d: %s", c.name, code, errs)
		}
		for _, text := range []struct {
			got, mark string
			want      []string
		}{{out, inSummary, c.summary}, {errs, inWarning, c.warning}} {
			if strings.Contains(text.got, text.mark) != (text.want != nil) {
				t.Errorf("%s: %q", c.name, text.got)
			}
			for _, want := range text.want {
				if !strings.Contains(text.got, want) {
					t.Errorf("%s: no %q in %q", c.name, want, text.got)
				}
			}
		}
	}
}

// TestSplitConversationsWorkers checks that the counts are the same for any number of
// workers.
func TestSplitConversationsWorkers(t *testing.T) {
	type counts struct {
		Split   uint64 `json:"split_conversations"`
		Sampled uint64 `json:"sampled_conversations"`
	}
	var first counts
	for _, workers := range []string{"1", "2", "5"} {
		out, errs, code := clitest.Run("dedup", "--json", "--workers", workers, clitest.Bundled("router-plain.pcapng"))
		var got counts
		if err := json.Unmarshal([]byte(out), &got); code != cli.ExitDone || err != nil {
			t.Fatalf("exit code %d, %v: %s", code, err, errs)
		}
		if workers == "1" {
			first = got
		}
		if got != first || got.Split == 0 || got.Sampled <= got.Split {
			t.Errorf("%s workers: %+v, with one %+v", workers, got, first)
		}
	}
}
