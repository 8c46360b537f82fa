// SPDX-License-Identifier: Apache-2.0

//go:build unix

package monitor

import (
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
)

// terminal opens a pseudo-terminal of a size and collects the bytes written to it.
func terminal(t *testing.T, columns, rows uint16) (*os.File, *locked) {
	t.Helper()
	t.Setenv("TERM", "xterm")
	master, tty, err := pty.Open()
	if err != nil {
		t.Skip("no pseudo-terminal: ", err)
	}
	t.Cleanup(func() { master.Close(); tty.Close() })
	resize(t, tty, columns, rows)
	shown := new(locked)
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf)
			_, _ = shown.Write(buf[:n])
			if err != nil {
				return
			}
		}
	}()
	return tty, shown
}

func resize(t *testing.T, tty *os.File, columns, rows uint16) {
	t.Helper()
	if err := pty.Setsize(tty, &pty.Winsize{Cols: columns, Rows: rows}); err != nil {
		t.Fatal(err)
	}
}

// waitFor waits until the terminal shows text, and returns all that it has shown.
func waitFor(t *testing.T, shown *locked, text string) string {
	t.Helper()
	all := ""
	if !wait.For(func() bool {
		all = shown.String()
		return strings.Contains(all, text)
	}) {
		t.Fatalf("%q is not shown: %q", text, all)
	}
	return all
}

// TestTerminal shows a run on a terminal that shrinks.
func TestTerminal(t *testing.T) {
	tty, shown := terminal(t, 100, 30)
	v := NewView(tty, time.Hour, Lines)
	v.Update(*sample(1000))
	v.Update(*sample(1001))
	waitFor(t, shown, "up 16m41s")
	resize(t, tty, 50, 10)
	v.Update(*sample(1002))
	waitFor(t, shown, "up 16m42s")
	slog.New(Lines(v)).Warn("the interface is down")
	waitFor(t, shown, "WARN the interface is down")
	s := *sample(1003)
	s.Stopping = true
	v.Update(s)
	v.Close()
	all := waitFor(t, shown, "up 16m43s")
	for _, mode := range []string{"\x1b[?1049", "\x1b[?25", "\x1b[2J"} {
		if strings.Contains(all, mode) {
			t.Errorf("%q needs to be undone", mode)
		}
	}
	all = waitFor(t, shown, "\x1b[J\x1b[?2026l20") // the line stays below the last frame
	if got, want := strings.Count(all, beginFrame), strings.Count(all, endFrame); got != want {
		t.Errorf("%d frames begun, %d ended", got, want)
	}
	frames := strings.Split(strings.ReplaceAll(all, "\r\r\n", "\r\n"), home) // the terminal adds returns
	first := strings.Split(frames[1], "\r\n")
	if len(first) > 30 || !strings.Contains(frames[0], strings.Repeat("\r\n", 29)) {
		t.Errorf("%d lines in the first frame of 30, behind %q", len(first), frames[0])
	}
	last := strings.Split(frames[len(frames)-1], eraseRight+"\r\n")
	if len(last) > 10 {
		t.Errorf("%d lines in the last frame of 10", len(last))
	}
	for _, line := range last[:len(last)-1] {
		requireFits(t, line, 50)
	}
}

// TestDumbTerminal checks for lines on a terminal without escape sequences.
func TestDumbTerminal(t *testing.T) {
	tty, shown := terminal(t, 80, 24)
	t.Setenv("TERM", "dumb")
	v := NewView(tty, 0, Lines)
	v.Update(*sample(1))
	v.Close()
	if s := waitFor(t, shown, "packets="); strings.Contains(s, "\x1b") {
		t.Errorf("%q", s)
	}
}
