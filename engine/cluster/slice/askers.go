// SPDX-License-Identifier: Apache-2.0

package slice

import "strings"

const (
	// keptAskers is how many askers of a site are known: hubs below another one may share a name.
	keptAskers = 64
	// keptNumbers is how many of an asker's last numbers are known one by one.
	keptNumbers = 512
)

// askers recognizes repeated requests of a site whose answers are forgotten. A filter that knows
// no sites would find their digests to be copies of themselves. So a request that may have come
// before counts as repeated. Each asker has a window of numbers, like that of RFC 4303, section
// 3.4.3, against replays.
type askers struct {
	All   []asker `json:",omitempty"`
	Turn  uint64  // rises with each request
	Least uint64  // numbers of unknown askers are new above it; 0 before one was forgotten
}

// asker is one run of one client of a site. It numbers its requests to a slice in their order, from
// the time when it began, in nanoseconds.
type asker struct {
	Name string
	Turn uint64 // of its last request
	Last uint64 // its highest number
	Seen [keptNumbers / 64]uint64
}

// askerOf returns who asks, of the subject that an answer goes to: all but the numbers of slice and
// request at its end. It is empty if there are none.
func askerOf(reply string) string {
	for range 2 {
		reply = reply[:max(0, strings.LastIndexByte(reply, '.'))]
	}
	return reply
}

// note notes a request, and reports whether it may have come before. A request without a name
// counts as new. It takes time linear in the askers of the site.
func (s *askers) note(name string, seq uint64) (again bool) {
	if name == "" {
		return false
	}
	s.Turn++
	for i := range s.All {
		if a := &s.All[i]; a.Name == name {
			a.Turn = s.Turn
			return a.note(seq)
		}
	}
	if s.Least > 0 && seq <= s.Least {
		return true
	}
	if len(s.All) < keptAskers {
		s.All = append(s.All, asker{})
	} else {
		s.forget()
	}
	a := &s.All[len(s.All)-1]
	*a = asker{Name: name, Turn: s.Turn, Last: seq}
	return a.note(seq)
}

// forget makes room in the last place.
func (s *askers) forget() {
	oldest := 0
	for i := range s.All {
		if s.All[i].Turn < s.All[oldest].Turn {
			oldest = i
		}
	}
	s.Least = max(s.Least, s.All[oldest].Last)
	s.All[oldest] = s.All[len(s.All)-1]
}

// note notes a number.
func (a *asker) note(seq uint64) (again bool) {
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
