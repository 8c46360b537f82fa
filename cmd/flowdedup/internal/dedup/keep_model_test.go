// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
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

// vlansOf returns the VLAN stack of a frame of the model.
func vlansOf(p *clitest.Seen) string {
	var words []string
	for i := range clitest.TagsOf([]byte(p.Data)) {
		words = append(words, fmt.Sprint(binary.BigEndian.Uint16([]byte(p.Data)[14+4*i:])&0xfff))
	}
	return strings.Join(words, ".")
}

// groups are fields of --within and what they mean for the frames of the model.
var groups = map[string]func(*clitest.Seen) string{
	"vlan":           vlansOf,
	"interface":      func(p *clitest.Seen) string { return fmt.Sprint(p.Iface) },
	"input":          func(*clitest.Seen) string { return "" },
	"lan":            pathOf,
	"vlan,interface": func(p *clitest.Seen) string { return fmt.Sprint(p.Iface, " ", vlansOf(p)) },
}

// TestWithinModel compares --within with the model. Another input holds nothing but one
// more packet.
func TestWithinModel(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 8))
	for within, group := range groups {
		for range clitest.Sample(4, make([]int, 12)) {
			m := dedupModel{identity: []string{"l3", "frame"}[rng.IntN(2)], ignore: "vlan", group: group, flags: []string{"--within", within}}
			if m.across = rng.IntN(3) == 0 && !strings.Contains(within, "interface"); rng.IntN(2) == 0 {
				m.packets = 1 + rng.IntN(40)
			} else {
				m.duration = time.Duration(1+rng.IntN(1000)) * time.Microsecond
			}
			m.flags = append(m.flags, "--workers", fmt.Sprint(1+rng.IntN(3)))
			stream := clitest.RandomStream(rng, 300, 3, 100*time.Microsecond)
			name := clitest.WriteStream(t, stream, 3)
			if within == "input" { // only several have any
				m.flags = append(m.flags, "--no-merge", clitest.Bundled("router-out.pcap"))
				checkInputModel(t, &m, name, stream)
				continue
			}
			checkModel(t, &m, name, stream)
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

// TestWithinBundled counts the copies in captures of a router with the same frames on
// trunks and VLAN interfaces, without the model: by the bytes of the frames.
func TestWithinBundled(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"router-vlan.pcapng", "router-qinq.pcapng", "router-plain.pcapng"} {
		name := clitest.Bundled(file)
		all := clitest.RunDedup(t, cli.ExitDone, name)
		across := clitest.RunDedup(t, cli.ExitDone, name, "--across")
		same := clitest.RunDedup(t, cli.ExitDone, name, "--within", "interface")
		// The router's interfaces get no packet twice within a millisecond, so all copies
		// come from other interfaces.
		if same.Duplicates != 0 || across.Duplicates != all.Duplicates || all.Duplicates == 0 {
			t.Errorf("%s: %d copies within an interface, %d across, %d in all", file, same.Duplicates, across.Duplicates, all.Duplicates)
		}
		stream := clitest.ReadStream(t, name)
		m := dedupModel{identity: "l3", duration: time.Millisecond, group: vlansOf, flags: []string{"--within", "vlan"}}
		checkModel(t, &m, name, stream)
		_, copies := m.split(stream)
		if tagged := strings.Contains(file, "plain"); tagged != (uint64(len(copies)) == all.Duplicates) {
			t.Errorf("%s: %d of %d copies on one VLAN", file, len(copies), all.Duplicates)
		}
	}
}

// vxlan returns an Ethernet frame with a frame in VXLAN (RFC 7348).
func vxlan(vni byte, id byte, inner []byte) []byte {
	udp := append([]byte{0x30, 0x39, 0x12, 0xb5, 0, byte(16 + len(inner)), 0, 0, 8, 0, 0, 0, 0, 0, vni, 0}, inner...)
	ip := append([]byte{0x45, 0, 0, byte(20 + len(udp)), id, id, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2}, udp...)
	return append([]byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0}, ip...)
}

// TestWithinTenants checks two tenants with equal addresses: equal packets of both are
// copies only without --within vni.
func TestWithinTenants(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	at := time.Date(2026, 3, 28, 21, 0, 0, 0, time.UTC).UnixNano()
	var stream []clitest.Seen
	type sent struct {
		vni   byte
		inner string
	}
	perTenant, inAll := map[sent]bool{}, map[string]bool{}
	wantWithin, wantAll := 0, 0
	for i := range 500 {
		load, port := uint8(rng.IntN(60)), uint8(rng.IntN(3))
		inner := clitest.UDPFrame(port, load)
		vni := byte(1 + rng.IntN(2))
		if inAll[string(inner)] {
			wantAll++
		}
		if key := (sent{vni, string(inner)}); perTenant[key] {
			wantWithin++
		} else {
			perTenant[key] = true
		}
		inAll[string(inner)] = true
		data := vxlan(vni, byte(i), inner)
		stream = append(stream, clitest.Seen{Record: clitest.Record{Time: at + int64(i), Wire: uint32(len(data)), Data: string(data)}})
	}
	name := clitest.WriteStream(t, stream, 1)
	for _, workers := range []string{"1", "3"} {
		for _, digest := range []string{"aes", "highway"} {
			flags := []string{name, "--identity", "inner", "--workers", workers, "--digest", digest, "--window", "1s"}
			all := clitest.RunDedup(t, cli.ExitDone, flags...)
			within := clitest.RunDedup(t, cli.ExitDone, append(flags, "--within", "vni")...)
			both := clitest.RunDedup(t, cli.ExitDone, append(flags, "--within", "vni,vlan,interface")...)
			text, _, _ := clitest.Run(append([]string{"dedup", "--within", "vni,vlan"}, flags...)...)
			if !strings.Contains(text, "inner identity within 1s, with the same vlan, vni\n") {
				t.Error(text)
			}
			if all.Duplicates != uint64(wantAll) || within.Duplicates != uint64(wantWithin) || both != within || wantAll == wantWithin {
				t.Errorf("%d and %d copies within a tenant, want %d; %d in all, want %d", within.Duplicates, both.Duplicates, wantWithin, all.Duplicates, wantAll)
			}
		}
	}
}

// TestWithinInput gives a capture twice: each of the two has only its own copies.
func TestWithinInput(t *testing.T) {
	name := clitest.Bundled("loopback-twice.pcap")
	data := clitest.ReadFile(t, name)
	again := filepath.Join(t.TempDir(), "again.pcap")
	if err := os.WriteFile(again, data, 0o600); err != nil {
		t.Fatal(err)
	}
	alone, all := clitest.RunDedup(t, cli.ExitDone, name), clitest.RunDedup(t, cli.ExitDone, name, again)
	for _, within := range []string{"input", "interface"} {
		if got := clitest.RunDedup(t, cli.ExitDone, name, again, "--within", within); got.Duplicates != 2*alone.Duplicates || all.Duplicates <= got.Duplicates {
			t.Errorf("%s: %d copies, want 2 x %d; %d in all", within, got.Duplicates, alone.Duplicates, all.Duplicates)
		}
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
