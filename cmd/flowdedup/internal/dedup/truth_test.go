// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
	"github.com/flowdedup/flowdedup/engine/stream"
)

// TestTruth checks that dedup removes exactly the second sightings from the bundled
// captures, and keeps everything else unchanged.
func TestTruth(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob(clitest.Bundled("*.truth.json"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no truth: %v", err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			var want clitest.Truth
			data := clitest.ReadFile(t, name)
			if err := json.Unmarshal(data, &want); err != nil {
				t.Fatal(err)
			}
			for _, method := range []string{"timed", "exact"} {
				checkTruth(t, &want, method)
			}
		})
	}
}

func checkTruth(t *testing.T, want *clitest.Truth, method string) {
	t.Helper()
	kept, copies := filepath.Join(t.TempDir(), "kept"), filepath.Join(t.TempDir(), "copies")
	args := []string{"--method", method, "--keep", "first", "--prefer", "first", "-w", kept, "--duplicates", copies}
	inputs := want.Inputs()
	r := clitest.RunDedup(t, cli.ExitDone, slices.Concat(args, want.Flags(), inputs)...)
	if r.PacketsIn != want.Packets || r.Duplicates != want.Duplicates || r.EvictedLive != 0 {
		t.Errorf("%s: %d packets, %d duplicates, %d forgotten; want %d and %d",
			method, r.PacketsIn, r.Duplicates, r.EvictedLive, want.Packets, want.Duplicates)
	}
	all := clitest.ReadAll(t, inputs...)
	removed := map[int]bool{}
	for _, i := range want.Removed {
		removed[i] = true
	}
	var wantKept, wantCopies []clitest.Record
	for i, p := range all {
		if removed[i] {
			wantCopies = append(wantCopies, p)
		} else {
			wantKept = append(wantKept, p)
		}
	}
	clitest.CompareRecords(t, method+": kept", clitest.ReadAll(t, kept), wantKept)
	clitest.CompareRecords(t, method+": copies", clitest.ReadAll(t, copies), wantCopies)
}

// TestFrameIdentityKeepsCopies checks that identity frame removes no copy with another
// VLAN tag or TTL.
func TestFrameIdentityKeepsCopies(t *testing.T) {
	for _, name := range []string{"router-vlan.pcapng", "router-plain.pcapng", "router-qinq.pcapng"} {
		if r := clitest.RunDedup(t, cli.ExitDone, "--identity", "frame", clitest.Bundled(name)); r.Duplicates != 0 {
			t.Errorf("%s: %d duplicates", name, r.Duplicates)
		}
	}
}

// writeFrames makes a capture of the given link type word with a frame each
// millisecond.
func writeFrames(t *testing.T, link uint32, frames ...[]byte) string {
	t.Helper()
	p := clitest.NewPcap(link)
	for i, f := range frames {
		p.Add(1_700_000_000e9+int64(i)*1e6, f)
	}
	return p.Write(t, "in.pcap")
}

// TestTapsWithoutIP merges the same ARP requests as seen by an access port, a trunk, a
// tap that keeps the frame check sequence, and two interfaces of an "any" capture.
func TestTapsWithoutIP(t *testing.T) {
	const ethernet, sll2, checkSequence = 1, 276, 1<<26 | 2<<28
	var access, trunk, tap, cooked [][]byte
	for n := range byte(20) {
		arp := append([]byte("\xff\xff\xff\xff\xff\xff\x02\x00\x00\x00\x00\x01\x08\x06"),
			"\x00\x01\x08\x00\x06\x04\x00\x01\x02\x00\x00\x00\x00\x01\x0a\x00\x00\x01\x00\x00\x00\x00\x00\x00\x0a\x00\x00"...)
		arp = append(arp, n)
		padded := append(slices.Clone(arp), make([]byte, 18)...)
		access, tap = append(access, arp), append(tap, append(slices.Clone(padded), n, 2, 3, 4))
		trunk = append(trunk, slices.Insert(slices.Clone(padded), 12, 0x81, 0, 0, 100))
		head := []byte("\x08\x06\x00\x00\x00\x00\x00\x02\x00\x01\x01\x06\x02\x00\x00\x00\x00\x01\x00\x00")
		cooked = append(cooked, append(slices.Clone(head), padded[14:]...))
		head[7] = 3 // of another interface
		cooked = append(cooked, append(head, arp[14:]...))
	}
	files := []string{writeFrames(t, ethernet, access...), writeFrames(t, ethernet, trunk...), writeFrames(t, ethernet|checkSequence, tap...)}
	for _, c := range []struct {
		args []string
		want uint64
	}{
		{files, 40},
		{append([]string{"--across"}, files...), 40},
		{append([]string{"--identity", "frame"}, files...), 0},
		{[]string{"--identity", "frame", "--ignore", "vlan", files[0], files[1]}, 0},
		{[]string{"--across", writeFrames(t, sll2, cooked...)}, 20},
		{[]string{files[0], writeFrames(t, sll2, cooked[0])}, 0},
		{[]string{"--ignore", "mac", files[0], writeFrames(t, sll2, cooked[0])}, 1},
	} {
		if r := clitest.RunDedup(t, cli.ExitDone, c.args...); r.Duplicates != c.want || r.NonIP != r.PacketsIn {
			t.Errorf("%v: %+v, want %d copies", c.args, r, c.want)
		}
	}
}

// TestStreamMethods runs every method without a window on a capture that fits into its
// memory. Methods with the usual bound find what the exact method finds, the others a few
// packets more.
func TestStreamMethods(t *testing.T) {
	want := duplicatesFound(t, "exact")
	if want == 0 {
		t.Fatal("no duplicates to find")
	}
	for _, method := range stream.Methods() {
		got := duplicatesFound(t, method, "--memory", "1MiB")
		switch {
		case stream.HasRows(method):
			if got != want {
				t.Errorf("%s: %d duplicates, want %d", method, got, want)
			}
		case got < want*98/100 || got > want*102/100:
			t.Errorf("%s: %d duplicates, want about %d", method, got, want)
		}
	}
}

// TestMethodParams runs every method that has parameters, and checks them by the rate in
// the summary that follows from them.
func TestMethodParams(t *testing.T) {
	want := duplicatesFound(t, "exact")
	for _, c := range []struct{ method, params string }{
		{"sbf", "Max=3,K=3,P=60"}, {"sbf", "max=1,k=2"}, {"sbf", "Max=7, K=8, P=100"}, {"rsbf", "K=4"}, {"rsbf", "p=0.5"}, {"bsbf", "K=4"},
		{"bsbfsd", "K=4"}, {"rlbsbf", "K=3"}, {"lru", "cells=16,cell-bits=32"}, {"qht", "cells=4"}, {"qqhtd", "cell bits=64"},
		{"qhtd", "cells=4"}, {"qqht", "cells=8"},
	} {
		got := duplicatesFound(t, c.method, "--memory", "1MiB", "--param", c.params)
		if got < want*98/100 || got > want*102/100 {
			t.Errorf("%s, %s: %d duplicates, want about %d", c.method, c.params, got, want)
		}
	}
	for _, params := range []string{"K=8", "K=4,counter-bits=16", "K=6,equal=2"} {
		window := []string{"--memory", "1MiB", "--window", "2s"}
		want, got := duplicatesFound(t, "exact", window[2:]...), duplicatesFound(t, "timers", append(window, "--param", params)...)
		if want == 0 || got < want*98/100 || got > want*102/100 {
			t.Errorf("timers, %s: %d duplicates, want about %d", params, got, want)
		}
	}
}

// TestTimersWarn reads captures whose interfaces come in blocks, and one in order. What
// timers miss of the former is counted, and the warning says what finds it.
func TestTimersWarn(t *testing.T) {
	for _, c := range []struct {
		name, window string
		late         bool
	}{
		{"router-vlan.pcapng", "1ms", true}, {"router-vlan.pcapng", "10ms", true}, {"router-vlan.pcapng", "100ms", true},
		{"router-vlan.pcapng", "1h", false}, {"router-in.pcap", "1ms", false}, {"loopback-twice.pcap", "1ms", false},
	} {
		want := clitest.RunDedup(t, cli.ExitDone, "--window", c.window, clitest.Bundled(c.name))
		var got struct {
			Duplicates uint64
			Late       uint64 `json:"late_forgotten"`
		}
		out, errs, _ := clitest.Run("dedup", "--json", "--method", "timers", "--window", c.window, clitest.Bundled(c.name))
		if err := json.Unmarshal([]byte(out), &got); err != nil {
			t.Fatal(err)
		}
		if missed := want.Duplicates - got.Duplicates; got.Duplicates > want.Duplicates || missed > got.Late || (got.Late > 0) != c.late {
			t.Errorf("%s within %s: %d of %d copies, %d late", c.name, c.window, got.Duplicates, want.Duplicates, got.Late)
		}
		warned := strings.Contains(errs, "time goes back by about") && strings.Contains(errs, "or use --method timed")
		if warned != c.late || strings.Contains(errs, "--memory") {
			t.Errorf("%s within %s: %q", c.name, c.window, errs)
		}
	}
}

// duplicatesFound runs dedup on router-vlan.pcapng, without a window, under a fixed key.
func duplicatesFound(t *testing.T, method string, more ...string) int {
	t.Helper()
	const key = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
	args := clitest.Overrule([]string{"--key", key, "--window", "none", "--method", method}, more)
	out, errs, code := clitest.Run(append([]string{"dedup", clitest.Bundled("router-vlan.pcapng"), "--json"}, args...)...)
	var s struct {
		Method     string
		Duplicates int
	}
	if err := json.Unmarshal([]byte(out), &s); err != nil || code != 0 || s.Method != method {
		t.Fatalf("%s: exit code %d, %v, stdout %q, stderr %q", method, code, err, out, errs)
	}
	return s.Duplicates
}
