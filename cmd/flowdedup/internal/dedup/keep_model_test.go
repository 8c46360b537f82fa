// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
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

// checkInputModel counts the copies in the second of two inputs.
func checkInputModel(t *testing.T, m *dedupModel, name string, stream []clitest.Seen) {
	t.Helper()
	_, copies := m.split(stream)
	if got := clitest.RunDedup(t, cli.ExitDone, append(m.args(), name)...).Inputs[1].Duplicates; got != uint64(len(copies)) {
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
}
