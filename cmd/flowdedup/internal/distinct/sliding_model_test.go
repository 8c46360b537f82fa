// SPDX-License-Identifier: Apache-2.0

package distinct_test

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// slidingModel is the contract of sliding windows by brute force: it looks at all packets
// for each row.
type slidingModel struct {
	of            string
	window, slide int64
	keys          func(frame []byte) (family string, keys []string)
}

// counts returns all rows that there must be.
func (m *slidingModel) counts(stream []clitest.Record) map[cell]tally {
	out := map[cell]tally{}
	last := slices.MaxFunc(stream, func(a, b clitest.Record) int { return int(a.Time/m.slide - b.Time/m.slide) }).Time
	for _, end := range m.ends(stream) {
		if end > last+m.slide {
			continue
		}
		// A row is written when the first packet of a later slide comes.
		ended := slices.IndexFunc(stream, func(p clitest.Record) bool { return p.Time >= end })
		if ended < 0 {
			ended = len(stream)
		}
		m.add(out, end, stream[:ended])
	}
	return out
}

// ends returns the multiples of the slide whose window contains a packet.
func (m *slidingModel) ends(stream []clitest.Record) []int64 {
	ends := map[int64]bool{}
	for _, p := range stream {
		for end := p.Time - p.Time%m.slide + m.slide; end <= p.Time+m.window; end += m.slide {
			ends[end] = true
		}
	}
	return slices.Sorted(maps.Keys(ends))
}

// add adds the rows of the window before end, if it contains a packet.
func (m *slidingModel) add(out map[cell]tally, end int64, stream []clitest.Record) {
	rows, known := map[string]tally{}, map[string]bool{}
	any := false
	for _, p := range stream {
		if p.Time < end-m.window || p.Time >= end {
			continue
		}
		any = true
		family, keys := m.keys([]byte(p.Data))
		for _, f := range []string{family, "all"} {
			row := rows[f]
			row.packets += uint64(min(1, len(keys)))
			for _, key := range keys {
				if id := f + " " + key; !known[id] {
					known[id] = true
					row.distinct++
				}
			}
			rows[f] = row
		}
	}
	for _, f := range []string{"ipv4", "ipv6", "all"} {
		if any {
			format := func(t int64) string { return stampOf(time.Unix(0, t).UTC()) }
			out[cell{format(end - m.window), format(end), m.of, f}] = rows[f]
		}
	}
}

func (m *slidingModel) check(t *testing.T, name string, stream []clitest.Record, more ...string) {
	t.Helper()
	want := m.counts(stream)
	for _, method := range []string{"auto", "exact"} {
		args := append([]string{"distinct", "--json", "--quiet", "--no-merge", "--method", method, "--of", m.of, name}, more...)
		args = append(args, "--every", time.Duration(m.window).String(), "--slide", time.Duration(m.slide).String())
		out, errs, code := clitest.Run(args...)
		if code != cli.ExitDone || errs != "" {
			t.Fatalf("%s: exit code %d: %s", args, code, errs)
		}
		if got, _ := readRows(t, out); !maps.Equal(got, want) {
			t.Errorf("%s:\n got %v\nwant %v", args, got, want)
		}
	}
}

// TestSlidingModel compares distinct with the model over streams in order, out of order,
// with gaps longer than the window, and with packets further apart than it.
func TestSlidingModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	stream := clitest.RandomStream(rng, 300, 1, 20*time.Second)
	second := int64(time.Second)
	shift := map[string]func(i int) int64{
		"in order":     func(int) int64 { return 0 },
		"out of order": func(int) int64 { return rng.Int64N(20 * second) },
		"gaps":         func(i int) int64 { return int64(i/90) * 3600 * second },
		"far apart":    func(i int) int64 { return int64(i) * 400 * second },
		"clock set":    func(i int) int64 { return -int64(i/100) * 7200 * second },
	}
	for name, shift := range shift {
		shifted := slices.Clone(stream)
		var records []clitest.Record
		for i := range shifted {
			shifted[i].Time += shift(i)
			records = append(records, shifted[i].Record)
		}
		if name == "clock set" {
			checkClockSet(t, clitest.WriteStream(t, shifted, 1), records)
			continue
		}
		in := clitest.WriteStream(t, shifted, 1)
		for _, of := range clitest.Sample(3, []string{"src", "ip", "flow"}) {
			parse := &distinctModel{of: of, mask4: 32, mask6: 128}
			for _, slides := range []int64{1, 5, 12} {
				m := &slidingModel{of: of, window: 300 * second, slide: 300 * second / slides, keys: parse.keys}
				t.Run(fmt.Sprintf("%s/%s/%d", name, of, slides), func(t *testing.T) { m.check(t, in, records) })
			}
		}
	}
}

// checkClockSet compares a stream whose clock was set back with the model. Each part has the
// same rows as by itself.
func checkClockSet(t *testing.T, in string, records []clitest.Record) {
	t.Helper()
	m := &slidingModel{of: "src", window: 300e9, slide: 60e9, keys: (&distinctModel{of: "src", mask4: 32, mask6: 128}).keys}
	want := map[cell]tally{}
	for part := range slices.Chunk(records, 100) {
		maps.Copy(want, m.counts(part))
		// The last part by itself has no rows behind its last packet.
		if part[0] != records[200] {
			for end := part[99].Time - part[99].Time%m.slide + m.slide; end <= part[99].Time+m.window; end += m.slide {
				m.add(want, end, part)
			}
		}
	}
	for _, method := range []string{"auto", "exact"} {
		out, errs, code := clitest.Run("distinct", "--json", "--of", "src", "--every", "5m", "--slide", "1m", "--method", method, in)
		if got, _ := readRows(t, out); code != cli.ExitDone || errs != "" || !maps.Equal(got, want) {
			t.Errorf("%s: exit code %d: %s\n got %v\nwant %v", method, code, errs, got, want)
		}
	}
}

// TestSlidingWildClock adds packets of the years 2100 and 1970, single ones or bursts
// just below the quorum. The rows stay the same.
func TestSlidingWildClock(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	stream := clitest.RandomStream(rng, 300, 1, 20*time.Second)
	args := []string{"distinct", "--no-merge", "--json", "--every", "5m", "--slide", "1m"}
	good, _, _ := clitest.Run(append(args, clitest.WriteStream(t, stream, 1))...)
	want, _ := readRows(t, good)
	for _, burst := range []int{1, calendar.Quorum - 1} {
		var wild []clitest.Seen
		for i := range stream {
			wild = append(wild, stream[i])
			if i%50 == 25 {
				odd := stream[i]
				odd.Time = int64(i/50%2) * time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()
				wild = append(wild, slices.Repeat([]clitest.Seen{odd}, burst)...)
			}
		}
		odd, errs, code := clitest.Run(append(args, clitest.WriteStream(t, wild, 1))...)
		got, _ := readRows(t, odd)
		if late := fmt.Sprintf("%d packets are not counted", 6*burst); code != cli.ExitDone || !maps.Equal(got, want) || !strings.Contains(errs, late) {
			t.Errorf("bursts of %d: exit code %d: %s\n got %v\nwant %v", burst, code, errs, got, want)
		}
	}
}

// plainAddress is an independent parser for Ethernet.
func plainAddress(frame []byte) (family string, keys []string) {
	at := 12
	for len(frame) >= at+4 && (binary.BigEndian.Uint16(frame[at:]) == 0x8100 || binary.BigEndian.Uint16(frame[at:]) == 0x88a8) {
		at += 4
	}
	if len(frame) < at+2 {
		return "", nil
	}
	ip := frame[at+2:]
	switch kind := binary.BigEndian.Uint16(frame[at:]); {
	case kind == 0x0800 && len(ip) >= 20 && ip[0]>>4 == 4:
		return "ipv4", []string{netip.AddrFrom4([4]byte(ip[12:])).String()}
	case kind == 0x86dd && len(ip) >= 40 && ip[0]>>4 == 6:
		return "ipv6", []string{netip.AddrFrom16([16]byte(ip[8:])).String()}
	}
	return "", nil
}

// TestSharedSliding compares real captures with the model, whose parser knows only
// Ethernet with VLANs.
func TestSharedSliding(t *testing.T) {
	dir := clitest.SharedDir(t)
	for _, name := range clitest.Sample(4, []string{
		"ndpi__1kxun.pcap", "ndpi__sites.pcapng", "sharppcap__10k_packets.pcap", "suricatave__denial6-6.pcap",
		"nfstream__cassandra.pcap", "nfstream__doq.pcapng", "wireshark__dns+icmp.pcapng.gz",
	}) {
		path := filepath.Join(dir, name)
		stream := clitest.ReadAll(t, path)
		first, last := stream[0].Time, stream[len(stream)-1].Time
		slide := max((last-first)/30/1e6*1e6, 1e6)
		for _, slides := range []int64{1, 7} {
			if time.Duration(slides*slide) > cli.MaxSlidingSpan {
				continue
			}
			m := &slidingModel{of: "src", window: slides * slide, slide: slide, keys: plainAddress}
			t.Run(fmt.Sprintf("%s/%d", name, slides), func(t *testing.T) { m.check(t, path, stream) })
		}
	}
}
