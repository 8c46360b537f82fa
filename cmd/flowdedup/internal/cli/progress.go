package cli

import (
	"fmt"
	"os"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progress shows how far a run is, on a terminal only.
type progress struct {
	bar  *progressbar.ProgressBar
	next time.Time
}

// redraw is how often the line is drawn again.
const redraw = 200 * time.Millisecond

func newProgress(e *env, c *common) *progress {
	p := &progress{}
	file, ok := e.stderr.(*os.File)
	if !ok || c.quiet || c.noProgress || !term.IsTerminal(int(file.Fd())) {
		return p
	}
	p.bar = progressbar.NewOptions64(-1,
		progressbar.OptionSetWriter(e.stderr),
		progressbar.OptionShowBytes(true),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionThrottle(redraw),
	)
	bar := p.bar
	e.clearProgress = func() { _ = bar.Clear() } // what cannot be cleared is only untidy
	return p
}

// update is called after each batch.
func (p *progress) update(done, total int64, packets uint64) {
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
	p.bar.Describe(fmt.Sprintf("%s packets", humanize.Comma(int64(packets))))
	// A progress line that cannot be drawn must not end the run.
	_ = p.bar.Set64(done)
}

// close takes the line away; it may be called twice.
func (p *progress) close() {
	if p.bar == nil {
		return
	}
	_ = p.bar.Finish()
	p.bar = nil
}
