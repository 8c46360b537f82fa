// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/bench/lab"
)

// TestCounts reads the output of tools.
func TestCounts(t *testing.T) {
	for text, c := range map[string]struct {
		read func(string) (counts, error)
		want counts
	}{
		"50176 packets, 12 dropped, sum 0x5\n\n": {plain, counts{captured: 50176, dropped: 12}},
		"3 dropped\n70 packets, 5 copies\n\n":    {gopackets, counts{captured: 70, dropped: 3, copies: 5, found: true}},
		"\ntcpdump: listening on right\n9 packets captured\n11 packets received by filter\n2 packets dropped by kernel\n": {
			tcpdump, counts{captured: 9, dropped: 2}},
		"\nPackets captured: 8\nPackets received/dropped on interface 'right': 8/3 (pcap:3/dumpcap:0/flushed:0/ps_ifdrop:0) (72.7%)\n": {
			dumpcap, counts{captured: 8, dropped: 3}},
		`{"packets_in":10,"duplicates":4,"interfaces":[{"dropped":1},{"dropped":2}]}` + "\n\nlog": {
			summary, counts{captured: 10, dropped: 3, copies: 4, found: true}},
	} {
		if got, err := c.read(text); err != nil || got != c.want {
			t.Errorf("%q: %+v (%v), want %+v", text, got, err, c.want)
		}
		if _, err := c.read("nothing"); err == nil {
			t.Errorf("%q: no error for another text", text)
		}
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{"more"}, {"-rounds", "-1"}, {"-unknown"}} {
		if err := run(args, nil); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}

// TestQuick expects a result of each receiver of this module and of the delay, and no
// files left behind.
func TestQuick(t *testing.T) {
	if testing.Short() {
		t.Skip("receivers take seconds to settle")
	}
	if err := lab.Enter(); err != nil {
		t.Skip(err)
	}
	programs, dir := t.TempDir(), t.TempDir()
	for name, folder := range map[string]string{"flowdedup": "../../cmd/flowdedup", "baseline-ring": "../baseline/ring"} {
		build := exec.Command("go", "build", "-o", filepath.Join(programs, name), folder)
		if text, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
	t.Setenv("PATH", programs+string(filepath.ListSeparator)+os.Getenv("PATH"))
	var skip, want []string
	for i := range receivers {
		switch r := &receivers[i]; r.tool() {
		case "baseline-ring", "flowdedup":
			want = append(want, "BenchmarkLive/sender=sendmmsg/receiver="+r.name+" 1 ")
		default:
			skip = append(skip, r.name)
		}
	}
	var out strings.Builder
	err := run([]string{"-quick", "-senders", "sendmmsg", "-skip", strings.Join(skip, ","), "-dir", dir}, &out)
	if err != nil {
		t.Fatal(err)
	}
	_, err = exec.LookPath("ethtool") // without it, rates are left out
	if err == nil && strings.Contains(out.String(), "/receiver=dedup-xdp 1 ") {
		want = append(want, "BenchmarkRate/rate=100000/receiver=dedup 1 ", "BenchmarkRate/rate=100000/receiver=dedup-xdp 1 ")
	}
	for _, name := range append(want, "BenchmarkForward/load=10000/forwarder=flowdedup 1 ", "BenchmarkForward/load=10000/forwarder=keep-first 1 ", "BenchmarkForward/load=10000/forwarder=baseline-ring 1 ") {
		if strings.Count(out.String(), "\n"+name) != 1 {
			t.Errorf("not one result of %s in\n%s", name, out.String())
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}
