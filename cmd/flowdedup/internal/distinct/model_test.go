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
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // zones are needed on machines without them, too

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

func TestMain(m *testing.M) { clitest.Main(m, nil) }

func TestScripts(t *testing.T) { clitest.Scripts(t) }

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

// cell names a count, tally is the count.
type cell struct{ start, end, of, family string }

type tally struct{ distinct, packets uint64 }

// stampOf writes a time as rows do: with nine digits, or none at a full second.
func stampOf(t time.Time) string {
	if t.Nanosecond() == 0 {
		return t.Format(time.RFC3339)
	}
	return t.Format("2006-01-02T15:04:05.000000000Z07:00")
}

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
		c := cell{stampOf(start), stampOf(end), m.of, "all"}
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
