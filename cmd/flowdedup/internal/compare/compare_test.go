// SPDX-License-Identifier: Apache-2.0

package compare_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// TestCompareRouter compares both sides of a router with the known truth of each packet.
func TestCompareRouter(t *testing.T) {
	t.Parallel()
	r, errs := clitest.RunCompare(t, cli.ExitDifferent, clitest.Bundled("router-in.pcap"), clitest.Bundled("router-out.pcap"))
	if r.Both != 308 || r.OnlyA != 20 || r.A.Outside != 2 || r.OnlyB != 6 || errs != "" || r.Reordered != 0 {
		t.Errorf("%+v, %s", r, errs)
	}
	if r.OffsetNS == nil || math.Abs(float64(*r.OffsetNS)) > 50_000 || r.Delay.P50 <= 0 || r.Delay.Max > 800_000 {
		t.Errorf("offset %v, delays %+v", r.OffsetNS, r.Delay)
	}
	data, err := os.ReadFile(clitest.Bundled("router-ordered.truth.json"))
	var truth struct{ Sightings [][]int }
	if err := errors.Join(err, json.Unmarshal(data, &truth)); err != nil || len(truth.Sightings) < 100 {
		t.Fatalf("%d sightings, %v", len(truth.Sightings), err)
	}
	dir := t.TempDir()
	var names [4]string
	var numbers [4][]int
	for it := range names {
		names[it] = filepath.Join(dir, string(rune('0'+it))+".pcapng")
		numbers[it] = clitest.WritePart(t, names[it], clitest.Bundled("router-ordered.pcapng"), func(_ int, b *capture.Batch, i int) bool {
			return b.Frames[i].Interface == uint32(it)
		})
	}
	seenAt := func(sighting []int, it int) bool {
		return slices.ContainsFunc(sighting, func(n int) bool { return slices.Contains(numbers[it], n) })
	}
	for a := range names {
		for b := range names {
			both := uint64(0)
			for _, s := range truth.Sightings {
				if seenAt(s, a) && seenAt(s, b) {
					both++
				}
			}
			code := cli.ExitDifferent
			if both == uint64(len(numbers[a])) && both == uint64(len(numbers[b])) {
				code = cli.ExitDone
			}
			if r, _ := clitest.RunCompare(t, code, names[a], names[b]); r.Both != both {
				t.Errorf("interfaces %d and %d: %d packets in both, want %d", a, b, r.Both, both)
			}
		}
	}
}

// frame returns a packet of 64 bytes with a number.
func frame(number int) []byte {
	b := append([]byte("\x02\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x02\x08\x00\x45\x00\x00\x32\x00\x00\x00\x00\x40\x11\x00\x00\x0a\x00\x00"),
		byte(number%7), 10, 1, 0, 1, 0, 99, 0, 53, 0, 30, 0, 0)
	return append(b, byte(number>>24), byte(number>>16), byte(number>>8), byte(number), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
}

// frames writes a capture of packets with these numbers and times.
func frames(t *testing.T, name string, numbers []int, times []int64) string {
	t.Helper()
	var b capture.Batch
	b.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet, SnapLen: 65535})
	for i, n := range numbers {
		b.Append(capture.Frame{Time: times[i]}, frame(n))
	}
	return clitest.WriteInput(t, name, clitest.Encoded(t, &b))
}

// tap makes a capture, and what a tap saw of it: without 1,000 packets, by a clock that is
// shift nanoseconds and 20 ppm wrong.
func tap(t *testing.T, shift int64) (a, b string, removed []int) {
	t.Helper()
	const n, start, apart = 30_000, 1_700_000_000_000_000_000, 500_000
	r := rand.New(rand.NewPCG(7, 8))
	gone := map[int]bool{}
	for len(gone) < 1000 {
		gone[1+r.IntN(n-1)] = true
	}
	var all, left []int
	var times, late []int64
	for i := range n {
		at := int64(i)*apart + r.Int64N(apart)
		if i == 0 {
			at = 0
		}
		all, times = append(all, i), append(times, start+at)
		if gone[i] {
			removed = append(removed, i)
			continue
		}
		left, late = append(left, i), append(late, start+at+shift+at*20/1_000_000)
	}
	dir := t.TempDir()
	return frames(t, filepath.Join(dir, "a.pcap"), all, times), frames(t, filepath.Join(dir, "b.pcapng"), left, late), removed
}

// TestCompareTap finds the packets that a tap has lost, and how wrong its clock is.
func TestCompareTap(t *testing.T) {
	t.Parallel()
	for _, shift := range []int64{3_700_000_000, -3 * 3600 * 1_000_000_000} {
		a, b, removed := tap(t, shift)
		onlyA, onlyB := filepath.Join(t.TempDir(), "only-a.pcap"), filepath.Join(t.TempDir(), "only-b.pcap")
		r, errs := clitest.RunCompare(t, cli.ExitDifferent, a, b, "--only-a", onlyA, "--only-b", onlyB)
		if r.OnlyA != 1000 || r.OnlyB != 0 || math.Abs(float64(*r.OffsetNS-shift)) > 1000 || math.Abs(*r.DriftPPM-20) > 0.01 || r.Delay.Max > 1000 {
			t.Errorf("shift %d: %+v, offset %d, drift %v, delays %+v", shift, r, *r.OffsetNS, *r.DriftPPM, r.Delay)
		}
		if far := strings.Contains(errs, "the clocks are -3h0m0s apart"); far != (shift < -60_000_000_000) || !far && errs != "" {
			t.Errorf("shift %d: %s", shift, errs)
		}
		var lost []int
		clitest.WritePart(t, os.DevNull, onlyA, func(_ int, b *capture.Batch, i int) bool {
			d := b.Data(i)[42:]
			lost = append(lost, int(d[0])<<24|int(d[1])<<16|int(d[2])<<8|int(d[3]))
			return true
		})
		if !slices.Equal(lost, removed) || len(clitest.WritePart(t, os.DevNull, onlyB, func(int, *capture.Batch, int) bool { return true })) != 0 {
			t.Errorf("shift %d: %d packets written, not those that were removed", shift, len(lost))
		}
	}
}

// TestCompareEnds checks answers and exit codes of captures that have little to compare.
func TestCompareEnds(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, data []byte) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	router := clitest.ReadFile(t, clitest.Bundled("router-in.pcap"))
	in, empty := clitest.Bundled("router-in.pcap"), file("empty.pcap", router[:24])
	later := filepath.Join(dir, "later.pcap") // it began 59 packets later
	clitest.WritePart(t, later, in, func(number int, _ *capture.Batch, _ int) bool { return number >= 59 })
	for _, c := range []struct {
		code    int
		a, b    string
		verdict string
	}{
		{cli.ExitDone, in, in, "the same 328 packets are in both"},
		{cli.ExitDone, empty, empty, "both are empty"},
		{cli.ExitDifferent, in, empty, "B has no packets"},
		{cli.ExitDifferent, empty, in, "A has no packets"},
		{cli.ExitDifferent, in, clitest.Bundled("tunnel-raw.pcap"), "no packet is in both, so the offset of the clocks is unknown"},
		{cli.ExitDone, in, later, "the same 269 packets are in both; 59 more are from before or after the other capture"},
		{cli.ExitDone, later, in, "the same 269 packets are in both; 59 more are from before or after the other capture"},
		{cli.ExitDamaged, in, file("cut.pcap", router[:len(router)-10]), "the same 327 packets are in both; 1 more is from before or after the other capture"},
	} {
		r, _ := clitest.RunCompare(t, c.code, c.a, c.b)
		if r.Verdict != c.verdict || (r.OffsetNS == nil) != (r.Both == 0) || r.Damaged != (c.code == cli.ExitDamaged) {
			t.Errorf("%s and %s: %q, want %q; %+v", c.a, c.b, r.Verdict, c.verdict, r)
		}
	}
	// A damaged input leaves outputs that are partial by name, and files as they were.
	only := file("only.pcap", []byte("old"))
	_, errs := clitest.RunCompare(t, cli.ExitDamaged, in, filepath.Join(dir, "cut.pcap"), "--only-a", only)
	if old, err := os.ReadFile(only); err != nil || string(old) != "old" || !strings.Contains(errs, "cut.pcap: offset") || !strings.Contains(errs, only+" was not written; what was processed is in ") {
		t.Errorf("%v, %s", err, errs)
	}
	for _, name := range []string{file("text", []byte("hello, this is no capture at all")), filepath.Join(dir, "none")} {
		for _, args := range [][]string{{in, name}, {name, in}} {
			if out, errs, code := clitest.Run(append([]string{"compare"}, args...)...); code != cli.ExitFailed || out != "" || strings.Count(errs, "\n") != 1 {
				t.Errorf("%v: exit code %d, %q, %q", args, code, out, errs)
			}
		}
	}
	if _, _, code := clitest.Run("compare", "--filter", "tcp", in, clitest.Bundled("router-out.pcap")); code != cli.ExitDone {
		t.Skipf("exit code %d with --filter", code) // without tcpdump
	}
}

// TestCompareCommunityID gives conversations the ID that Zeek and Suricata log. Python's hashlib
// made the one here.
func TestCompareCommunityID(t *testing.T) {
	t.Parallel()
	out, _, code := clitest.Run("compare", "--json", clitest.Bundled("router-in.pcap"), clitest.Bundled("router-out.pcap"))
	var r struct {
		Conversations []struct {
			Name        string
			CommunityID string `json:"community_id"`
		}
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != cli.ExitDifferent {
		t.Fatalf("%v, exit code %d", err, code)
	}
	found := false
	for _, c := range r.Conversations {
		found = found || c.Name == "tcp 10.10.0.2:35960 <> 10.20.0.2:4433" && c.CommunityID == "1:0D7ziaBcKSMZCXHIzqcwADY9WNk="
	}
	if !found {
		t.Errorf("%+v", r.Conversations)
	}
}

// TestCompareText reads the answer as people do.
func TestCompareText(t *testing.T) {
	t.Parallel()
	out, errs, code := clitest.Run("compare", "--top", "3", clitest.Bundled("router-in.pcap"), clitest.Bundled("router-out.pcap"))
	for _, want := range []string{
		"B lacks 18 of the 326 packets of A (5.521 %), A lacks 6 of the 314 packets of B (1.911 %); 2 more are from before or after the other capture.\n", "328 packets, 18 of them only in A, 2 before or after the other capture",
		"offset      +0.0", "drift       ", "delay above the fastest", "icmpv6      16         10          4", "icmp 10.10.0.1 <> 10.10.0.2 ", "compared    by l3, within 100ms",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in %s", want, out)
		}
	}
	if code != cli.ExitDifferent || errs != "" || strings.Count(out, " <> ") != 3 {
		t.Errorf("exit code %d, %s", code, errs)
	}
	if out, errs, code := clitest.Run("compare", "-q", clitest.Bundled("router-in.pcap"), clitest.Bundled("router-out.pcap")); code != cli.ExitDifferent || out+errs != "" {
		t.Errorf("exit code %d, %q", code, out+errs)
	}
	// Packets on standard output: the summary goes to standard error.
	var stdout, stderr bytes.Buffer
	cmd := clitest.Program(t, "compare", "--only-a", "-", clitest.Bundled("router-in.pcap"), clitest.Bundled("router-out.pcap"))
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	code = clitest.ExitCode(t, cmd.Run())
	if !strings.HasPrefix(stderr.String(), "B lacks 18") || !strings.HasPrefix(stdout.String(), "\xd4\xc3\xb2\xa1") || code != cli.ExitDifferent {
		t.Errorf("exit code %d, %.100q, %.100q", code, stdout.String(), stderr.String())
	}
}

// TestCompareSnapped compares captures with different snap lengths.
func TestCompareSnapped(t *testing.T) {
	dir := t.TempDir()
	whole, cut := filepath.Join(dir, "whole.pcapng"), filepath.Join(dir, "cut.pcapng")
	clitest.WritePart(t, whole, clitest.Bundled("router-snap96.pcapng"), func(_ int, b *capture.Batch, i int) bool { return b.Frames[i].Interface == 0 })
	clitest.WritePart(t, cut, clitest.Bundled("router-snap96.pcapng"), func(_ int, b *capture.Batch, i int) bool { return b.Frames[i].Interface == 1 })
	r, _ := clitest.RunCompare(t, cli.ExitDifferent, whole, cut)
	if r.Both != 291 || r.IdentityBytes != 82 || r.A.Truncated == 0 {
		t.Errorf("%+v", r)
	}
}

// TestCompareNAT compares both sides of an address translation.
func TestCompareNAT(t *testing.T) {
	router := clitest.ReadFile(t, clitest.Bundled("router-out.pcap"))
	translated := filepath.Join(t.TempDir(), "translated.pcap")
	data := bytes.ReplaceAll(router, []byte{10, 10, 0, 2}, []byte{192, 0, 2, 7})
	if err := os.WriteFile(translated, data, 0o600); err != nil {
		t.Fatal(err)
	}
	plain, _ := clitest.RunCompare(t, cli.ExitDifferent, clitest.Bundled("router-in.pcap"), translated)
	r, _ := clitest.RunCompare(t, cli.ExitDifferent, clitest.Bundled("router-in.pcap"), translated, "--ignore", "nat", "--top", "1000")
	if r.Both != 308 || plain.Both > 200 {
		t.Errorf("%d packets in both, %d without", r.Both, plain.Both)
	}
	for _, c := range r.Conversations {
		if strings.Contains(c.Name, "192.0.2.7") {
			t.Errorf("conversation %s", c.Name)
		}
	}
}

// TestCompareUsage rejects command lines.
func TestCompareUsage(t *testing.T) {
	in, out := clitest.Bundled("router-in.pcap"), clitest.Bundled("router-out.pcap")
	for _, args := range [][]string{
		{in}, {in, out, in}, {}, {"-", "-"}, {in, ""}, {in, out, "--only-a", ""}, {in, out, "--only-a", in}, {in, out, "--only-b", in},
		{in, out, "--only-a", "x.pcap", "--only-b", "x.pcap"}, {in, out, "--only-a", "-", "--only-b", "-"}, {in, out, "--window", "0"},
		{in, out, "--window", "n:5"}, {in, out, "--memory", "x"}, {in, out, "--top", "-1"}, {in, out, "--identity-bytes", "-1"},
		{in, out, "--identity", "l4"}, {in, out, "--ignore", "dns"}, {in, "tcp://nowhere"},
	} {
		if out, errs, code := clitest.Run(append([]string{"compare"}, args...)...); code != cli.ExitUsage || out != "" || errs == "" {
			t.Errorf("%v: exit code %d, %q, %q", args, code, out, errs)
		}
	}
}
