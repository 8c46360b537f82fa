// SPDX-License-Identifier: Apache-2.0

package monitor

import (
	"fmt"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/web"
)

// rate holds the events per second between two statuses.
type rate struct {
	at                                           time.Time // of the second status
	packets, duplicates, bits, received, dropped float64
}

// rateOf returns the rate between two statuses, and false where no time lies
// between them.
func rateOf(before, after *Status) (rate, bool) {
	seconds := after.Now.Sub(before.Now).Seconds()
	if seconds <= 0 {
		return rate{}, false
	}
	received1, dropped1 := atRings(before)
	received2, dropped2 := atRings(after)
	return rate{
		at:         after.Now,
		packets:    increase(before.PacketsIn, after.PacketsIn) / seconds,
		duplicates: increase(before.Duplicates, after.Duplicates) / seconds,
		bits:       8 * increase(before.BytesIn, after.BytesIn) / seconds,
		received:   increase(received1, received2) / seconds,
		dropped:    increase(dropped1, dropped2) / seconds,
	}, true
}

// increase returns by how much a count grew; 0 if it was reset.
func increase(before, after uint64) float64 {
	if after < before {
		return 0
	}
	return float64(after - before)
}

// atRings adds up the counters of all rings, and of the cards: what these lost counts in both.
func atRings(s *Status) (received, dropped uint64) {
	for i := range s.Rings {
		lost := s.Rings[i].Card.Lost()
		received += s.Rings[i].Received + lost
		dropped += s.Rings[i].Dropped + lost
	}
	return received, dropped
}

// historyLength is how many rates a history keeps: one minute.
const historyLength = 60

// history is the last status and the rates before it, the latest last.
type history struct {
	last  *Status // nil before the first
	rates []rate
}

// add takes the next status.
func (h *history) add(s *Status) {
	if h.last != nil {
		if r, ok := rateOf(h.last, s); ok {
			if len(h.rates) == historyLength {
				copy(h.rates, h.rates[1:])
				h.rates = h.rates[:historyLength-1]
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

// series returns one field of the rates over time.
func (h *history) series(of func(rate) float64) []float64 {
	out := make([]float64, len(h.rates))
	for i, r := range h.rates {
		out[i] = of(r)
	}
	return out
}

// age returns the time since an event, in whole seconds and never negative.
func age(since, now time.Time) time.Duration {
	return max(0, now.Sub(since).Round(time.Second))
}

// Loss is a number of packets or messages that an output or an interface did not get.
type Loss struct {
	Where string
	What  string // the lost things, and why
	Count uint64
}

// lossesOf lists all losses that can happen to a packet after its verdict.
func lossesOf(s *Status) []Loss {
	var all []Loss
	for i := range s.Outputs {
		all = append(all, Loss{"output " + s.Outputs[i].Name, "packets lost", s.Outputs[i].Lost})
	}
	for i := range s.Forwards {
		f := &s.Forwards[i]
		where := "forward " + f.Interface
		all = append(all,
			Loss{where, "packets not sent while the interface was away", f.Lost},
			Loss{where, "packets longer than the interface can carry", f.TooLong},
			Loss{where, "packets refused by its queue", f.Refused},
			Loss{where, "truncated packets, not sent", f.Truncated},
			Loss{where, "packets that a tunnel carried without Ethernet, not sent", f.NotEthernet})
	}
	return all
}

// Losses remembers when something was lost.
type Losses struct {
	counts []Loss
	grewAt []time.Time // when each count grew last
}

// Add takes the losses of the next status, in an order that is fixed for a run.
func (l *Losses) Add(now time.Time, counts []Loss) {
	for i := range counts {
		if i == len(l.grewAt) {
			l.grewAt = append(l.grewAt, time.Time{})
			l.counts = append(l.counts, Loss{})
		}
		if counts[i].Count > l.counts[i].Count {
			l.grewAt[i] = now
		}
		l.counts[i] = counts[i]
	}
}

// Recent describes the losses that grew within web.MaxAge.
func (l *Losses) Recent(now time.Time) []string {
	var out []string
	for i, c := range l.counts {
		if !l.grewAt[i].IsZero() && now.Sub(l.grewAt[i]) <= web.MaxAge {
			out = append(out, fmt.Sprintf("%s: %s %s", c.Where, show.Count(c.Count), c.What))
		}
	}
	return out
}
