// SPDX-License-Identifier: Apache-2.0

package slice

import (
	"math"
	"strings"
)

const (
	// keptAskers is the number of a site's askers that are remembered: hubs below another
	// one may share a name.
	keptAskers = 64
	// keptNumbers is the number of an asker's last numbers that are remembered one by
	// one.
	keptNumbers = 512
)

// Askers recognizes repeated requests of a site whose answers are forgotten. A filter
// that knows no sites would find their digests to be copies of themselves. So a request
// that may have come before counts as repeated. Each asker has a window of numbers, as
// RFC 4303, section 3.4.3, has against replays.
type Askers struct {
	All   []asker `json:",omitempty"`
	Turn  uint64  // rises with each request
	Least uint64  // numbers of unknown askers are new above it; 0 until an asker is forgotten
	Lost  bool    `json:",omitempty"` // see Lose
}

// asker is one run of one client of a site. It numbers its requests to a slice in their order, from
// the time when it began, in nanoseconds.
type asker struct {
	Name string
	Turn uint64 // turn of its last request
	Last uint64 // its highest number
	Seen [keptNumbers / 64]uint64
	From uint64 `json:",omitempty"` // numbers below it may have come before Lose
}

// unheard is an asker's From until its first request after Lose.
const unheard = math.MaxUint64

// AskerOf returns the asker that a reply subject names: all but the numbers of slice and
// request at its end. It is empty if the subject has no such numbers.
func AskerOf(reply string) string {
	for range 2 {
		reply = reply[:max(0, strings.LastIndexByte(reply, '.'))]
	}
	return reply
}

// Note records a request, and reports whether it may have come before. A request without
// a name counts as new, but may come from any asker. So all askers are forgotten then, and
// their numbers up to its number count as repeated. Note takes time linear in the askers of
// the site.
func (s *Askers) Note(name string, seq uint64) (again bool) {
	if name == "" {
		for i := range s.All {
			s.Least = max(s.Least, s.All[i].Last)
		}
		s.All, s.Least = nil, max(s.Least, seq)
		return false
	}
	s.Turn++
	for i := range s.All {
		if a := &s.All[i]; a.Name == name {
			a.Turn = s.Turn
			return a.note(seq)
		}
	}
	least := s.Least
	if least > 0 && seq <= least {
		return true
	}
	if len(s.All) < keptAskers {
		s.All = append(s.All, asker{})
	} else {
		s.forget()
	}
	a := &s.All[len(s.All)-1]
	*a = asker{Name: name, Turn: s.Turn, Last: seq}
	if s.Lost {
		a.From = unheard
	}
	if least > 0 { // the asker may be forgotten
		for n := seq - min(seq, keptNumbers-1); n <= least; n++ {
			a.Seen[n%keptNumbers/64] |= 1 << (n % 64)
		}
	}
	return a.note(seq)
}

// Lose says that some of the last requests are not recorded.
func (s *Askers) Lose() {
	s.Lost = true
	for i := range s.All {
		s.All[i].From = unheard
	}
}

// Doubtful reports whether a request that Note has taken for new may have come before Lose.
// An asker repeats requests out of order only within keptNumbers. So later numbers than its
// first number after Lose by that many are new.
func (s *Askers) Doubtful(name string, seq uint64) bool {
	for i := range s.All {
		if a := &s.All[i]; a.Name == name {
			return seq < a.From
		}
	}
	return false
}

// forget drops the asker in the last place to make room.
func (s *Askers) forget() {
	oldest := 0
	for i := range s.All {
		if s.All[i].Turn < s.All[oldest].Turn {
			oldest = i
		}
	}
	s.Least = max(s.Least, s.All[oldest].Last)
	s.All[oldest] = s.All[len(s.All)-1]
}

// note records a number.
func (a *asker) note(seq uint64) (again bool) {
	if a.From == unheard {
		a.From = seq + min(keptNumbers, unheard-1-seq)
	}
	if seq > a.Last {
		for n := min(seq-a.Last, keptNumbers); n > 0; n-- {
			at := (seq - n + 1) % keptNumbers
			a.Seen[at/64] &^= 1 << (at % 64)
		}
		a.Last = seq
	}
	if a.Last-seq >= keptNumbers {
		return true
	}
	word, bit := &a.Seen[seq%keptNumbers/64], uint64(1)<<(seq%64)
	again = *word&bit != 0
	*word |= bit
	return again
}
