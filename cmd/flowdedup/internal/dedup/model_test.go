// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/big"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// dedupModel is the contract of dedup, implemented as plainly as possible.
type dedupModel struct {
	identity string
	ignore   string // as --ignore takes it
	bytes    int
	packets  int           // count window, or
	duration time.Duration // window of time; neither means none
	across   bool
	refresh  bool
	landmark bool // a copy lies in the same window, all of which begin at a multiple of it
	zone     string
	// What these flags mean, and the flags. Nil is no flag.
	only, protect func(*clitest.Seen) bool
	group         func(*clitest.Seen) string // of packets that can be copies of each other
	flags         []string
}

func (m *dedupModel) args() []string {
	args := []string{"--keep", "first", "--identity", m.identity, "--identity-bytes", fmt.Sprint(m.bytes)}
	kind := ""
	if m.landmark {
		kind = "landmark:"
	}
	switch {
	case m.packets > 0:
		args = append(args, "--window", fmt.Sprintf("%sn:%d", kind, m.packets))
	case m.duration > 0:
		args = append(args, "--window", kind+m.duration.String())
	default:
		args = append(args, "--window", "none")
	}
	if m.zone != "" {
		args = append(args, "--tz", m.zone)
	}
	if m.ignore != "" {
		args = append(args, "--ignore", m.ignore)
	}
	if m.across {
		args = append(args, "--across")
	}
	if m.refresh {
		args = append(args, "--refresh")
	}
	if !slices.Contains(m.flags, "--prefer") {
		args = append(args, "--prefer", "first")
	}
	return append(args, m.flags...)
}

func (m *dedupModel) ignores(field string) bool {
	words := strings.Split(m.ignore, ",")
	usual := strings.Contains("ttl dscp ecn ip-checksum df", field) && m.identity == "l3" && !slices.Contains(words, "none")
	return usual || slices.Contains(words, field)
}

// split says which packets stay and which go.
func (m *dedupModel) split(stream []clitest.Seen) (kept, copies []clitest.Record) {
	judged := m.judged(stream)
	isCopy := make([]bool, len(stream))
	for i, verdict := range m.verdicts(stream, judged) {
		isCopy[judged[i]] = verdict && !m.protects(&stream[judged[i]])
	}
	for i := range stream {
		if isCopy[i] {
			copies = append(copies, stream[i].Record)
		} else {
			kept = append(kept, stream[i].Record)
		}
	}
	return kept, copies
}

// judged returns the numbers of the packets that are judged.
func (m *dedupModel) judged(stream []clitest.Seen) (numbers []int) {
	for i := range stream {
		if (m.only == nil || m.only(&stream[i])) && (m.across || !m.undecidable(&stream[i])) {
			numbers = append(numbers, i)
		}
	}
	return numbers
}

// undecidable reports whether too little of a packet is compared to know it: package verify
// checks that rule.
func (m *dedupModel) undecidable(p *clitest.Seen) bool {
	cfg := identity.Config{Bytes: m.bytes}
	if m.identity == "frame" {
		cfg.Kind = identity.Frame
	}
	if m.ignore != "" {
		cfg.Ignore, _ = identity.ParseIgnore(m.ignore)
	}
	var b capture.Batch
	b.Append(capture.Frame{Interface: b.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet}), WireLen: p.Wire}, []byte(p.Data))
	for _, one := range identity.New(cfg).FromFrames(make([]headers.Protocol, 1), &b, 0).Doubts() {
		return !one.Checksum
	}
	return false
}

func (m *dedupModel) protects(p *clitest.Seen) bool { return m.protect != nil && m.protect(p) }

// verdicts says which of the packets with these numbers are copies of others of them.
func (m *dedupModel) verdicts(stream []clitest.Seen, numbers []int) []bool {
	type last struct {
		position int
		time     int64
		point    string
	}
	latest := map[string]last{}
	stays := map[string]last{} // the latest packet that is no copy, if that is fit
	verdicts := make([]bool, len(numbers))
	for i, number := range numbers {
		p := stream[number]
		id := m.of(&p)
		if m.group != nil {
			id += " of " + m.group(&p)
		}
		if m.landmark && m.zone == "" { // else group says it
			id += " in " + m.landmarkOf(i, p.Time)
		}
		fit, within := m.isFit(&p), m.packets == 0 && !m.across
		if old, ok := stays[id]; !fit && within && ok && (m.landmark || m.duration == 0 || apart(p.Time, old.time) <= m.duration) {
			verdicts[i] = true
			continue
		}
		equal := id
		if !fit {
			id += " unfit"
		}
		old, ok := latest[id]
		near := m.packets == 0 && m.duration == 0
		switch {
		case m.landmark:
			near = true
		case m.packets > 0:
			near = i-old.position <= m.packets
		case m.duration > 0:
			near = apart(p.Time, old.time) <= m.duration
		}
		if !ok || !near || m.across && old.point == pointOf(&p) {
			latest[id] = last{i, p.Time, pointOf(&p)}
			if stays[equal] = latest[id]; !fit {
				delete(stays, equal)
			}
			continue
		}
		verdicts[i] = true
		if m.refresh {
			latest[id] = last{i, max(p.Time, old.time), old.point}
		}
	}
	return verdicts
}

func apart(a, b int64) time.Duration { return time.Duration(max(a-b, b-a)) }

// landmarkOf returns the window of a packet, counted from a Monday.
func (m *dedupModel) landmarkOf(position int, time int64) string {
	if m.packets > 0 {
		return fmt.Sprint(position / m.packets)
	}
	monday, length := big.NewInt(4*24*3600*1_000_000_000), big.NewInt(int64(m.duration))
	since := new(big.Int).Sub(big.NewInt(time), monday)
	return since.Div(since, length).String() // rounded down
}

// of returns the identity of a packet: equal for two packets that are the same.
func (m *dedupModel) of(p *clitest.Seen) string {
	f := []byte(p.Data)
	tags, at := clitest.TagsOf(f), clitest.PayloadAt(f)
	kind := binary.BigEndian.Uint16(f[at-2:])
	isIP := kind == 0x0800 || kind == 0x86dd
	if isIP {
		m.clearIP(f[at:])
	}
	if m.identity == "l3" && isIP {
		return m.start(f[at:datagramEnd(f, at)])
	}
	if m.ignores("mac") {
		clear(f[:12])
	}
	wire := int(p.Wire)
	if m.identity == "l3" {
		payload, length := payloadOf(kind, f[at:], wire-at)
		if kind <= 1500 {
			kind = 0
		}
		return fmt.Sprintf("%d payload %s", length, m.start(slices.Concat(f[:12], []byte{byte(kind >> 8), byte(kind)}, payload)))
	}
	if m.ignores("vlan") {
		f, wire = slices.Delete(f, 12, 12+4*tags), wire-4*tags
	}
	return fmt.Sprintf("%d %s", wire, m.start(f))
}

// payloadOf returns the part of the payload of a frame without IP that is compared, and its
// length. length is the frame's length on the wire.
func payloadOf(kind uint16, payload []byte, length int) ([]byte, int) {
	switch {
	case kind <= 1500:
		length = int(kind)
	case kind == 0x0806:
		length = 28
	case kind == 0x88b8:
		length = int(payload[3]) // GOOSE, of less than 256 bytes
	case len(payload) == length:
		payload = withoutZeros(withoutRCT(payload))
		length = len(payload)
	}
	return payload[:min(len(payload), length)], length
}

// withoutRCT removes the trailer that the model's frames have on one of two LANs.
func withoutRCT(payload []byte) []byte {
	n := len(payload) - 6
	if n < 0 || payload[n+4] != 0x88 || payload[n+5] != 0xfb || payload[n+2]>>5 != 5 {
		return payload
	}
	return payload[:n]
}

// withoutZeros removes what may be padding to a frame of 60 bytes.
func withoutZeros(payload []byte) []byte {
	if len(payload) > 60-14 {
		return payload
	}
	return bytes.TrimRight(payload, "\x00")
}

func (m *dedupModel) start(b []byte) string {
	if m.bytes > 0 && m.bytes < len(b) {
		b = b[:m.bytes]
	}
	return string(b)
}

// pointOf says where a frame was seen: at which interface, and on which path.
func pointOf(p *clitest.Seen) string { return fmt.Sprint(p.Iface, " ", pathOf(p)) }

// pathOf returns the LAN, or the direction of the ring, that a frame came from.
func pathOf(p *clitest.Seen) string {
	f := []byte(p.Data)
	tag := 14 + 4*clitest.TagsOf(f)
	switch n := len(f) - 6; {
	case binary.BigEndian.Uint16(f[tag-2:]) == 0x892f:
		return fmt.Sprint("ring ", f[tag]>>4)
	case int(p.Wire) == len(f) && len(withoutRCT(f)) == n:
		return fmt.Sprint("LAN ", f[n+2]>>4)
	}
	return ""
}

func datagramEnd(f []byte, at int) int {
	if f[at]>>4 == 4 {
		return min(len(f), at+int(binary.BigEndian.Uint16(f[at+2:])))
	}
	return min(len(f), at+40+int(binary.BigEndian.Uint16(f[at+4:])))
}

// clearIP zeroes the fields of an IP header that are not compared and, if the datagram is
// TCP or UDP without fragments, fields of the next header; TCP has one option, of its segment size.
func (m *dedupModel) clearIP(ip []byte) {
	type field struct {
		name string
		at   int
		mask []byte
	}
	fields, proto, l4 := []field{
		{"ttl", 8, []byte{0xff}}, {"dscp", 1, []byte{0xfc}}, {"ecn", 1, []byte{0x03}},
		{"ip-checksum", 10, []byte{0xff, 0xff}}, {"ip-id", 4, []byte{0xff, 0xff}}, {"df", 6, []byte{0x40}},
	}, ip[9], 20
	if ip[0]>>4 == 6 {
		fields, proto, l4 = []field{
			{"ttl", 7, []byte{0xff}}, {"dscp", 0, []byte{0x0f, 0xc0}}, {"ecn", 1, []byte{0x30}},
			{"flow-label", 1, []byte{0x0f, 0xff, 0xff}},
		}, ip[6], 40
	}
	fields = append(fields, field{"l4-checksum", l4 + map[byte]int{6: 16, 17: 6}[proto], []byte{0xff, 0xff}})
	if proto == 6 {
		fields = append(fields, field{"tcp-seq", l4 + 4, bytes.Repeat([]byte{0xff}, 8)}, field{"tcp-seq", l4 + 16, []byte{0xff, 0xff}},
			field{"tcp-header", l4 + 12, slices.Concat([]byte{0x0f, 0xe0}, bytes.Repeat([]byte{0xff}, 10))})
		if ip[l4+13]&2 != 0 {
			fields = append(fields, field{"mss", l4 + 16, []byte{0xff, 0xff}}, field{"mss", l4 + 22, []byte{0xff, 0xff}})
		}
	}
	for _, f := range fields {
		for i, mask := range f.mask {
			if m.ignores(f.name) {
				ip[f.at+i] &^= mask
			}
		}
	}
}

// checkModel compares kept packets and copies, packet by packet.
func checkModel(t *testing.T, m *dedupModel, name string, stream []clitest.Seen) {
	t.Helper()
	kept, copies := m.split(stream)
	dir := t.TempDir()
	for _, method := range []string{"timed", "exact"} {
		a, b := filepath.Join(dir, "kept"), filepath.Join(dir, "copies")
		args := append(m.args(), "--method", method, "-w", a, "--duplicates", b, name)
		r := clitest.RunDedup(t, cli.ExitDone, args...)
		what := strings.Join(args[:len(args)-5], " ")
		if r.Duplicates != uint64(len(copies)) || r.PacketsOut != uint64(len(kept)) || r.EvictedLive != 0 {
			t.Errorf("%s: %+v, want %d kept and %d removed", what, r, len(kept), len(copies))
		}
		clitest.CompareRecords(t, what+": kept", clitest.ReadAll(t, a), kept)
		clitest.CompareRecords(t, what+": copies", clitest.ReadAll(t, b), copies)
	}
}

// TestDedupModel compares dedup with the model for random options on random
// streams.
func TestDedupModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	pick := func(words ...string) string { return words[rng.IntN(len(words))] }
	for range clitest.Sample(4, make([]int, 60)) {
		m := dedupModel{
			identity: pick("l3", "frame"),
			ignore: pick("", "none", "ip-id", "l4-checksum", "vlan", "mac", "mac,vlan", "ip-id,l4-checksum", "tcp-seq",
				"mss", "none,mss", "tcp-header", "none,df,tcp-header", "none,ttl", "flow-label,ip-id,mac", "vlan,mac,ttl,dscp,ip-checksum", "none,tcp-seq,vlan"),
			bytes:  []int{0, 0, 0, 1, 19, 28, 45, 500}[rng.IntN(8)],
			across: rng.IntN(3) == 0, refresh: rng.IntN(3) == 0,
		}
		switch rng.IntN(5) {
		case 0:
			m.duration = time.Duration(1+rng.IntN(1000)) * time.Microsecond
		case 1: // none
		default:
			m.packets = []int{1, 2, 3, 5, 8, 40, 1000}[rng.IntN(7)]
		}
		if m.landmark = rng.IntN(3) == 0 && m.packets+int(m.duration) > 0; m.landmark {
			m.refresh = false // it has no meaning there
		}
		ifaces := 1 + rng.IntN(3)
		stream := clitest.RandomStream(rng, 300, ifaces, 100*time.Microsecond)
		checkModel(t, &m, clitest.WriteStream(t, stream, ifaces), stream)
	}
}

// TestDedupModelBundled does the same with the bundled captures of several interfaces.
// They contain fragments, so layer 4 is not masked.
func TestDedupModelBundled(t *testing.T) {
	for _, file := range clitest.Sample(3, []string{"router-plain.pcapng", "router-qinq.pcapng", "router-snap96.pcapng", "router-vlan.pcapng"}) {
		name := clitest.Bundled(file)
		stream := clitest.ReadStream(t, name)
		for _, m := range []dedupModel{
			{identity: "l3", packets: 1},
			{identity: "l3", packets: 6, across: true},
			{identity: "l3", packets: 4, refresh: true},
			{identity: "l3", ignore: "ip-id", bytes: 40, packets: 20},
			{identity: "l3", ignore: "none", packets: 1000},
			{identity: "frame", ignore: "mac,vlan,ttl,ip-checksum", packets: 9},
			{identity: "frame", across: true},
			{identity: "l3", bytes: 60, duration: 700 * time.Microsecond, across: true},
			{identity: "l3", duration: time.Second, landmark: true},
			{identity: "l3", duration: 123457 * time.Nanosecond, landmark: true, across: true},
			{identity: "frame", ignore: "mac,vlan,ttl,ip-checksum", packets: 64, landmark: true},
		} {
			checkModel(t, &m, name, stream)
		}
	}
}
