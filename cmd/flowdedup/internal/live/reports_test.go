// SPDX-License-Identifier: Apache-2.0

package live

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture/afpacket"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/count"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/monitor"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/sink"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/version"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/distinct/windows"
)

// hour returns the start of an hour of 1970, as in rows.
func hour(n int) *string {
	return show.Timestamp(int64(time.Duration(n)*time.Hour), time.UTC)
}

func testRows(n int) []count.Row {
	return []count.Row{
		{Counted: count.Counted{WindowStart: hour(n), WindowEnd: hour(n + 1), Of: "src", Family: "ipv4"}, Distinct: 3, Low: 3, High: 3, Packets: 9, Method: "exact-rows"},
		{Counted: count.Counted{WindowStart: hour(n), WindowEnd: hour(n + 1), Of: "src", Family: "all"}, Distinct: 3, Low: 3, High: 4, Packets: 9, Method: "digest-rows", MemoryBytes: 64, FPR: 0.5},
	}
}

// heading begins each line.
var heading = fmt.Sprintf(`{"command":"live","version":%q,"schema":1,`, version.String())

// wantRows is what a file holds of testRows(0).
var wantRows = heading + `"kind":"window","window_start":"1970-01-01T00:00:00Z","window_end":"1970-01-01T01:00:00Z","of":"src","family":"ipv4","distinct":3,"low":3,"high":3,"packets_in":9,"method":"exact-rows","memory_bytes":0,"predicted_fpr":0}
` + heading + `"kind":"window","window_start":"1970-01-01T00:00:00Z","window_end":"1970-01-01T01:00:00Z","of":"src","family":"all","distinct":3,"low":3,"high":4,"packets_in":9,"method":"digest-rows","memory_bytes":64,"predicted_fpr":0.5}
`

// testReports opens reports. It returns them, their log, and how often they ended the
// capture.
func testReports(t *testing.T, name string) (r *reports, logged *bytes.Buffer, stops *int) {
	t.Helper()
	logged, stops = &bytes.Buffer{}, new(int)
	r, err := openReports(context.Background(), name, time.UTC, slog.New(slog.NewTextHandler(logged, nil)), func() { *stops++ })
	if err != nil {
		t.Fatal(err)
	}
	return r, logged, stops
}

// TestReports checks that lines are appended to a file.
func TestReports(t *testing.T) {
	name := filepath.Join(t.TempDir(), "counts.jsonl")
	const before = "{\"kind\":\"window\"}\n"
	if err := os.WriteFile(name, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	r, logged, stops := testReports(t, name)
	past := windows.Count{Key: "flow", Family: "ipv6", Counts: engine.Counts{Distinct: 7, Low: 6, High: 8}}
	if err := errors.Join(r.rows(testRows(0)), r.past(time.Unix(7200, 0), time.Hour, []windows.Count{past}), r.rows(nil), r.close()); err != nil {
		t.Fatal(err)
	}
	wantPast := heading + `"kind":"sliding","window_start":"1970-01-01T01:00:00Z","window_end":"1970-01-01T02:00:00Z","of":"flow","family":"ipv6","distinct":7,"low":6,"high":8}` + "\n"
	text, err := os.ReadFile(name)
	if err != nil || string(text) != before+wantRows+wantPast {
		t.Errorf("%v: %s", err, text)
	}
	if got := logged.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, `msg="window closed" end=1970-01-01T01:00:00Z`) || *stops != 0 {
		t.Errorf("%d stops, logged %s", *stops, got)
	}
}

// TestClosings says of a flood of windows how many there were, once a minute.
func TestClosings(t *testing.T) {
	var c closings
	now := time.Unix(1_700_000_000, 0)
	lines, unsaid := 0, 0
	say := func() {
		c.say(now, func(n int) {
			lines++
			unsaid += n
		})
	}
	const flood = 10_000
	for range flood {
		say()
	}
	if lines != mostClosings || unsaid != 0 {
		t.Errorf("%d lines, %d unsaid", lines, unsaid)
	}
	now = now.Add(2 * time.Minute)
	say()
	if lines != mostClosings+1 || unsaid != flood-mostClosings {
		t.Errorf("%d lines, %d unsaid", lines, unsaid)
	}
	for range 100 { // windows of a minute are all said
		now = now.Add(time.Minute)
		say()
	}
	if lines != mostClosings+101 || unsaid != flood-mostClosings {
		t.Errorf("%d lines, %d unsaid", lines, unsaid)
	}
}

// TestReportsCannotOpen names the file.
func TestReportsCannotOpen(t *testing.T) {
	for _, name := range []string{t.TempDir(), filepath.Join(t.TempDir(), "no", "counts.jsonl")} {
		_, err := openReports(context.Background(), name, time.UTC, slog.New(slog.DiscardHandler), func() {})
		var path *fs.PathError
		if !errors.As(err, &path) || path.Path != name {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestReportsReaderLeft checks that the capture ends once, without a message.
func TestReportsReaderLeft(t *testing.T) {
	r, logged, stops := testReports(t, "-")
	from, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := from.Close(); err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	r.out = sink.NewInterruptibleWriter(context.Background(), "-", to)
	for i := range 3 {
		if err := r.rows(testRows(i)); err != nil {
			t.Error(err)
		}
	}
	if err := r.close(); !errors.Is(err, sink.ErrOutput) || !errors.Is(err, syscall.EPIPE) || *stops != 1 || logged.Len() > 0 {
		t.Errorf("%v, %d stops, logged %s", err, *stops, logged)
	}
}

// TestTextEscapes checks that names of interfaces cannot control the terminal.
func TestTextEscapes(t *testing.T) {
	var out strings.Builder
	s := monitor.Summary{Interfaces: []monitor.Interface{{Name: "eth\x1b[2J"}}, Forwards: []sink.Forward{{Interface: "mon\u009b8m"}}}
	if err := writeText(&out, 0, &s, true); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`  eth\x1b[2J `, `packets to mon\u009b8m`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%q", want, out.String())
		}
	}
	if strings.ContainsAny(out.String(), "\x1b\u009b") {
		t.Errorf("escape sequences: %q", out.String())
	}
}

// TestTextKept says "written" only if all kept packets were.
func TestTextKept(t *testing.T) {
	for _, c := range []struct {
		written bool
		s       monitor.Summary
		want    []string
	}{
		{false, monitor.Summary{}, []string{"9 packets left"}},
		{true, monitor.Summary{Outputs: []sink.Output{{Name: "a.pcap", Packets: 9}}}, []string{"9 packets written"}},
		{true, monitor.Summary{Incomplete: true, Outputs: []sink.Output{{Name: "a.pcap", Packets: 7, Lost: 2}}}, []string{"9 packets kept", "7 packets to a.pcap, 2 lost"}},
		{true, monitor.Summary{Forwards: []sink.Forward{{Interface: "mon0", SenderStats: afpacket.SenderStats{Sent: 9}}}}, []string{"9 packets written", "9 packets to mon0"}},
		{true, monitor.Summary{Outputs: []sink.Output{{Name: "a.pcap", Packets: 9}, {Name: "copies.pcap", Packets: 1, Lost: 2}}}, []string{"9 packets written", "1 packet to copies.pcap, 2 lost"}},
		{true, monitor.Summary{Incomplete: true, Forwards: []sink.Forward{{Interface: "mon0", SenderStats: afpacket.SenderStats{Lost: 9}}}}, []string{"9 packets kept", "0 packets to mon0, 9 lost"}},
		{true, monitor.Summary{Incomplete: true, Forwards: []sink.Forward{{Interface: "mon0", SenderStats: afpacket.SenderStats{Sent: 8, Refused: 1}}}}, []string{"9 packets kept", "8 packets to mon0, 1 refused"}},
	} {
		var out strings.Builder
		c.s.PacketsOut = 9
		if err := writeText(&out, 0, &c.s, c.written); err != nil {
			t.Fatal(err)
		}
		for _, want := range c.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("no %q in\n%s", want, out.String())
			}
		}
	}
}
