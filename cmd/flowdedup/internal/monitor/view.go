// SPDX-License-Identifier: Apache-2.0

package monitor

import (
	"bytes"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
)

// View shows a run. On a terminal it redraws a dashboard with each status; elsewhere it
// writes one line at regular intervals. Other messages go through [View.Write], which
// keeps them from disturbing the dashboard.
//
// A View never blocks the run: its own goroutine writes, and while the terminal is
// stopped or the reader sleeps, updates are skipped. It changes no mode of the terminal,
// so there is nothing to restore however the process ends, and Ctrl-C stays a signal.
// Methods may be called concurrently.
type View struct {
	out    io.Writer
	screen *screen    // nil where out is no terminal
	log    *statusLog // nil where it is

	mu      sync.Mutex
	history history
	lines   [][]byte // to be written, or to be shown on the screen
	skipped int      // lines dropped beyond maxQueuedLines
	closed  bool
	wakeup  chan struct{} // holds one token if there is something to write
	done    chan struct{}
}

// NewView returns a view on w. If w is a terminal that knows escape sequences, the view
// is a dashboard. Otherwise it writes one record of level Info per interval of length
// every, in the format of the handler that handler returns: [Lines], or one of slog. The
// caller must call Close.
func NewView(w io.Writer, every time.Duration, handler func(io.Writer) slog.Handler) *View {
	v := &View{out: w, wakeup: make(chan struct{}, 1), done: make(chan struct{})}
	if file, ok := w.(*os.File); ok && term.IsTerminal(int(file.Fd())) && os.Getenv("TERM") != "dumb" {
		v.screen = &screen{terminal: file}
	} else {
		v.log = &statusLog{every: every, handle: handler(writer(v.keep))}
	}
	go v.run()
	return v
}

// Update takes the next status. The caller must not change what it points to afterwards.
func (v *View) Update(s Status) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return
	}
	v.history.add(&s)
	if v.log != nil {
		v.log.update(&s)
	}
	v.wake()
}

// Write shows whole lines of warnings and logs. On a terminal the last lines stay visible
// below the dashboard, and Close prints all of them. Write always takes all of p and
// returns no error. On a closed view it writes straight through.
func (v *View) Write(p []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return v.out.Write(p)
	}
	v.keep(p)
	v.wake()
	return len(p), nil
}

// maxQueuedLines is how many lines are kept for writing; older lines are dropped.
const maxQueuedLines = 1000

// keep queues lines. v.mu is held.
func (v *View) keep(p []byte) {
	for line := range bytes.Lines(p) {
		if len(v.lines) == maxQueuedLines {
			v.lines = append(v.lines[:0], v.lines[1:]...)
			v.skipped++
		}
		v.lines = append(v.lines, bytes.Clone(line))
	}
}

// wake signals run that there is something to write. v.mu is held, and the view is open.
func (v *View) wake() {
	select {
	case v.wakeup <- struct{}{}:
	default: // it is already signaled
	}
}

// closeWait is how long Close waits for a blocked terminal.
const closeWait = time.Second

// Close shows the last status and all lines, and leaves the cursor below them. It may be
// called twice.
func (v *View) Close() {
	v.mu.Lock()
	if !v.closed {
		v.closed = true
		close(v.wakeup)
	}
	v.mu.Unlock()
	select {
	case <-v.done:
	case <-time.After(closeWait):
	}
}

// run writes until the view is closed. It ignores write errors: a closed terminal or pipe
// must not end the run.
func (v *View) run() {
	defer close(v.done)
	for range v.wakeup {
		if out := v.next(false); len(out) > 0 {
			_, _ = v.out.Write(out)
		}
	}
	if out := v.next(true); len(out) > 0 {
		_, _ = v.out.Write(out)
	}
}

// next returns the bytes to write now; last says that no others follow.
func (v *View) next(last bool) []byte {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.screen == nil {
		return v.flush()
	}
	if last {
		return append(v.screen.draw(newDashboard(&v.history), nil), v.flush()...)
	}
	return v.screen.draw(newDashboard(&v.history), v.recent())
}

// flush returns and clears the queued lines.
func (v *View) flush() []byte {
	var out []byte
	if v.skipped > 0 {
		out = append(out, show.Count(uint64(v.skipped))+" lines left out\n"...)
	}
	out = append(out, bytes.Join(v.lines, nil)...)
	v.lines, v.skipped = nil, 0
	return out
}

// recent returns the last lines, without bytes that could move the cursor.
func (v *View) recent() []string {
	var out []string
	for _, line := range v.lines[max(0, len(v.lines)-maxRecentLines):] {
		out = append(out, show.Printable(strings.TrimRight(string(line), "\r\n")))
	}
	return out
}
