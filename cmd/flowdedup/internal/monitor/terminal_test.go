// SPDX-License-Identifier: Apache-2.0

package monitor

import (
	"flag"
	"fmt"
	"iter"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/flowdedup/flowdedup/capture/afpacket"
	"github.com/flowdedup/flowdedup/capture/traits"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/dedup"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/sink"
)

var update = flag.Bool("update", false, "write the golden frames instead of checking them")

// TestFrame compares frames with those in testdata.
func TestFrame(t *testing.T) {
	said := []string{"2026-11-21T22:00:12Z WARN the interface is down interface=eth1"}
	for _, c := range []struct {
		name          string
		history       *history
		lines         []string
		width, height int
	}{
		{"80x24", past(), nil, 80, 23},
		{"120x40", past(), said, 120, 39},
		{"40x12", past(), said, 40, 11},
		{"empty", &history{last: &Status{}}, nil, 80, 23},
		{"nothing", new(history), nil, 80, 23},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := strings.Join(renderFrame(newDashboard(c.history), c.lines, c.width, c.height, false), "\n") + "\n"
			golden(t, "frame-"+c.name+".txt", got)
		})
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s:\n%s\nwant:\n%s", path, got, want)
	}
}

// hostile returns a status with numbers out of range, and with names that would take the
// terminal over.
func hostile() *Status {
	s := sample(1)
	s.Rings[0].Interface = "\x1b[2J\x07\r\neth\xff"
	s.Rings[2] = afpacket.Stats{Interface: "eth1", Down: true}
	s.Outputs[0].Name = strings.Repeat("生命", 100)
	s.Outputs[1].Failed = "disk\nfull\x1b[31m"
	s.Fill, s.PredictedFPR = math.NaN(), math.Inf(1)
	s.MemoryBytes, s.EvictedLive = -1, math.MaxUint64
	s.PacketsIn, s.Duplicates = math.MaxUint64, math.MaxUint64
	s.State.Saved, s.State.Bytes = s.Now.Add(time.Hour), -1
	return s
}

// TestFrameFits draws at all sizes. No line is wider than the terminal or moves the
// cursor, and no frame is higher.
func TestFrameFits(t *testing.T) {
	many := sample(7)
	for i := range 40 {
		many.Rings = append(many.Rings, afpacket.Stats{Interface: fmt.Sprint("many", i), Ring: i})
	}
	for name, h := range map[string]*history{
		"nothing": {}, "empty": {last: &Status{}}, "full": past(), "many": {last: many},
		"hostile": {last: hostile(), rates: []rate{{packets: math.MaxFloat64}, {}}},
	} {
		b := newDashboard(h)
		for width := 0; width < 140; width += 1 + width/4 {
			for _, height := range []int{0, 1, 2, 5, 23, 60} {
				for _, p := range []painter{false, true} {
					lines := renderFrame(b, []string{"a line of others"}, width, height, p)
					if len(lines) > height {
						t.Fatalf("%s: %d lines of %d", name, len(lines), height)
					}
					for _, line := range lines {
						requireFits(t, line, width)
					}
				}
			}
		}
	}
}

// requireFits checks a line, whose only escape sequences are colors.
func requireFits(t *testing.T, line string, width int) {
	t.Helper()
	bare := text.StripEscape(line)
	if n := text.StringWidth(bare); n > max(0, width-1) {
		t.Fatalf("%d columns of %d: %q", n, width, line)
	}
	if bare != show.Printable(bare) {
		t.Fatalf("%q has what is not printable", line)
	}
}

// TestFrameHidesCalmRowsFirst checks that rows without an alarm are hidden first.
func TestFrameHidesCalmRowsFirst(t *testing.T) {
	s := sample(7)
	s.Rings[2].Card = afpacket.CardCounts{} // without an alarm, too
	for i := range 50 {
		s.Rings = append(s.Rings, afpacket.Stats{Interface: fmt.Sprint("calm", i)})
	}
	s.Rings = append(s.Rings, afpacket.Stats{Interface: "alarming", Dropped: 5})
	out := strings.Join(renderFrame(newDashboard(&history{last: s}), nil, 80, 23, false), "\n")
	for _, want := range []string{"alarming", "eth0/1", "1,234 lost, failed: write", " more)"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// TestPainted wants the same text with and without colors.
func TestPainted(t *testing.T) {
	text.EnableColors()
	bare := renderFrame(newDashboard(past()), nil, 100, 30, false)
	colored := renderFrame(newDashboard(past()), nil, 100, 30, true)
	for i := range bare {
		if got := text.StripEscape(colored[i]); got != bare[i] {
			t.Errorf("%q, want %q", got, bare[i])
		}
	}
	if all := strings.Join(colored, ""); !strings.Contains(all, "\x1b[1;31m") {
		t.Errorf("nothing in red: %q", all)
	}
}

var began = time.Date(2026, 11, 21, 19, 46, 0, 0, time.UTC)

// sample returns a status with every part set, of a moment the given seconds after the start.
func sample(seconds int) *Status {
	now := began.Add(time.Duration(seconds) * time.Second)
	// Packets come in waves, and copies in others.
	wave := func(mean, period float64) uint64 {
		return uint64(mean * (float64(seconds) - 0.45*period*math.Cos(float64(seconds)/period)))
	}
	packets, duplicates := wave(412_345, 9), wave(103_210, 5)
	return &Status{
		Started: began, Now: now,
		Rings: []afpacket.Stats{
			{Interface: "eth0", Ring: 0, Received: packets / 2, Delivered: packets / 2, Tagged: packets / 4},
			{Interface: "eth0", Ring: 1, Received: packets/4 + 1234, Dropped: 1234, Freezes: 2, Delivered: packets / 4},
			{Interface: "eth1", Ring: 0, Received: packets / 4, Delivered: packets / 4, Coalesced: 12, Truncated: 3, ChecksumOffloaded: 7, Outages: 1, Hardware: 1, Card: afpacket.CardCounts{21, 9}},
		},
		Summary: Summary{
			Summary: dedup.Summary{
				PacketsIn: packets, BytesIn: 612 * packets, Duplicates: duplicates, BytesOut: 612 * (packets - duplicates),
				DuplicatesByProtocol: map[string]uint64{"tcp": duplicates / 3, "udp": duplicates - duplicates/3},
				Conversations: show.Conversations{
					SplitCounts: traits.SplitCounts{Sampled: 2_345, Split: 2_109, Tagged: 2_100}, Advice: []string{"--keep flow", "--strip vlan"},
				},
				Window: "1ms", Identity: "l3", Method: "timed", MemoryBytes: 8 << 20, Fill: 0.4821,
				PredictedFPR: 3.1e-12, EvictedLive: 42, Unverified: new(uint64(17)), SuggestedMemory: 16 << 20,
			},
			Diffs: traits.Counts{Sampled: 12_345, VLAN: 7_531, TTL: 2_469, MAC: 9_876, Interface: 1_235, Other: 12, Exact: 321},
			Outputs: []sink.Output{
				{Name: "/var/lib/flowdedup/captures/eth0-20261121.pcapng.zst", Packets: packets - duplicates, Bytes: 612 * (packets - duplicates), Files: 12},
				{Name: "-", Packets: 77, Bytes: 6160, Lost: 1234, Failed: "write stdout: broken pipe"},
			},
			Forwards: []sink.Forward{{Interface: "veth9", SenderStats: afpacket.SenderStats{Sent: packets - duplicates, Bytes: 612 * (packets - duplicates), Refused: 12, TooLong: 3, Truncated: 1, Lost: 58, Retries: 99}}},
		},
		Distinct: distinctSample(now),
		State:    &State{Name: "/var/lib/flowdedup/eth0.state", Saved: now.Add(-12 * time.Second), Bytes: 8 << 20},
	}
}

func distinctSample(now time.Time) []Distinct {
	var out []Distinct
	for i, of := range []string{"src", "dst", "flow"} {
		all := uint64(13_625 * (i + 1) * (i + 1) * (i + 1))
		for family, n := range families(all) {
			out = append(out, Distinct{
				Of: of, Family: family,
				WindowStart: now.Truncate(time.Hour), Window: n,
				Span: time.Hour, Sliding: 2*n + 12, Low: 2*n - 25, High: 2*n + 49,
			})
		}
	}
	return out
}

// families divides a count among the versions of IP.
func families(all uint64) iter.Seq2[string, uint64] {
	return func(yield func(string, uint64) bool) {
		_ = yield("ipv4", all-all/7) && yield("ipv6", all/7) && yield("all", all)
	}
}

// past returns the history of a run with a minute of statuses.
func past() *history {
	var h history
	for second := 8_000; second <= 8_070; second++ {
		h.add(sample(second))
	}
	return &h
}
