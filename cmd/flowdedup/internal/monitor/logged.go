package monitor

import (
	"context"
	"log/slog"
	"math"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/live"
)

// logged writes a line of the run's state each time that every has passed, and one
// at the end. Its rates are those since the line before.
type logged struct {
	every  time.Duration
	handle slog.Handler
	last   *live.Status // that a line was written of, or the first; nil before
}

func newLogged(every time.Duration, handle slog.Handler) *logged {
	return &logged{every: every, handle: handle}
}

// writer makes an io.Writer of a function.
type writer func([]byte)

// Write hands p on.
func (w writer) Write(p []byte) (int, error) {
	w(p)
	return len(p), nil
}

// slack is by how much a line may come too early: statuses come once a second, never
// exactly.
const slack = 500 * time.Millisecond

// update takes the next status.
func (l *logged) update(s *live.Status) {
	if l.last == nil {
		l.last = s
	}
	if s.Now.Sub(l.last.Now) < l.every-slack && !s.Stopping {
		return
	}
	ctx := context.Background()
	if !l.handle.Enabled(ctx, slog.LevelInfo) {
		return
	}
	r, _ := rateOf(l.last, s)
	_, dropped := atRings(s)
	line := slog.NewRecord(s.Now, slog.LevelInfo, "", 0)
	line.AddAttrs(
		slog.Uint64("packets", s.PacketsIn),
		slog.Float64("pps", math.Round(r.packets)),
		slog.Float64("bps", math.Round(r.bits)),
		slog.Uint64("dup", s.Duplicates),
		slog.Float64("share", part(s.Duplicates, s.PacketsIn)),
		slog.Uint64("drops", dropped),
		slog.Float64("fill", rounded(s.Filter.Fill)),
		slog.Uint64("evicted_live", s.Filter.EvictedLive),
	)
	_ = l.handle.Handle(ctx, line) // only queues it
	l.last = s
}

// part is the share of n in whole, to four digits.
func part(n, whole uint64) float64 {
	if whole == 0 {
		return 0
	}
	return rounded(float64(n) / float64(whole))
}

func rounded(share float64) float64 { return math.Round(share*1e4) / 1e4 }
