// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/inspect"
)

// runCommand runs what inspect printed, and returns how many packets that removed.
func runCommand(t *testing.T, r *inspect.Summary) uint64 {
	t.Helper()
	words := shellWords(r.Recommendation.Command)
	if len(words) < 2 || words[0] != "flowdedup" || words[1] != "dedup" {
		t.Fatalf("command %q", r.Recommendation.Command)
	}
	at := slices.Index(words, "-w") + 1
	words[at] = filepath.Join(t.TempDir(), words[at])
	return clitest.RunDedup(t, cli.ExitDone, words[2:]...).Duplicates
}

// checkCommand checks that the command removes what inspect said.
func checkCommand(t *testing.T, r *inspect.Summary) {
	t.Helper()
	c := &r.Recommendation
	if got := runCommand(t, r); got != c.Removes {
		t.Errorf("%s removes %d packets, not %d", c.Command, got, c.Removes)
	}
}

// shellWords splits a line as a shell does that knows single quotes and backslashes.
func shellWords(line string) (words []string) {
	quoted, escaped, inWord := false, false, false
	for _, c := range line {
		if c == ' ' && !quoted && !escaped {
			inWord = false
			continue
		}
		if !inWord {
			words, inWord = append(words, ""), true
		}
		switch {
		case c == '\'' && !escaped:
			quoted = !quoted
		case c == '\\' && !quoted && !escaped:
			escaped = true
		default:
			words[len(words)-1] += string(c)
			escaped = false
		}
	}
	return words
}

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
			checkCommand(t, &r)
		})
	}
}

// TestInspectMatrix checks the matrix of a trunk and a VLAN interface on each side of a
// router, in order of time: of what a side receives, its trunk sees each packet first.
func TestInspectMatrix(t *testing.T) {
	r := clitest.RunInspect(t, cli.ExitDone, clitest.Bundled("router-ordered.pcapng"))
	cells := map[string]uint64{}
	for _, c := range r.Matrix {
		cells[c.First+" > "+c.Copy] = c.Count
		if c.Delay.Max > 1e6 {
			t.Errorf("%+v", c)
		}
	}
	want := truthMatrix(t, "router-ordered")
	if !maps.Equal(cells, want) {
		t.Errorf("%v, want %v", cells, want)
	}
}

// truthMatrix counts the copies of a truth by the interfaces of both records.
func truthMatrix(t *testing.T, name string) map[string]uint64 {
	t.Helper()
	data := clitest.ReadFile(t, clitest.Bundled(name+".truth.json"))
	var made struct{ Sightings [][]int }
	if err := json.Unmarshal(data, &made); err != nil {
		t.Fatal(err)
	}
	points := pointsOf(t, clitest.Bundled(name+".pcapng"))
	cells := map[string]uint64{}
	for _, s := range made.Sightings {
		for _, copied := range s[1:] {
			cells[points[s[0]]+" > "+points[copied]]++
		}
	}
	return cells
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
			// A filter keeps some of the packets that equal another one within the window.
			more := clitest.MoreCopies[name]
			least, most := a.Duplicates["l3"].AnchoredLast["1"]+more.AnchoredLast["1"], a.Duplicates["l3"].SlidingAbs["1"]+more.SlidingAbs["1"]
			if compared++; r.Equal > most || r.Equal+r.Undecidable+r.ChecksumOnly < least {
				t.Errorf("%s: %d equal packets, want %d to %d", name, r.Equal, least, most)
			}
		}
		if c.Dedup {
			ran++
			checkCommand(t, &r)
		}
	}
	if !testing.Short() && (compared < 20 || ran < 5) {
		t.Errorf("%d captures compared, %d commands run", compared, ran)
	}
}

// TestInspectFilter looks at what a filter leaves of captures: of an inner and an outer
// one, and of one without IP, where nothing fails.
func TestInspectFilter(t *testing.T) {
	clitest.NeedTcpdump(t)
	two := clitest.RunInspect(t, cli.ExitDone, "--filter", "ip", clitest.Bundled("router-in.pcap"), clitest.Bundled("router-out.pcap"))
	if first := two.Matrix[0].First; first != "router-in.pcap" || !strings.Contains(two.Recommendation.Command, "--filter ip") {
		t.Errorf("%s: %s", first, two.Recommendation.Command)
	}
	if got := runCommand(t, &two); got != two.Recommendation.Removes {
		t.Errorf("%d removed, not %d", got, two.Recommendation.Removes)
	}
	arp := clitest.RunInspect(t, cli.ExitDone, "--filter", "arp", clitest.Bundled("router-plain.pcapng"))
	if arp.Packets != 4 || arp.Copies != 0 {
		t.Errorf("%+v", arp)
	}
}

// TestInspectWorkers checks that the answer does not depend on workers.
func TestInspectWorkers(t *testing.T) {
	want := clitest.RunInspect(t, cli.ExitDone, "--workers", "1", clitest.Bundled("router-vlan.pcapng"))
	got := clitest.RunInspect(t, cli.ExitDone, "--workers", "4", clitest.Bundled("router-vlan.pcapng"))
	want.Took, want.Rate = got.Took, got.Rate
	a, _ := json.Marshal(want)
	b, _ := json.Marshal(got)
	if string(a) != string(b) {
		t.Errorf("%s\n%s", a, b)
	}
}

// pointsOf names the point of each record of a capture: its interface and VLAN.
func pointsOf(t *testing.T, path string) (names []string) {
	t.Helper()
	src, err := pcapfile.Open(path, pcapfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	var b capture.Batch
	for src.Next(&b) == nil {
		for i := range b.Frames {
			name := b.Interfaces[b.Frames[i].Interface].Name
			if data := b.Data(i); data[12] == 0x81 && data[13] == 0 {
				name += fmt.Sprintf(" VLAN %d", int(data[14]&0xf)<<8|int(data[15]))
			}
			names = append(names, name)
		}
	}
	return names
}
