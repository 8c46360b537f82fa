// SPDX-License-Identifier: Apache-2.0

package distinct_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
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

// distinctModel is the contract of distinct, implemented with maps.
type distinctModel struct {
	of           string
	every        time.Duration // 0: one window
	zone         string
	mask4, mask6 int
	vlan         bool
}

func (m *distinctModel) args() []string {
	args := []string{"--of", m.of, "--tz", m.zone, "--mask4", fmt.Sprint(m.mask4), "--mask6", fmt.Sprint(m.mask6)}
	if m.every > 0 {
		args = append(args, "--every", m.every.String())
	} else {
		args = append(args, "--every", "none")
	}
	if m.vlan {
		args = append(args, "--vlan")
	}
	return args
}

// cell names a count; tally is one.
type cell struct{ start, end, of, family string }

type tally struct{ distinct, packets uint64 }

const stampLayout = "2006-01-02T15:04:05.000000000Z07:00"

// window returns the bounds of a packet's window, by the calendar.
func (m *distinctModel) window(t *testing.T, at int64, stream []clitest.Seen) (start, end time.Time) {
	t.Helper()
	zone, err := time.LoadLocation(m.zone)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(0, at).In(zone)
	switch {
	case m.every == 0:
		return time.Unix(0, stream[0].Time).In(zone), time.Unix(0, stream[len(stream)-1].Time).In(zone)
	case m.every == 24*time.Hour:
		y, month, d := now.Date()
		return time.Date(y, month, d, 0, 0, 0, 0, zone), time.Date(y, month, d+1, 0, 0, 0, 0, zone)
	}
	// Zones differ from UTC by a multiple of every in these tests.
	return now.Truncate(m.every), now.Truncate(m.every).Add(m.every)
}

// counts returns all rows that there must be.
func (m *distinctModel) counts(t *testing.T, stream []clitest.Seen) map[cell]tally {
	out := map[cell]tally{}
	known := map[string]bool{}
	for i := range stream {
		start, end := m.window(t, stream[i].Time, stream)
		c := cell{start.Format(stampLayout), end.Format(stampLayout), m.of, "all"}
		family, keys := m.keys([]byte(stream[i].Data))
		families := []string{"ipv4", "ipv6", "all"}
		if m.of == "mac" {
			families = []string{"all"}
		}
		for _, c.family = range families {
			n := out[c]
			if len(keys) > 0 && (c.family == family || c.family == "all") {
				n.packets++
				for _, key := range keys {
					if id := fmt.Sprint(c, key); !known[id] {
						known[id] = true
						n.distinct++
					}
				}
			}
			out[c] = n
		}
	}
	return out
}

// keys returns the elements of a frame and their family.
func (m *distinctModel) keys(f []byte) (family string, keys []string) {
	tags := clitest.TagsOf(f)
	suffix := ""
	if m.vlan && tags > 0 {
		suffix = fmt.Sprintf(" vlan %d", binary.BigEndian.Uint16(f[14:])&0xfff)
	}
	if m.of == "mac" {
		return "", []string{net.HardwareAddr(f[:6]).String() + suffix, net.HardwareAddr(f[6:12]).String() + suffix}
	}
	at := clitest.PayloadAt(f)
	ip := f[at:]
	var src, dst netip.Prefix
	proto, ports := byte(0), []byte(nil)
	switch binary.BigEndian.Uint16(f[at-2:]) {
	case 0x0800:
		family, proto, ports = "ipv4", ip[9], ip[20:]
		src, _ = netip.AddrFrom4([4]byte(ip[12:])).Prefix(m.mask4)
		dst, _ = netip.AddrFrom4([4]byte(ip[16:])).Prefix(m.mask4)
	case 0x86dd:
		family, proto, ports = "ipv6", ip[6], ip[40:]
		src, _ = netip.AddrFrom16([16]byte(ip[8:])).Prefix(m.mask6)
		dst, _ = netip.AddrFrom16([16]byte(ip[24:])).Prefix(m.mask6)
	default:
		return "", nil
	}
	for _, key := range m.elements(src.Addr(), dst.Addr(), proto, ports) {
		keys = append(keys, key+suffix)
	}
	return family, keys
}

func (m *distinctModel) elements(src, dst netip.Addr, proto byte, ports []byte) []string {
	from := netip.AddrPortFrom(src, binary.BigEndian.Uint16(ports))
	to := netip.AddrPortFrom(dst, binary.BigEndian.Uint16(ports[2:]))
	switch m.of {
	case "src":
		return []string{src.String()}
	case "dst":
		return []string{dst.String()}
	case "ip":
		return []string{src.String(), dst.String()}
	case "pair":
		return []string{fmt.Sprint(src, dst)}
	case "biflow":
		if from.Compare(to) > 0 {
			from, to = to, from
		}
	}
	return []string{fmt.Sprint(proto, from, to)}
}

// checkDistinct compares every row, and the number of first sightings.
func checkDistinct(t *testing.T, m *distinctModel, name string, stream []clitest.Seen) {
	t.Helper()
	want := m.counts(t, stream)
	sightings := uint64(0)
	for c, n := range want {
		if c.family == "all" {
			sightings += n.distinct
		}
	}
	for _, method := range []string{"auto", "bloom", "exact", "lru --memory 256KiB"} {
		args := append([]string{"distinct", "--json", "--list", "--method"}, strings.Fields(method)...)
		args = append(args, m.args()...)
		out, errs, code := clitest.Run(append(args, name)...)
		if code != cli.ExitDone || errs != "" && !strings.Contains(errs, "noticed: --memory does not bound counts of IPv4") {
			t.Fatalf("%s: exit code %d: %s", args, code, errs)
		}
		got, listed := readRows(t, out)
		if listed != sightings {
			t.Errorf("%s: %d first sightings, want %d", args, listed, sightings)
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s:\n got %v\nwant %v", args, got, want)
		}
	}
}

func readRows(t *testing.T, out string) (rows map[cell]tally, sightings uint64) {
	t.Helper()
	rows = map[cell]tally{}
	for dec := json.NewDecoder(strings.NewReader(out)); dec.More(); {
		var r struct {
			Start             string `json:"window_start"`
			End               string `json:"window_end"`
			Of, Family, Value string
			Distinct          uint64
			Packets           uint64 `json:"packets_in"`
		}
		if err := dec.Decode(&r); err != nil {
			t.Fatal(err)
		}
		if r.Value != "" {
			sightings++
			continue
		}
		c := cell{r.Start, r.End, r.Of, r.Family}
		if _, ok := rows[c]; ok {
			t.Errorf("%v twice", c)
		}
		rows[c] = tally{r.Distinct, r.Packets}
	}
	return rows, sightings
}

// TestDistinctModel compares distinct with the model. The stream covers some 20 hours
// around the night in which Berlin's clocks go forward.
func TestDistinctModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	stream := clitest.RandomStream(rng, 400, 1, 6*time.Minute)
	name := clitest.WriteStream(t, stream, 1)
	for _, of := range []string{"src", "dst", "ip", "pair", "flow", "biflow", "mac"} {
		for _, m := range clitest.Sample(3, []distinctModel{
			{every: 15 * time.Minute, zone: "UTC", mask4: 32, mask6: 128},
			{every: time.Hour, zone: "Europe/Berlin", mask4: 24, mask6: 57, vlan: true},
			{every: 24 * time.Hour, zone: "Europe/Berlin", mask4: 32, mask6: 128, vlan: true},
			{zone: "UTC", mask4: 23, mask6: 7},
			{zone: "Asia/Kolkata", mask4: 32, mask6: 128},
		}) {
			m.of = of
			checkDistinct(t, &m, name, stream)
		}
	}
}

// TestDistinctModelAutumn does the same for the hour that comes twice.
func TestDistinctModelAutumn(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	stream := clitest.RandomStream(rng, 400, 1, 6*time.Minute)
	for i := range stream {
		stream[i].Time += int64(time.Date(2026, 10, 24, 18, 0, 0, 0, time.UTC).Sub(time.Date(2026, 3, 28, 21, 0, 0, 0, time.UTC)))
	}
	name := clitest.WriteStream(t, stream, 1)
	for _, every := range []time.Duration{time.Hour, 24 * time.Hour} {
		checkDistinct(t, &distinctModel{of: "flow", every: every, zone: "Europe/Berlin", mask4: 32, mask6: 128}, name, stream)
	}
}

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
			format := func(t int64) string { return time.Unix(0, t).UTC().Format(stampLayout) }
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
