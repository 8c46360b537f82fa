// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"io"
	"strings"
	"testing"
	"time"
)

// course makes the samples of a process that runs for ten minutes, changed by alter.
func course(alter func(i int, x *sample)) *soak {
	begin := time.Now().Add(-10 * time.Minute)
	s := &soak{begin: begin, launched: []time.Time{begin}, out: io.Discard}
	for i := 1; i < 60; i++ {
		x := sample{when: begin.Add(time.Duration(i) * sampleEvery), shown: map[string]float64{
			packets: float64(i), resident: 100 << 20, goroutines: 14, open: 16}}
		alter(i, &x)
		s.samples = append(s.samples, x)
	}
	return s
}

func TestJudge(t *testing.T) {
	for name, tt := range map[string]struct {
		alter func(i int, x *sample)
		want  string // part of the error, or "" for none
	}{
		"calm":         {func(int, *sample) {}, ""},
		"growing up":   {func(i int, x *sample) { x.shown[resident] += float64(min(i, 9)) * (10 << 20) }, ""},
		"leak":         {func(i int, x *sample) { x.shown[resident] += float64(i) * (1 << 20) }, resident},
		"one table":    {func(i int, x *sample) { x.shown[resident] += float64(i/30) * (17 << 20) }, ""},
		"heap":         {func(i int, x *sample) { x.shown[heap] += float64(i) * (1 << 18) }, heap},
		"goroutines":   {func(i int, x *sample) { x.shown[goroutines] += float64(i / 6) }, goroutines},
		"files":        {func(i int, x *sample) { x.shown[open] += float64(i / 6) }, open},
		"drops":        {func(i int, x *sample) { x.shown[dropped] = float64(i / 30) }, "1 packets dropped"},
		"silence":      {func(i int, x *sample) { x.shown[packets] = float64(min(i, 50)) }, "no packets"},
		"wrong things": {func(i int, x *sample) { x.shown[dropped] = float64(i / 30); x.event = "something" }, ""},
	} {
		s := course(tt.alter)
		text := ""
		for _, err := range []error{s.checkCalm(), s.checkGrowth()} {
			if err != nil {
				text += err.Error()
			}
		}
		if !strings.Contains(text, tt.want) || tt.want == "" && text != "" {
			t.Errorf("%s: %q, want %q", name, text, tt.want)
		}
	}
}

func TestTally(t *testing.T) {
	var all tally
	for _, n := range []uint64{0, 1, 3, 2, 1 << 16, 3, 1<<16 + 3} {
		all.count(n)
	}
	if all.frames != 7 || all.again != 1 {
		t.Errorf("%d frames, %d again, want 7 and 1", all.frames, all.again)
	}
}

func TestAccount(t *testing.T) {
	for name, tt := range map[string]struct {
		sent, written, again uint64
		copies, dropped      float64
		fails                bool
	}{
		"all there":        {sent: 1000, written: 906, copies: 94},
		"one written more": {sent: 1000, written: 907, copies: 93, again: 1},
		"copy not found":   {sent: 1000, written: 907, copies: 93, fails: true},
		"dropped":          {sent: 1000, written: 899, copies: 91, dropped: 10},
		"lost":             {sent: 1000, written: 905, copies: 94, fails: true},
	} {
		s := &soak{out: io.Discard}
		s.samples = []sample{{shown: map[string]float64{duplicates: tt.copies}}}
		s.sent.Store(tt.sent)
		if err := s.checkCounts(&tally{frames: tt.written, again: tt.again}, tt.dropped); (err != nil) != tt.fails {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{"more"}, {"-duration", "1s"}, {"-rate", "1"}, {"-unknown"}} {
		if err := run(args, io.Discard); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}
