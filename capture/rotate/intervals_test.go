// SPDX-License-Identifier: Apache-2.0

package rotate

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/capturetest"
	"github.com/flowdedup/flowdedup/capture/internal/encoding"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// TestInterval cuts where the packets' clock says, which false times do not stop.
func TestInterval(t *testing.T) {
	const hour = 1_700_000_000 / 3600 * 3600
	const q = calendar.Quorum
	for _, tt := range []struct {
		name  string
		times []int64 // seconds from the hour; noStamp is a packet without a time
		want  []string
	}{
		{"one", []int64{5, 6, 3599}, []string{"20231114T220005.000Z: 5 6 3599"}},
		{"next", []int64{3599, 3600, 3601, 7200}, []string{"20231114T225959.000Z: 3599", "20231114T230000.000Z: 3600 3601", "20231115T000000.000Z: 7200"}},
		{"hours without packets", []int64{1, 7300}, []string{"20231114T220001.000Z: 1", "20231115T000140.000Z: 7300"}},
		{"older", []int64{1, 3601, 2, 3602}, []string{"20231114T220001.000Z: 1", "20231114T230001.000Z: 3601 2 3602"}},
		{"older first", []int64{3600, 1, 3601}, []string{"20231114T230000.000Z: 3600 1 3601"}},
		{"untimed", []int64{noStamp, 1, noStamp, 3600, noStamp}, []string{"20231114T220001.000Z: none 1 none", "20231114T230000.000Z: 3600 none"}},
		{"only untimed", []int64{noStamp, noStamp}, []string{"00000000T000000.000Z: none none"}},
		{"a silence of months", []int64{1, month, month + 1}, []string{"20231114T220001.000Z: 1", "20231214T220000.000Z: 2592000 2592001"}},
		{"years ahead", []int64{1, years, 2, years + 1, 3600, 7200},
			[]string{"20231114T220001.000Z: 1 315360000 2 315360001", "20231114T230000.000Z: 3600", "20231115T000000.000Z: 7200"}},
		{"years ahead, and right", slices.Concat([]int64{1}, seconds(years, q+1)), []string{
			"20231114T220001.000Z: 1" + words(years, q-1), "20331111T220015.000Z:" + words(years+q-1, 2),
		}},
		{"a month ahead", slices.Concat([]int64{1, month}, seconds(2, q), []int64{3600, 7200}), []string{
			"20231114T220001.000Z: 1", "20231214T220000.000Z: 2592000" + words(2, q-1), "20231114T220017.000Z: 17",
			"20231114T230000.000Z: 3600", "20231115T000000.000Z: 7200",
		}},
		{"the first one years ahead", slices.Concat([]int64{years}, seconds(1, q), []int64{3600}), []string{
			"20331111T220000.000Z: 315360000" + words(1, q-1), "20231114T220016.000Z: 16", "20231114T230000.000Z: 3600",
		}},
		{"years ahead, then months", slices.Concat([]int64{years, month}, seconds(1, q-1), []int64{3600}), []string{
			"20331111T220000.000Z: 315360000 2592000" + words(1, q-2), "20231114T220015.000Z: 15", "20231114T230000.000Z: 3600",
		}},
		{"a burst just below the quorum", slices.Concat([]int64{1}, seconds(years, q-1), seconds(2, q), []int64{3600}), []string{
			"20231114T220001.000Z: 1" + words(years, q-1) + words(2, q), "20231114T230000.000Z: 3600",
		}},
		{"two clocks", []int64{month, 1, month + 1, 3600, month + 2, 7200, month + 3600},
			[]string{"20231214T220000.000Z: 2592000 1 2592001 3600 2592002 7200", "20231214T230000.000Z: 2595600"}},
		{"late by an interval", []int64{7200, 1, 3600, 3601, 7201}, []string{"20231115T000000.000Z: 7200 1 3600 3601 7201"}},
	} {
		g := &capturetest.File{Order: binary.LittleEndian}
		g.Section(encoding.UnknownLength)
		g.Interface(1, 0, g.Option(encoding.OptTSResol, []byte{0}), g.End())
		for _, at := range tt.times {
			if at == noStamp {
				g.Simple([]byte("x"))
			} else {
				g.Enhanced(0, uint64(hour+at), []byte("x"), 1)
			}
		}
		got := rotate(t, source(t, g.Bytes(), "in"), Options{Every: time.Hour}, none)
		var lines []string
		for i, data := range got.files {
			line := strings.TrimSuffix(strings.TrimPrefix(got.names[i], "out-"), ".cap") + ":"
			for _, at := range times(t, data) {
				if at == capture.NoTime {
					line += " none"
				} else {
					line += fmt.Sprintf(" %d", at/1e9-hour)
				}
			}
			lines = append(lines, line)
		}
		if !slices.Equal(lines, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, lines, tt.want)
		}
	}
}

const (
	noStamp = -1
	month   = 30 * 24 * 3600
	years   = 10 * 365 * 24 * 3600
)

// seconds returns n times from a first time on, a second apart.
func seconds(from int64, n int) (all []int64) {
	for i := range int64(n) {
		all = append(all, from+i)
	}
	return all
}

// words are those times as TestInterval writes them.
func words(from int64, n int) (all string) {
	for _, at := range seconds(from, n) {
		all += fmt.Sprint(" ", at)
	}
	return all
}

// TestFalseTimes mixes false times of all kinds into a stream, which is cut at the
// same places whatever batches it comes in, and keeps on being cut.
func TestFalseTimes(t *testing.T) {
	const start, n, every = 1_700_000_000, 3000, time.Minute
	rnd := rand.New(rand.NewPCG(4, 4))
	g := &capturetest.File{Order: binary.LittleEndian}
	g.Section(encoding.UnknownLength)
	g.Interface(1, 0, g.Option(encoding.OptTSResol, []byte{0}), g.End())
	for i := range n {
		at := uint64(start + i)
		switch rnd.IntN(50) {
		case 0:
			at += years + rnd.Uint64N(years)
		case 1:
			at = rnd.Uint64N(start)
		case 2:
			at = uint64(start + rnd.IntN(n))
		case 3:
			g.Simple([]byte("x"))
		}
		g.Enhanced(0, at, []byte("x"), 1)
	}
	for _, opt := range []Options{{Every: every}, {Every: every, Size: 2000}} {
		checkRotation(t, fmt.Sprint(opt.Size), func(chunk int) rotated {
			got := rotate(t, chunked(t, g, chunk), opt, none)
			if files := len(got.files); files < n/60 || opt.Size == 0 && files > 2*n/60 {
				t.Errorf("%d files", files)
			}
			return got
		}, opt, records(t, g.Bytes()))
	}
}

// TestClock judges times by the clock of Tick.
func TestClock(t *testing.T) {
	const s, m, h = int64(time.Second), int64(time.Minute), int64(time.Hour)
	type step struct {
		tick bool
		at   int64
		over bool
	}
	packet := func(at int64, over bool) step { return step{at: at, over: over} }
	outliers := func(at int64) []step { return slices.Repeat([]step{packet(at, false)}, calendar.Quorum-1) }
	tick := func(at int64, over bool) step { return step{tick: true, at: at, over: over} }
	for name, steps := range map[string][]step{
		"false":             {packet(s, false), tick(2*s, false), packet(3*h, false), packet(4*s, false), packet(h, true)},
		"one in a row":      {tick(0, false), packet(s, false), packet(3*h, false), packet(s, false), packet(3*h, false), packet(3*h, false), packet(h-1, false)},
		"a quorum in a row": slices.Concat([]step{tick(0, false), packet(s, false)}, outliers(3*h), []step{packet(4*h, true)}),
		"silence":           {packet(s, false), tick(h-1, false), tick(h, true), tick(h+1, false), tick(2*h, true), packet(2*h+s, false)},
		"asleep":            {packet(s, false), tick(s, false), tick(5*h, false), packet(5*h, true), tick(6*h, true)},
		"ahead of clock":    {packet(30*h, false), tick(s, false), packet(31*h, true), tick(h, false), packet(32*h, true)},
		"behind the clock":  {packet(s, false), tick(30*h, false), packet(h, true), tick(31*h, false), packet(2*h, true)},
		"the clock itself":  slices.Concat([]step{packet(30*h, false), tick(30*h, false)}, outliers(s), []step{tick(s, false), packet(h-1, true), packet(h, true), tick(2*h, true)}),
		"a late straggler":  {packet(s, false), tick(h, true), packet(h-1, false), packet(h, false)},
		"the end of time":   slices.Concat([]step{packet(math.MaxInt64-1, false), packet(math.MaxInt64, false)}, outliers(0), []step{packet(h, true)}),
		"its begin":         slices.Concat([]step{packet(math.MinInt64+1, false), packet(math.MinInt64+2, false)}, outliers(0), []step{packet(0, true)}),
		"no time":           {packet(capture.NoTime, false), packet(s, false), packet(capture.NoTime, false), packet(h, true)},
		"small intervals":   {packet(0, false), tick(0, false), packet(h+m-1, true)},
	} {
		c := newIntervals(time.Hour)
		for i, step := range steps {
			judge := c.ends
			if step.tick {
				judge = c.tick
			}
			if got := judge(step.at); got != step.over {
				t.Errorf("%s: step %d, %+v: %v", name, i, step, got)
			}
		}
	}
	c := newIntervals(time.Second)
	c.ends(0)
	c.tick(0)
	if !c.ends(m-1) || c.ends(3*m) {
		t.Error("a clock is not a minute off")
	}
}

// TestTick ends files at the hour without a packet.
func TestTick(t *testing.T) {
	dir := t.TempDir()
	r := newFile(t, filepath.Join(dir, "out.pcap"), Options{Every: time.Hour})
	g := capturetest.Pcap(1, 3, 1, 0) // at 1_600_000_000, 12:26:40
	hour := time.Unix(1_600_000_000, 0).Truncate(time.Hour)
	tick := func(at time.Time, files int) {
		t.Helper()
		err := r.Tick(at)
		r.waitCompleted()
		if err := errors.Join(err, r.err); err != nil {
			t.Fatal(err)
		}
		if names, _ := filepath.Glob(filepath.Join(dir, "out*")); len(names) != files {
			t.Errorf("after the tick at %v: %q", at, names)
		}
	}
	tick(hour, 0)
	if err := capturetest.Each(t, source(t, g.Bytes(), "in"), func(b *capture.Batch) {
		if err := r.Write(b, nil); err != nil {
			t.Fatal(err)
		}
		tick(hour.Add(time.Hour-1), int(r.Stats().Files))
		tick(hour.Add(time.Hour), int(r.Stats().Files)+1)
		tick(hour.Add(3*time.Hour), int(r.Stats().Files))
	}); err != nil {
		t.Fatal(err)
	}
	if err := r.Commit(); err != nil {
		t.Fatal(err)
	}
	got := readRotated(t, dir)
	if len(got.files) == 0 || !strings.HasPrefix(got.names[0], "out-20200913T122640.") {
		t.Errorf("%q", got.names)
	}
}

func TestStartOf(t *testing.T) {
	for _, tt := range []struct {
		t    int64
		unit time.Duration
		want int64
	}{
		{0, time.Hour, 0},
		{-1, time.Second, -1e9},
		{1999, 1000, 1000},
		{capture.NoTime + 1, time.Hour, capture.NoTime + 1},
	} {
		if got := floorTime(tt.t, tt.unit); got != tt.want {
			t.Errorf("startOf(%d, %v) = %d, want %d", tt.t, tt.unit, got, tt.want)
		}
	}
	c := newIntervals(time.Hour)
	const late = 1<<63 - 2
	for range 2 {
		if c.ends(late) || c.end != 1<<63-1 {
			t.Errorf("the last interval ends at %d", c.end)
		}
	}
}
