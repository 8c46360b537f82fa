// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

func TestMain(m *testing.M) { clitest.Main(m, nil) }

func TestScripts(t *testing.T) { clitest.Scripts(t) }

// TestInspectTruth compares kinds, TTL steps and the removed packets with how the captures
// were made. Each copy behind the router has one hop less, or more if it is late.
func TestInspectTruth(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob(clitest.Bundled("*.truth.json"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no truth: %v", err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			data := clitest.ReadFile(t, name)
			var want clitest.Truth
			var made struct{ Kinds map[string]uint64 }
			if err := json.Unmarshal(data, &want); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(data, &made); err != nil {
				t.Fatal(err)
			}
			r := clitest.RunInspect(t, cli.ExitDone, want.Inputs()...)
			var routed, vlan, same uint64
			for kind, n := range r.Kinds {
				switch {
				case strings.Contains(kind, "ttl"):
					routed += n
				case strings.Contains(kind, "vlan"):
					vlan += n
				case kind == "identical":
					same += n
				}
			}
			if routed > made.Kinds["routed"] || routed+r.ChecksumOnly < made.Kinds["routed"] || vlan != made.Kinds["vlan"] || same != made.Kinds["loopback"] || r.Copies != routed+vlan+same {
				t.Errorf("kinds %v, want %v", r.Kinds, made.Kinds)
			}
			if r.Hops[1]+r.Hops[-1] != routed || len(r.Hops) > 2 {
				t.Errorf("TTL steps %v, %d routed", r.Hops, routed)
			}
			c := &r.Recommendation
			if r.Copies == 0 {
				if c.Dedup || c.Command != "" || !strings.Contains(r.Verdict, "do not de-duplicate") {
					t.Errorf("%s: %+v", r.Verdict, c)
				}
				return
			}
			if !c.Dedup || c.Window != "1ms" || c.Removes < r.Copies || c.Removes > r.Copies+r.ChecksumOnly || c.Wrong != 0 || c.Left != 0 {
				t.Errorf("%+v, %d copies", c, r.Copies)
			}
			clitest.Checked(t, &r)
		})
	}
}

// TestInspectShared compares with an independent parser, and runs the recommended command.
func TestInspectShared(t *testing.T) {
	t.Parallel()
	dir := clitest.SharedDir(t)
	files, names := clitest.SharedFiles(t, dir)
	compared, ran := 0, 0
	for _, name := range names {
		a, path := files[name], filepath.Join(dir, name)
		if clitest.ExitOf(a) != cli.ExitDone {
			continue // damage has tests of its own
		}
		r := clitest.RunInspect(t, cli.ExitDone, path)
		c := &r.Recommendation
		if c.Identity == "l3" && len(c.Ignore) == 0 && c.IdentityBytes == 0 && len(a.NotDecoded) == 0 {
			// A filter keeps some of the packets that equal an earlier packet within the window.
			more := clitest.MoreCopies[name]
			least, most := a.Duplicates["l3"].AnchoredLast["1"]+more.AnchoredLast["1"], a.Duplicates["l3"].SlidingAbs["1"]+more.SlidingAbs["1"]
			if compared++; r.Equal > most || r.Equal+r.Undecidable+r.ChecksumOnly < least {
				t.Errorf("%s: %d equal packets, want %d to %d", name, r.Equal, least, most)
			}
		}
		if c.Dedup {
			ran++
			clitest.Checked(t, &r)
		}
	}
	if !testing.Short() && (compared < 20 || ran < 5) {
		t.Errorf("%d captures compared, %d commands run", compared, ran)
	}
}
