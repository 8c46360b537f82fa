// SPDX-License-Identifier: Apache-2.0

package distinct_test

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // zones are needed on machines without them, too

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// captureAt writes a capture with a packet of another source at each of the given times.
func captureAt(t *testing.T, times ...string) string {
	t.Helper()
	le := binary.LittleEndian
	data := le.AppendUint32(nil, 0xa1b23c4d) // nanoseconds
	data = append(data, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	data = le.AppendUint32(le.AppendUint32(data, 65535), 101)
	for i, stamp := range times {
		at, err := time.Parse(time.RFC3339Nano, stamp)
		if err != nil {
			t.Fatal(err)
		}
		data = le.AppendUint32(le.AppendUint32(data, uint32(at.Unix())), uint32(at.Nanosecond()))
		data = le.AppendUint32(le.AppendUint32(data, 20), 20)
		data = append(data, 0x45, 0, 0, 20, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, byte(i), 10, 0, 1, 1)
	}
	name := filepath.Join(t.TempDir(), "in.pcap")
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// cutRow is the part of a row that says how a window is cut.
type cutRow struct {
	Kind, Family, Cut string
	WindowStart       string `json:"window_start"`
	SeenFrom          string `json:"seen_from"`
	SeenTo            string `json:"seen_to"`
}

// cutsOf returns how each window is cut, with the times to the minute.
func cutsOf(t *testing.T, args ...string) string {
	t.Helper()
	out, errs, code := clitest.Run(append([]string{"distinct", "--json"}, args...)...)
	if code != cli.ExitDone {
		t.Fatalf("%q: %d: %s", args, code, errs)
	}
	minute := func(s string) string { return s[min(len(s), 11):min(len(s), 16)] }
	var cuts []string
	for line := range strings.Lines(out) {
		var r cutRow
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		if r.Family == "all" {
			cuts = append(cuts, strings.TrimSpace(strings.Join([]string{r.Kind, minute(r.WindowStart), r.Cut, minute(r.SeenFrom), minute(r.SeenTo)}, " ")))
		}
	}
	return strings.Join(cuts, "|")
}

// TestCutWindows marks windows that begin before the first packet or end after the last one.
func TestCutWindows(t *testing.T) {
	const day = "2026-11-21T"
	for _, c := range []struct {
		times, args, want string
	}{
		{"17:03:00 17:04:00", "", "window 17:00 both 17:03 17:04"},
		{"17:03:00 18:30:00 19:20:00", "", "window 17:00 start 17:03|window 18:00|window 19:00 end  19:20"},
		{"17:03:00 19:20:00", "--gaps", "window 17:00 start 17:03|window 18:00|window 19:00 end  19:20"},
		{"17:03:00 19:20:00", "--total", "window 17:00 start 17:03|window 19:00 end  19:20|total 17:03"},
		// Less than a hundredth is missing at both ends, then more at the end.
		{"17:00:20 17:59:40", "", "window 17:00"},
		{"17:00:20 17:59:00", "", "window 17:00 end  17:59"},
		// Windows of the packets are whole.
		{"17:03:00 19:20:00", "--every none", "window 17:03"},
		{"17:00:10 17:01:10 17:02:10", "--every 2m --slide 1m", "window 16:59 start 17:00|window 17:00 start 17:00|window 17:01 end  17:02"},
	} {
		var times []string
		for _, clock := range strings.Fields(c.times) {
			times = append(times, day+clock+"Z")
		}
		if got := cutsOf(t, append(strings.Fields("--of src "+c.args), captureAt(t, times...))...); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.times, c.args, got, c.want)
		}
	}
}

// TestCutOutputs marks them in text, CSV and pages, too.
func TestCutOutputs(t *testing.T) {
	in := captureAt(t, "2026-11-21T17:03:00Z", "2026-11-21T18:30:00Z", "2026-11-21T19:20:00Z")
	dir := t.TempDir()
	csv, page := filepath.Join(dir, "counts.csv"), filepath.Join(dir, "counts.html")
	text, errs, code := clitest.Run("distinct", "--of", "src", "--csv", csv, "--html", page, in)
	if code != cli.ExitDone {
		t.Fatal(code, errs)
	}
	for name, c := range map[string]struct {
		got  string
		want []string
	}{
		"text": {text, []string{"17:00 UTC *  src", "18:00 UTC    src", "19:00 UTC *  src", "begins at 2026-11-21 17:03:00 UTC and ends at 2026-11-21 19:20:00 UTC\n"}},
		"csv": {read(t, csv), []string{
			",predicted_fpr,cut,seen_from,seen_to\n", ",start,2026-11-21T17:03:00Z,\n", ",,,\n", ",end,,2026-11-21T19:20:00Z\n",
		}},
		"page": {read(t, page), []string{"18:00 UTC (cut)", "19:00 UTC<", "20:00 UTC (cut)"}},
	} {
		for _, want := range c.want {
			if !strings.Contains(c.got, want) {
				t.Errorf("%s: no %q in\n%s", name, want, c.got)
			}
		}
	}
}

// TestCutMerged marks windows that a sensor counted in part, also in a saved union, and takes the
// files of one sensor together.
func TestCutMerged(t *testing.T) {
	const day = "2026-11-21T"
	dir := t.TempDir()
	save := func(name, sensor string, clocks ...string) string {
		times := []string{}
		for _, clock := range clocks {
			times = append(times, day+clock+"Z")
		}
		name = filepath.Join(dir, name)
		if _, errs, code := clitest.Run("distinct", "-q", "--key", clitest.Key, "--of", "src", "--sensor", sensor, "--save", name, captureAt(t, times...)); code != cli.ExitDone {
			t.Fatal(code, errs)
		}
		return name
	}
	whole := save("whole", "roof", "17:00:00", "18:30:00", "19:59:59")
	late := save("late", "yard", "17:40:00", "18:30:00", "19:59:59")
	early := save("early", "yard", "17:00:00", "17:40:00")
	short := save("short", "gate", "17:00:00", "19:20:00")
	union := filepath.Join(dir, "union")
	for _, c := range []struct{ args, want string }{
		{"WHOLE", "window 17:00|window 18:00|window 19:00"},
		{"WHOLE LATE", "window 17:00 start 17:40|window 18:00|window 19:00"},
		{"EARLY", "window 17:00 end  17:40"},
		{"EARLY LATE", "window 17:00|window 18:00|window 19:00"},
		{"--save UNION LATE SHORT", "window 17:00 start 17:40|window 18:00|window 19:00 end  19:20"},
		{"UNION", "window 17:00 start 17:40|window 18:00|window 19:00 end  19:20"},
		{"--total LATE SHORT", "window 17:00 start 17:40|window 18:00|window 19:00 end  19:20|total 17:00"},
	} {
		args := clitest.WordsOf(c.args, "WHOLE", whole, "LATE", late, "EARLY", early, "SHORT", short, "UNION", union)
		if got := cutsOf(t, append([]string{"--merge"}, args...)...); got != c.want {
			t.Errorf("%s: %s, want %s", c.args, got, c.want)
		}
	}
	csv, page := filepath.Join(dir, "counts.csv"), filepath.Join(dir, "counts.html")
	text, errs, code := clitest.Run("distinct", "--merge", "--csv", csv, "--html", page, whole, late)
	if code != cli.ExitDone {
		t.Fatal(code, errs)
	}
	for _, c := range []struct{ name, got, want string }{
		{"text", text, "17:00 UTC *  src"},
		{"text", text, "18:00 UTC    src"},
		{"text", text, "\n* a part of the window: a sensor began after its start or ended before its end\n"},
		{"csv", read(t, csv), ",sensors,missing,cut,seen_from,seen_to\n"},
		{"csv", read(t, csv), ",2/2,,start,2026-11-21T17:40:00Z,\n"},
		{"page", read(t, page), "18:00 UTC (cut)"},
	} {
		if !strings.Contains(c.got, c.want) {
			t.Errorf("%s: no %q in\n%s", c.name, c.want, c.got)
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// TestChangeOfClocks has text, chart, table and sentence of a page, and JSON agree on the local
// times around a change of the clocks.
func TestChangeOfClocks(t *testing.T) {
	for _, c := range []struct {
		zone         string
		first        string // in UTC, then an hour each
		text, stamps [3]string
		mark         string
	}{
		{
			"Europe/Berlin", "2026-10-25T00:10:00Z",
			[3]string{"2026-10-25 02:00 CEST", "2026-10-25 02:00 CET", "2026-10-25 03:00 CET"},
			[3]string{"2026-10-25T02:00:00+02:00", "2026-10-25T02:00:00+01:00", "2026-10-25T03:00:00+01:00"}, "CEST → CET",
		},
		{
			"America/Sao_Paulo", "2018-11-04T02:10:00Z",
			[3]string{"2018-11-03 23:00 -03", "2018-11-04 01:00 -02", "2018-11-04 02:00 -02"},
			[3]string{"2018-11-03T23:00:00-03:00", "2018-11-04T01:00:00-02:00", "2018-11-04T02:00:00-02:00"}, "-03 → -02",
		},
		{
			// The clocks go from 02:00 to 01:30: the window from 01:00 has 90 minutes.
			"Australia/Lord_Howe", "2026-04-04T13:10:00Z",
			[3]string{"2026-04-05 00:00 +11", "2026-04-05 01:00 +11", "2026-04-05 02:00 +1030"},
			[3]string{"2026-04-05T00:00:00+11:00", "2026-04-05T01:00:00+11:00", "2026-04-05T02:00:00+10:30"}, "+11 → +1030",
		},
	} {
		first, err := time.Parse(time.RFC3339, c.first)
		if err != nil {
			t.Fatal(err)
		}
		var times []string
		for i := range 3 {
			at := first.Add(time.Duration(i) * time.Hour)
			switch i {
			case 1: // the most sources of a whole window
				times = append(times, at.Format(time.RFC3339), at.Add(time.Second).Format(time.RFC3339))
			case 2: // more, in the last one, which is cut
				at = at.Add(30 * time.Minute)
				for s := range 4 {
					times = append(times, at.Add(time.Duration(s)*time.Second).Format(time.RFC3339))
				}
			}
			times = append(times, at.Format(time.RFC3339))
		}
		in, page := captureAt(t, times...), filepath.Join(t.TempDir(), "counts.html")
		text, errs, code := clitest.Run("distinct", "--of", "src", "--tz", c.zone, "--html", page, in)
		lines, _, _ := clitest.Run("distinct", "--of", "src", "--tz", c.zone, "--json", in)
		if code != cli.ExitDone {
			t.Fatal(code, errs)
		}
		html := strings.NewReplacer("&nbsp;", " ", `<span class="word">`, "", "</span>", "").Replace(read(t, page))
		for i := range c.text {
			if !strings.Contains(text, "\n"+c.text[i]) || !strings.Contains(html, ">"+c.text[i]+" to ") || !strings.Contains(lines, `"window_start":"`+c.stamps[i]+`"`) {
				t.Errorf("%s: no window %s\n%s\n%s", c.zone, c.text[i], text, lines)
			}
		}
		most := strings.Replace(c.text[1], ":00 ", ":00:00 ", 1)
		for _, want := range []string{">" + c.mark + "<", "start of the window (" + c.zone + ")", "in the window from " + most, `class="marks hollow"`, "Hollow points"} {
			if !strings.Contains(html, want) {
				t.Errorf("%s: no %q on the page", c.zone, want)
			}
		}
	}
}
