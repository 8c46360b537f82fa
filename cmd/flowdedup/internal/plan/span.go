package plan

import (
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// maxPause is the longest pause of a stream that is believed at once.
const maxPause = time.Hour

// span is how long a stream takes, from its earliest packet to its latest, without those
// whose time is false. A clock that was set before a quorum of its times had come was false
// itself, as that of a first packet may be.
type span struct {
	clock       calendar.Clock
	first, last int64 // NoTime before the first packet
}

func newSpan() span {
	return span{clock: calendar.Clock{Ahead: maxPause, Behind: maxPause}, first: capture.NoTime, last: capture.NoTime}
}

// add takes the time of the next packet.
func (s *span) add(t int64) {
	if t == capture.NoTime {
		return
	}
	confirmed := s.clock.Count() == calendar.Quorum
	switch verdict, _ := s.clock.Observe(t); verdict {
	case calendar.Believed:
		s.include(t)
	case calendar.Adopted:
		s.adopt(s.clock.Adopted(), confirmed)
	}
}

// finish decides on the times that the stream ends with: the majority is right.
func (s *span) finish() {
	if held, n := s.clock.Held(), s.clock.Count(); len(held) >= n {
		s.adopt(held, len(held) == n)
	}
}

// adopt includes times of another clock, and drops those before it unless they are confirmed.
func (s *span) adopt(times []int64, confirmed bool) {
	if !confirmed {
		s.first, s.last = capture.NoTime, capture.NoTime
	}
	for _, t := range times {
		s.include(t)
	}
}

func (s *span) include(t int64) {
	if s.first == capture.NoTime || t < s.first {
		s.first = t
	}
	s.last = max(s.last, t)
}

// seconds returns how long the span is.
func (s *span) seconds() float64 {
	if s.last <= s.first {
		return 0
	}
	return float64(s.last)/1e9 - float64(s.first)/1e9
}
