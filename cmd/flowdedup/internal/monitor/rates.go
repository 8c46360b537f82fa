package monitor

import (
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/live"
)

// rate is how fast things happened between two statuses, a second.
type rate struct{ packets, duplicates, bits, received, dropped float64 }

// rateOf returns the rate between two statuses, and false where no time lies
// between them.
func rateOf(before, after *live.Status) (rate, bool) {
	seconds := after.Now.Sub(before.Now).Seconds()
	if seconds <= 0 {
		return rate{}, false
	}
	received1, dropped1 := atRings(before)
	received2, dropped2 := atRings(after)
	return rate{
		packets:    grown(before.PacketsIn, after.PacketsIn) / seconds,
		duplicates: grown(before.Duplicates, after.Duplicates) / seconds,
		bits:       8 * grown(before.BytesIn, after.BytesIn) / seconds,
		received:   grown(received1, received2) / seconds,
		dropped:    grown(dropped1, dropped2) / seconds,
	}, true
}

// grown is by how much a count grew: not at all if it began anew.
func grown(before, after uint64) float64 {
	if after < before {
		return 0
	}
	return float64(after - before)
}

// atRings sums what the kernel counted.
func atRings(s *live.Status) (received, dropped uint64) {
	for i := range s.Rings {
		received += s.Rings[i].Received
		dropped += s.Rings[i].Dropped
	}
	return received, dropped
}

// remembered is how many rates a history keeps: a minute of them.
const remembered = 60

// history is the last status, and the rates that led to it, the latest last.
type history struct {
	last  *live.Status // nil before the first
	rates []rate
}

// add takes the next status.
func (h *history) add(s *live.Status) {
	if h.last != nil {
		if r, ok := rateOf(h.last, s); ok {
			if len(h.rates) == remembered {
				copy(h.rates, h.rates[1:])
				h.rates = h.rates[:remembered-1]
			}
			h.rates = append(h.rates, r)
		}
	}
	h.last = s
}

// now is the latest rate.
func (h *history) now() rate {
	if len(h.rates) == 0 {
		return rate{}
	}
	return h.rates[len(h.rates)-1]
}

// series returns one of the rates over time.
func (h *history) series(of func(rate) float64) []float64 {
	out := make([]float64, len(h.rates))
	for i, r := range h.rates {
		out[i] = of(r)
	}
	return out
}

// age is the time since an event, in whole seconds and never negative.
func age(since, now time.Time) time.Duration {
	return max(0, now.Sub(since).Round(time.Second))
}
