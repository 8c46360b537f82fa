package monitor

import (
	"fmt"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/live"
)

// loss is a number of packets that did not get to where they were to go.
type loss struct {
	where, why string
	packets    uint64
}

// lossesOf lists all that a run can lose once it has judged a packet.
func lossesOf(s *live.Status) []loss {
	var all []loss
	for i := range s.Outputs {
		all = append(all, loss{"output " + s.Outputs[i].Name, "lost", s.Outputs[i].Lost})
	}
	if f := s.Forward; f != nil {
		where := "forward " + f.Interface
		all = append(all,
			loss{where, "not sent while the interface was away", f.Lost},
			loss{where, "longer than the interface can carry", f.TooLong},
			loss{where, "refused by its queue", f.Refused},
			loss{where, "captured in part and not sent", f.Cut})
	}
	return all
}

// losses remembers when packets were lost.
type losses struct {
	counts []loss
	grown  []time.Time // when each count did the last time
}

// add takes the losses of the next status; those of a run have their order.
func (l *losses) add(now time.Time, counts []loss) {
	for i := range counts {
		if i == len(l.grown) {
			l.grown = append(l.grown, time.Time{})
			l.counts = append(l.counts, loss{})
		}
		if counts[i].packets > l.counts[i].packets {
			l.grown[i] = now
		}
		l.counts[i] = counts[i]
	}
}

// recent tells what goes on being lost.
func (l *losses) recent(now time.Time) []string {
	var out []string
	for i, c := range l.counts {
		if !l.grown[i].IsZero() && now.Sub(l.grown[i]) <= fresh {
			out = append(out, fmt.Sprintf("%s: %s packets %s", c.where, count(c.packets), c.why))
		}
	}
	return out
}
