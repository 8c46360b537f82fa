// SPDX-License-Identifier: Apache-2.0

package monitor

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"
)

// locked is a buffer that a view's goroutine may write to.
type locked struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// TestPlainLines checks for a line every ten seconds and one at the end, with the rates
// in between, and for other messages in their place.
func TestPlainLines(t *testing.T) {
	var out locked
	v := NewView(&out, 10*time.Second, Lines)
	for second := range 24 {
		s := Status{Now: began.Add(time.Duration(second)*time.Second + time.Duration(second%3)*time.Millisecond), Stopping: second == 23}
		s.PacketsIn, s.BytesIn, s.Duplicates, s.Fill = uint64(second*second), uint64(1000*second), uint64(second*second/4), 0.25
		v.Update(s)
		if second == 15 {
			slog.New(Lines(v)).Warn("the interface is down", "interface", "eth0")
		}
	}
	v.Close()
	v.Close()
	want := `2026-11-21T19:46:10Z packets=100 pps=10 bps=7999 dup=25 share=0.25 drops=0 fill=0.25 evicted_live=0
NOW WARN the interface is down interface=eth0
2026-11-21T19:46:20Z packets=400 pps=30 bps=7999 dup=100 share=0.25 drops=0 fill=0.25 evicted_live=0
2026-11-21T19:46:23Z packets=529 pps=43 bps=8000 dup=132 share=0.2495 drops=0 fill=0.25 evicted_live=0
`
	if got := withoutNow(out.String()); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// withoutNow replaces the time of warnings by a word.
func withoutNow(s string) string {
	var out strings.Builder
	for line := range strings.Lines(s) {
		if at, rest, _ := strings.Cut(line, " "); strings.HasPrefix(rest, "WARN") {
			if _, err := time.Parse(time.RFC3339, at); err == nil {
				line = "NOW " + rest
			}
		}
		out.WriteString(line)
	}
	return out.String()
}

// TestViewNeverWaits updates a view whose reader sleeps.
func TestViewNeverWaits(t *testing.T) {
	asleep, out := io.Pipe()
	defer asleep.Close()
	v := NewView(out, 0, Lines)
	if _, err := fmt.Fprintln(v, "a line that is not read to its end"); err != nil {
		t.Fatal(err)
	}
	if _, err := asleep.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	for second := range 3 * maxQueuedLines {
		v.Update(Status{Now: began.Add(time.Duration(second) * time.Second)})
		if _, err := fmt.Fprintln(v, "a line of others"); err != nil {
			t.Fatal(err)
		}
	}
	v.mu.Lock()
	if len(v.lines) > maxQueuedLines || v.skipped == 0 {
		t.Errorf("%d lines wait, %d left out", len(v.lines), v.skipped)
	}
	v.mu.Unlock()
	v.Close()
}

// TestClosedView checks that later messages are still written.
func TestClosedView(t *testing.T) {
	var out locked
	v := NewView(&out, 0, Lines)
	v.Close()
	v.Update(*sample(1))
	if _, err := fmt.Fprintln(v, "late"); err != nil || out.String() != "late\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}

func TestLogger(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(Lines(&out))
	log.Debug("hidden")
	log.With("interface", "eth0").WithGroup("ring").Error("lost\nit\x1b", "time", "noon", "n", 3)
	_, line, _ := strings.Cut(out.String(), " ")
	if want := `ERROR lost\nit\x1b interface=eth0 ring.time=noon ring.n=3` + "\n"; line != want {
		t.Errorf("%q, want %q", line, want)
	}
}
