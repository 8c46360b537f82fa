// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
)

// Progress shows the progress of a run, on a terminal only. It shares the lock of
// standard error with warnings, which come from other goroutines.
type Progress struct {
	mu          *sync.Mutex
	out         io.Writer // nil where nothing is shown
	start, next time.Time
	begun       int64 // bytes that were done at start
	shown       bool
}

const (
	// redraw is the interval between two drawings of the line.
	redraw = 200 * time.Millisecond
	// settled is for how long the line has no estimate of the time that is left: the first
	// batches wait for memory and threads.
	settled = 3 * time.Second
	// clearLine returns to the beginning of the line and empties it (ECMA-48, EL).
	clearLine = "\r\x1b[K"
)

// NewProgress returns the progress of a run, which has not begun.
func NewProgress(e *Env, c *Common) *Progress {
	p := &Progress{mu: &e.mu}
	if c.Quiet || c.NoProgress || !IsTerminal(e.Stderr) || os.Getenv("TERM") == "dumb" {
		return p
	}
	p.out = e.Stderr
	e.clearProgress = p.clear
	return p
}

// clear removes the line until it is drawn again. The lock is held.
func (p *Progress) clear() {
	if p.shown {
		p.shown = false
		_, _ = io.WriteString(p.out, clearLine) // a line that stays is only untidy
	}
}

// Update is called after each batch, with bytes and packets. total is 0 where nobody knows it.
func (p *Progress) Update(done, total int64, packets uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.out == nil {
		return
	}
	now := time.Now()
	if now.Before(p.next) {
		return
	}
	if p.start.IsZero() {
		p.start, p.begun = now, done
	}
	p.next = now.Add(redraw)
	p.shown = true
	// A progress line that cannot be drawn must not end the run.
	_, _ = io.WriteString(p.out, clearLine+progressLine(done, total, packets, done-p.begun, now.Sub(p.start)))
}

// progressLine says how far a run is, which took the given time for the latest bytes.
func progressLine(done, total int64, packets uint64, latest int64, took time.Duration) string {
	line := show.Bytes(done)
	if total > 0 {
		line += fmt.Sprintf(" of %s (%s)", show.Bytes(total), show.Percent(float64(done), float64(total), 0))
	}
	if packets > 0 { // saved counts have none
		line += ", " + show.Count(packets) + " packets"
	}
	if took < settled || latest <= 0 {
		return line
	}
	line += fmt.Sprintf(", %s/s", show.Bytes(float64(latest)/took.Seconds()))
	if left := float64(total-done) / float64(latest) * float64(took); left > 0 {
		line += fmt.Sprintf(", %s left", time.Duration(left).Round(time.Second))
	}
	return line
}

// Close removes the line. It may be called twice.
func (p *Progress) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.out != nil {
		p.clear()
		p.out = nil
	}
}
