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

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/live"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
)

// View shows a run to the person at the terminal, in place and anew with each
// status, or writes a line of its state every now and then where there is no
// terminal. It takes over what else wants to be written there: see Write.
//
// It never makes the run wait: what is shown is written by a goroutine of its own,
// and what comes while a terminal is stopped or a reader sleeps is skipped. Nor does
// it change a mode of the terminal, so that there is nothing to restore however the
// process ends, and Ctrl-C stays a signal. Methods may be called concurrently.
type View struct {
	out    io.Writer
	screen *screen    // nil where out is no terminal
	log    *statusLog // nil where it is

	mu      sync.Mutex
	history history
	lines   [][]byte // to be written, or to be shown on the screen
	skipped int      // lines that were too many
	closed  bool
	wakeup  chan struct{} // holds one token if there is something to write
	done    chan struct{}
}

// NewView returns a view on w, which is a terminal view if w is one that knows
// escape sequences. Elsewhere there is one record of level Info each time that every
// has passed, in the format of what handler returns: [Lines], or those of slog. End
// it with Close.
func NewView(w io.Writer, every time.Duration, handler func(io.Writer) slog.Handler) *View {
	v := &View{out: w, wakeup: make(chan struct{}, 1), done: make(chan struct{})}
	if file, ok := w.(*os.File); ok && term.IsTerminal(int(file.Fd())) && os.Getenv("TERM") != "dumb" {
		v.screen = &screen{terminal: file}
	} else {
		v.log = newStatusLog(every, handler(writer(v.keep)))
	}
	go v.run()
	return v
}

// Update takes the next status. What it points to must not be changed any more.
func (v *View) Update(s live.Status) {
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

// Write shows whole lines that others have to say: warnings and logs. On a terminal
// the last of them stay in sight below the view, and Close leaves them all there. It
// always takes all of p and returns no error, unless the view is closed, when it
// writes straight through.
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

// maxQueuedLines is how many lines wait to be written, or are left at the end.
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

// wake makes run look. v.mu is held, and the view is open.
func (v *View) wake() {
	select {
	case v.wakeup <- struct{}{}:
	default: // it has not looked since the last time
	}
}

// closeWait is how long Close waits for a terminal that takes nothing.
const closeWait = time.Second

// Close shows the last status and all lines, and leaves the cursor below. It may be
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

// run writes until the view is closed. A terminal or pipe that is gone is no reason
// to end the run that it showed.
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

// next returns what is to be written.
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

// flush returns the lines that wait, which then wait no longer.
func (v *View) flush() []byte {
	var out []byte
	if v.skipped > 0 {
		out = append(out, show.Count(uint64(v.skipped))+" lines left out\n"...)
	}
	out = append(out, bytes.Join(v.lines, nil)...)
	v.lines, v.skipped = nil, 0
	return out
}

// recent returns the last lines, without what could move the cursor.
func (v *View) recent() []string {
	var out []string
	for _, line := range v.lines[max(0, len(v.lines)-maxRecentLines):] {
		out = append(out, show.Printable(strings.TrimRight(string(line), "\r\n")))
	}
	return out
}
