// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// meanings are conditions and what they mean for the frames of the model.
var meanings = map[string]func(*clitest.Seen) bool{
	"ether[5] = 2":         func(p *clitest.Seen) bool { return p.Data[5] == 2 },
	"ether[12:2] = 0x8100": func(p *clitest.Seen) bool { return p.Data[12:14] == "\x81\x00" },
	"greater 62":           func(p *clitest.Seen) bool { return p.Wire >= 62 },
	"ip":                   func(p *clitest.Seen) bool { return p.Data[12:14] == "\x08\x00" },
	"udp and ether[0] = 2": func(p *clitest.Seen) bool { return isPlainUDP(p.Data) },
	"interface point1":     func(p *clitest.Seen) bool { return p.Iface == 1 },
	"not (ip or ip6)":      func(p *clitest.Seen) bool { return p.Data[12:14] != "\x08\x00" && p.Data[12:14] != "\x86\xdd" },
	"ether[6] != 2":        func(*clitest.Seen) bool { return false },
}

func isPlainUDP(f string) bool {
	return f[12:14] == "\x08\x00" && f[14+9] == 17 || f[12:14] == "\x86\xdd" && f[14+6] == 17
}

// TestConditionModel compares --only and --protect with the model, for random options on
// random streams, several numbers of workers, and small batches.
func TestConditionModel(t *testing.T) {
	t.Parallel()
	clitest.NeedTcpdump(t)
	rng := rand.New(rand.NewPCG(5, 6))
	var texts []string
	for text := range meanings {
		texts = append(texts, text)
	}
	slices.Sort(texts)
	for range clitest.Sample(4, make([]int, 40)) {
		m := dedupModel{identity: "l3", across: rng.IntN(4) == 0, refresh: rng.IntN(4) == 0}
		if rng.IntN(2) == 0 {
			m.packets = 1 + rng.IntN(40)
		} else {
			m.duration = time.Duration(1+rng.IntN(1000)) * time.Microsecond
		}
		if rng.IntN(4) > 0 {
			text := texts[rng.IntN(len(texts))]
			m.only, m.flags = meanings[text], append(m.flags, "--only", text)
		}
		if text := texts[rng.IntN(len(texts))]; m.only == nil || rng.IntN(2) == 0 {
			m.protect, m.flags = meanings[text], append(m.flags, "--protect", text)
		}
		m.flags = append(m.flags, "--workers", fmt.Sprint(1+rng.IntN(3)))
		stream := clitest.RandomStream(rng, 300, 3, 100*time.Microsecond)
		checkModel(t, &m, clitest.WriteStream(t, stream, 3), stream)
	}
}

// TestConditionCounts checks what summaries say about --only and --protect.
func TestConditionCounts(t *testing.T) {
	clitest.NeedTcpdump(t)
	name := clitest.Bundled("router-plain.pcapng")
	type counts struct {
		PacketsIn           uint64 `json:"packets_in"`
		PacketsOut          uint64 `json:"packets_out"`
		Duplicates          uint64
		Unjudged, Protected *uint64
	}
	summary := func(args ...string) (c counts) {
		t.Helper()
		out, errs, code := clitest.Run(append([]string{"dedup", "--json", name}, args...)...)
		if err := json.Unmarshal([]byte(out), &c); err != nil || code != cli.ExitDone || errs != "" {
			t.Fatalf("%v: %v, %s", args, err, errs)
		}
		return c
	}
	all, tcp, filtered := summary(), summary("--only", "tcp"), summary("--filter", "tcp")
	if all.Unjudged != nil || all.Protected != nil || tcp.Protected != nil {
		t.Errorf("%+v, %+v", all, tcp)
	}
	if *tcp.Unjudged != all.PacketsIn-filtered.PacketsIn || tcp.Duplicates != filtered.Duplicates || tcp.PacketsOut != all.PacketsIn-tcp.Duplicates {
		t.Errorf("--only tcp: %+v, %d unjudged, want %+v", tcp, *tcp.Unjudged, filtered)
	}
	kept := summary("--protect", "tcp")
	if *kept.Protected != filtered.Duplicates || kept.Duplicates != all.Duplicates-filtered.Duplicates {
		t.Errorf("--protect tcp: %+v, %d protected, want %+v", kept, *kept.Protected, filtered)
	}
	both := summary("--only", "tcp", "--protect", "interface eth1")
	one := summary("--only", "tcp", "--protect", "interface eth0")
	if *both.Protected+*one.Protected != tcp.Duplicates || *both.Unjudged != *tcp.Unjudged {
		t.Errorf("both flags: %+v and %+v, want %+v", both, one, tcp)
	}
	text, _, _ := clitest.Run("dedup", name, "--only", "tcp", "--protect", "interface eth1")
	for _, want := range []string{
		fmt.Sprintf("unjudged    %d packets", *both.Unjudged), fmt.Sprintf("protected   %d duplicates", *both.Protected),
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
}

// TestConditionWarnings checks the messages about conditions that match nothing or are
// invalid.
func TestConditionWarnings(t *testing.T) {
	clitest.NeedTcpdump(t)
	plain, tunnel := clitest.Bundled("router-plain.pcapng"), clitest.Bundled("tunnel-raw.pcap")
	for _, c := range []struct {
		args []string
		code int
		want []string
	}{
		{[]string{plain, "--only", "port 9", "--protect", "interface eth7", "--prefer", "tcp", "--prefer", "vlan 77"}, cli.ExitDone,
			[]string{"no packet matched --only port 9", "no packet matched --protect interface eth7", "no packet matched --prefer vlan 77"}},
		{[]string{plain, "--only", "no such word"}, cli.ExitUsage, []string{"--only: wrong filter expression: tcpdump: "}},
		{[]string{tunnel, "--protect", "ether host 2:0:0:0:0:1"}, cli.ExitUsage, []string{"--protect: wrong filter expression: tcpdump: "}},
		{[]string{"--no-merge", plain, tunnel, "--prefer", "ether host 2:0:0:0:0:1 or tcp"}, cli.ExitDone,
			[]string{"no packet of link type RAW matches: --prefer: wrong filter expression"}},
		{[]string{plain, tunnel, "--only", "input " + tunnel, "--protect", "input " + plain}, cli.ExitDone, nil},
	} {
		out, errs, code := clitest.Run(append([]string{"dedup"}, c.args...)...)
		if code != c.code || (code == cli.ExitUsage) != (out == "") || strings.Count(errs, "\n") != len(c.want) {
			t.Errorf("%v: exit code %d, %q, %q", c.args, code, out, errs)
		}
		for _, want := range c.want {
			if !strings.Contains(errs, want) {
				t.Errorf("%v: %q, want %q", c.args, errs, want)
			}
		}
	}
}

// TestOnlyInput judges one of two inputs: the other passes whole, and the first loses the same
// as by itself.
func TestOnlyInput(t *testing.T) {
	a, b := clitest.Bundled("loopback-twice.pcap"), clitest.Bundled("router-plain.pcapng")
	alone, whole := clitest.RunDedup(t, cli.ExitDone, a), clitest.RunDedup(t, cli.ExitDone, b)
	out := filepath.Join(t.TempDir(), "out.pcapng")
	for _, flags := range [][]string{{"--only", "input " + a}, {"--protect", "input " + b}} {
		got := clitest.RunDedup(t, cli.ExitDone, append([]string{a, b, "-w", out}, flags...)...)
		if got.Duplicates != alone.Duplicates || got.PacketsOut != alone.PacketsOut+whole.PacketsIn || alone.Duplicates == 0 {
			t.Errorf("%v: %+v, want %+v", flags, got, alone)
		}
	}
}

// checkInputModel counts the copies in the second of two inputs.
func checkInputModel(t *testing.T, m *dedupModel, name string, stream []clitest.Seen) {
	t.Helper()
	_, copies := m.split(stream)
	var s struct{ Inputs []struct{ Duplicates uint64 } }
	out, errs, code := clitest.Run(append(append([]string{"dedup", "--json"}, m.args()...), name)...)
	if err := json.Unmarshal([]byte(out), &s); err != nil || code != cli.ExitDone {
		t.Fatal(err, errs)
	}
	if got := s.Inputs[1].Duplicates; got != uint64(len(copies)) {
		t.Errorf("%v: %d copies, want %d", m.args(), got, len(copies))
	}
}

// preferred returns what stays if each first sighting is exchanged for the copy of the
// lowest rank, of several the first. All copies come within the hold. Protected packets
// are not exchanged.
func (m *dedupModel) preferred(stream []clitest.Seen, rank func(*clitest.Seen) int) (kept []clitest.Record) {
	stays := make([]bool, len(stream))
	for i := range stays {
		stays[i] = true
	}
	best := map[string]int{} // of equal packets so far
	judged := m.judged(stream)
	for i, isCopy := range m.verdicts(stream, judged) {
		at := judged[i]
		p := &stream[at]
		id := m.of(&clitest.Seen{Record: p.Record, Iface: p.Iface})
		switch old := best[id]; {
		case !isCopy:
			best[id] = at
		case m.protects(p):
		case !m.protects(&stream[old]) && rank(p) < rank(&stream[old]):
			stays[old], best[id] = false, at
		default:
			stays[at] = false
		}
	}
	for i := range stream {
		if stays[i] {
			kept = append(kept, stream[i].Record)
		}
	}
	return kept
}

// TestPreferModel compares --prefer with the model, also with --only and --protect.
func TestPreferModel(t *testing.T) {
	t.Parallel()
	clitest.NeedTcpdump(t)
	rng := rand.New(rand.NewPCG(11, 12))
	texts := slices.Sorted(maps.Keys(meanings))
	dir := t.TempDir()
	exchanged := 0
	rounds := len(clitest.Sample(5, make([]int, 50)))
	for round := range rounds {
		m := dedupModel{identity: "l3", duration: time.Duration(100+rng.IntN(2000)) * time.Microsecond}
		var wanted []string
		for range 1 + rng.IntN(3) {
			wanted = append(wanted, texts[rng.IntN(len(texts))])
			m.flags = append(m.flags, "--prefer", wanted[len(wanted)-1])
		}
		if rng.IntN(3) == 0 {
			text := texts[rng.IntN(len(texts))]
			m.only, m.flags = meanings[text], append(m.flags, "--only", text)
		}
		if rng.IntN(3) == 0 {
			text := texts[rng.IntN(len(texts))]
			m.protect, m.flags = meanings[text], append(m.flags, "--protect", text)
		}
		rank := func(p *clitest.Seen) int {
			at := slices.IndexFunc(wanted, func(text string) bool { return meanings[text](p) })
			if at < 0 {
				at = len(wanted)
			}
			return at
		}
		stream := clitest.RandomStream(rng, 400, 3, 100*time.Microsecond)
		want := m.preferred(stream, rank)
		first, _ := m.split(stream)
		for i := range want {
			if want[i] != first[i] {
				exchanged++
			}
		}
		name, out := clitest.WriteStream(t, stream, 3), filepath.Join(dir, fmt.Sprint(round))
		for _, workers := range []string{"1", "3"} {
			r := clitest.RunDedup(t, cli.ExitDone, append(m.args(), "--hold", m.duration.String(), "--workers", workers, "-w", out, name)...)
			if r.PacketsOut != uint64(len(want)) {
				t.Errorf("%v: %+v, want %d kept", m.flags, r, len(want))
			}
			clitest.CompareRecords(t, strings.Join(m.args(), " "), clitest.ReadAll(t, out), want)
		}
	}
	if exchanged < 10*rounds {
		t.Errorf("%d packets exchanged: the streams test little", exchanged)
	}
}

// TestPreferBundled asks for one side of a router, then for the other: all packets that
// were seen there are from there.
func TestPreferBundled(t *testing.T) {
	name, out := clitest.Bundled("router-plain.pcapng"), filepath.Join(t.TempDir(), "out.pcapng")
	stream := clitest.ReadStream(t, name)
	m := dedupModel{identity: "l3", duration: time.Millisecond}
	for side, iface := range []string{"eth0", "eth1"} {
		want := m.preferred(stream, func(p *clitest.Seen) int { return (p.Iface + side) % 2 })
		r := clitest.RunDedup(t, cli.ExitDone, "--prefer", "interface "+iface, "-w", out, name)
		if r.PacketsOut != uint64(len(want)) {
			t.Errorf("%s: %+v, want %d kept", iface, r, len(want))
		}
		clitest.CompareRecords(t, iface, clitest.ReadAll(t, out), want)
	}
	in, other := clitest.Bundled("router-in.pcap"), clitest.Bundled("router-out.pcap")
	for _, prefer := range []string{in, other} {
		var s struct {
			Inputs []struct {
				Packets    uint64 `json:"packets_in"`
				Duplicates uint64
			}
		}
		text, errs, code := clitest.Run("dedup", "--json", "--across", "--prefer", "input "+prefer, in, other)
		if err := json.Unmarshal([]byte(text), &s); err != nil || code != cli.ExitDone || errs != "" {
			t.Fatal(err, errs)
		}
		at := slices.Index([]string{in, other}, prefer)
		if s.Inputs[at].Duplicates != 0 || s.Inputs[1-at].Duplicates != 308 {
			t.Errorf("--prefer input %s: %+v", prefer, s)
		}
	}
}
