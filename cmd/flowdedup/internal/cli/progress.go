package cli

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
)

// progress shows how far a run is, on a terminal only. It shares the lock of
// stderr with warnings, which come from other goroutines.
type progress struct {
	mu   *sync.Mutex
	bar  *progressbar.ProgressBar // nil where nothing is shown
	next time.Time
}

// redraw is how often the line is drawn again.
const redraw = 200 * time.Millisecond

func newProgress(e *env, c *common) *progress {
	p := &progress{mu: &e.mu}
	if c.quiet || c.noProgress || !isTerminal(e.stderr) {
		return p
	}
	p.bar = progressbar.NewOptions64(-1,
		progressbar.OptionSetWriter(e.stderr),
		progressbar.OptionShowBytes(true),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionThrottle(redraw),
		progressbar.OptionSetSpinnerChangeInterval(0), // it would draw from a goroutine of its own
	)
	e.clearProgress = p.clear
	return p
}

// clear takes the line away until it is drawn again. The lock is held.
func (p *progress) clear() {
	if p.bar != nil {
		_ = p.bar.Clear() // what cannot be cleared is only untidy
	}
}

// update is called after each batch.
func (p *progress) update(done, total int64, packets uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar == nil {
		return
	}
	now := time.Now()
	if now.Before(p.next) {
		return
	}
	p.next = now.Add(redraw)
	if total > 0 {
		p.bar.ChangeMax64(total)
	}
	p.bar.Describe(fmt.Sprintf("%s packets", show.Count(packets)))
	// A progress line that cannot be drawn must not end the run.
	_ = p.bar.Set64(done)
}

// close takes the line away; it may be called twice.
func (p *progress) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar == nil {
		return
	}
	_ = p.bar.Finish()
	p.bar = nil
}

// isTerminal tells a terminal from everything else that may be written to.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
