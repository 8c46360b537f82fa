package cli

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// meanings are conditions and what they mean for the frames of the model.
var meanings = map[string]func(*seen) bool{
	"ether[5] = 2":         func(p *seen) bool { return p.data[5] == 2 },
	"ether[12:2] = 0x8100": func(p *seen) bool { return p.data[12:14] == "\x81\x00" },
	"greater 62":           func(p *seen) bool { return p.wire >= 62 },
	"ip":                   func(p *seen) bool { return p.data[12:14] == "\x08\x00" },
	"udp and ether[0] = 2": func(p *seen) bool { return isPlainUDP(p.data) },
	"interface point1":     func(p *seen) bool { return p.iface == 1 },
	"not (ip or ip6)":      func(p *seen) bool { return p.data[12:14] != "\x08\x00" && p.data[12:14] != "\x86\xdd" },
	"ether[6] != 2":        func(*seen) bool { return false },
}

func isPlainUDP(f string) bool {
	return f[12:14] == "\x08\x00" && f[14+9] == 17 || f[12:14] == "\x86\xdd" && f[14+6] == 17
}

// TestConditionModel compares --only and --protect with the model, for random options on
// random streams, several numbers of workers, and small batches.
func TestConditionModel(t *testing.T) {
	needTcpdump(t)
	rng := rand.New(rand.NewPCG(5, 6))
	var texts []string
	for text := range meanings {
		texts = append(texts, text)
	}
	slices.Sort(texts)
	for range 40 {
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
		stream := randomStream(rng, 300, 3, 100*time.Microsecond)
		checkModel(t, &m, writeStream(t, stream, 3), stream)
	}
}

// TestConditionCounts checks what summaries say about --only and --protect.
func TestConditionCounts(t *testing.T) {
	needTcpdump(t)
	name := bundled("router-plain.pcapng")
	type counts struct {
		PacketsIn           uint64 `json:"packets_in"`
		PacketsOut          uint64 `json:"packets_out"`
		Duplicates          uint64
		Unjudged, Protected *uint64
	}
	summary := func(args ...string) (c counts) {
		t.Helper()
		out, errs, code := run(append([]string{"dedup", "--json", name}, args...)...)
		if err := json.Unmarshal([]byte(out), &c); err != nil || code != exitDone || errs != "" {
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
	text, _, _ := run("dedup", name, "--only", "tcp", "--protect", "interface eth1")
	for _, want := range []string{
		fmt.Sprintf("unjudged    %d packets", *both.Unjudged), fmt.Sprintf("protected   %d duplicates", *both.Protected),
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
}

// TestConditionWarnings checks what is said about conditions that choose nothing, and
// about those without a meaning.
func TestConditionWarnings(t *testing.T) {
	needTcpdump(t)
	plain, tunnel := bundled("router-plain.pcapng"), bundled("tunnel-raw.pcap")
	for _, c := range []struct {
		args []string
		code int
		want []string
	}{
		{[]string{plain, "--only", "port 9", "--protect", "interface eth7", "--prefer", "tcp", "--prefer", "vlan 77"}, exitDone,
			[]string{"no packet matched --only port 9", "no packet matched --protect interface eth7", "no packet matched --prefer vlan 77"}},
		{[]string{plain, "--only", "no such word"}, exitUsage, []string{"--only: wrong filter expression: tcpdump: "}},
		{[]string{tunnel, "--protect", "ether host 2:0:0:0:0:1"}, exitUsage, []string{"--protect: wrong filter expression: tcpdump: "}},
		{[]string{"--no-merge", plain, tunnel, "--prefer", "ether host 2:0:0:0:0:1 or tcp"}, exitDone,
			[]string{"no packet of link type RAW matches: --prefer: wrong filter expression"}},
		{[]string{plain, tunnel, "--only", "input " + tunnel, "--protect", "input " + plain}, exitDone, nil},
	} {
		out, errs, code := run(append([]string{"dedup"}, c.args...)...)
		if code != c.code || (code == exitUsage) != (out == "") || strings.Count(errs, "\n") != len(c.want) {
			t.Errorf("%v: exit code %d, %q, %q", c.args, code, out, errs)
		}
		for _, want := range c.want {
			if !strings.Contains(errs, want) {
				t.Errorf("%v: %q, want %q", c.args, errs, want)
			}
		}
	}
}

// TestOnlyInput judges one of two inputs: the other passes whole, and the first loses
// what it loses alone.
func TestOnlyInput(t *testing.T) {
	a, b := bundled("loopback-twice.pcap"), bundled("router-plain.pcapng")
	alone, whole := runDedup(t, exitDone, a), runDedup(t, exitDone, b)
	out := filepath.Join(t.TempDir(), "out.pcapng")
	for _, flags := range [][]string{{"--only", "input " + a}, {"--protect", "input " + b}} {
		got := runDedup(t, exitDone, append([]string{a, b, "-w", out}, flags...)...)
		if got.Duplicates != alone.Duplicates || got.PacketsOut != alone.PacketsOut+whole.PacketsIn || alone.Duplicates == 0 {
			t.Errorf("%v: %+v, want %+v", flags, got, alone)
		}
	}
}

// vlansOf returns the VLAN stack of a frame of the model.
func vlansOf(p *seen) string {
	var words []string
	for i := range tagsOf([]byte(p.data)) {
		words = append(words, fmt.Sprint(binary.BigEndian.Uint16([]byte(p.data)[14+4*i:])&0xfff))
	}
	return strings.Join(words, ".")
}
