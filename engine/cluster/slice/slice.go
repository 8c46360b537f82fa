// SPDX-License-Identifier: Apache-2.0

package slice

import (
	"errors"
	"fmt"
	"math/bits"
	"time"

	"github.com/flowdedup/flowdedup/engine/hubclient"
)

// MaxSites is the number of sites that a slice can distinguish.
const MaxSites = 1<<siteBits - 1

// ErrConfig is wrapped by the errors of New.
var ErrConfig = errors.New("bad slice")

// Config configures a slice. Slices that save and restore each other need the same
// Config.
type Config struct {
	Window time.Duration // between a packet and its copies
	Memory int           // bytes at first
	Limit  int           // limit of its growth in bytes
	Slices int           // of the whole filter
}

// Slice is one part of the filter. It serves one goroutine,
// and wants Close at the end.
//
// It remembers the digests of packets with site and time. A digest known from another
// site, at a time within the window of this time, is a copy, and changes nothing. The
// slice remembers any other digest, also a digest that the same site has sent before. Times of
// different sites compare after the correction of their clocks that the slice has
// learned.
//
// A line of 64 bytes holds 4 digests. A fifth replaces the digest that is the farthest away
// in time, which goes to a spare line as long as it may have copies. If spare lines have
// evicted many digests of the window, the slice doubles, up to its limit.
type Slice struct {
	cfg    Config
	window uint64 // microseconds, with the unit that times are rounded to
	reach  uint64 // largest distance in time at which a digest is worth a place in a spare line
	rows   rows
	clocks clocks
	sites  []site
	number map[string]int
	pairs  matrix[pair] // the site of the original, with the site of the copy

	latest      int64 // corrected time of the last digest
	evicted     uint64
	evictedLive uint64
	sinceGrown  uint64 // part of evictedLive since the last growth
	touched     uint64 // keeps the compiler from removing the prefetching reads
}

// site is the state of a site.
type site struct {
	Name     string
	Requests uint64
	Digests  uint64
	Copies   uint64
	Replayed uint64 // repeated requests
	replies  Replies
}

// windowUS is the window in microseconds, with the unit that times are rounded to.
func (c Config) windowUS() uint64 { return uint64(c.Window.Microseconds()) + hubclient.DeltaUnit }

// lateSpan bounds how much later than other sites' requests of the same times a site's
// requests may usually come, in microseconds: sensors collect packets for some
// milliseconds.
const lateSpan = 10_000

// New makes an empty slice. Errors wrap ErrConfig, or are of the system that has no memory.
func New(cfg Config) (*Slice, error) {
	s, err := withoutRows(cfg)
	if err != nil {
		return nil, err
	}
	s.rows, err = newRows(sizes(cfg.Memory / lineBytes))
	return s, err
}

// withoutRows makes a slice that lacks its rows.
func withoutRows(cfg Config) (*Slice, error) {
	switch {
	case cfg.Window < time.Microsecond || cfg.Window > 24*time.Hour:
		return nil, fmt.Errorf("%w: a window of %v, want a microsecond to a day", ErrConfig, cfg.Window)
	case cfg.Memory < lineBytes || cfg.Limit < cfg.Memory || uint64(cfg.Limit) > lineBytes<<32:
		return nil, fmt.Errorf("%w: %d to %d bytes, want at least %d", ErrConfig, cfg.Memory, cfg.Limit, lineBytes)
	case cfg.Slices < 1:
		return nil, fmt.Errorf("%w: one of %d", ErrConfig, cfg.Slices)
	}
	s := &Slice{cfg: cfg, number: map[string]int{}}
	s.window = cfg.windowUS()
	s.reach = s.window + lateSpan
	s.clocks.window = s.window
	return s, nil
}

// Close gives the memory back.
func (s *Slice) Close() error { return s.rows.arena.Close() }

// Apply answers a request of a site: it appends a bit for each digest to dst, 1 for
// copies. A repeated request gets the same answer, and changes nothing. The status is
// hubclient.OK, or hubclient.Bad for requests that no slice can answer.
func (s *Slice) Apply(dst []byte, name string, r *hubclient.Request) ([]byte, hubclient.Status) {
	at, ok := s.siteOf(name)
	if !ok || r.Time > hubclient.MaxTime || r.Op == hubclient.Chain || r.Op == hubclient.Ping {
		return dst, hubclient.Bad
	}
	from := &s.sites[at]
	if copies, ok := from.replies.Find(r); ok {
		from.Replayed++
		return append(dst, copies...), hubclient.OK
	}
	from.Requests++
	from.Digests += uint64(len(r.Digests))
	start := len(dst)
	for range (len(r.Digests) + 7) / 8 {
		dst = append(dst, 0)
	}
	copies := dst[start:]
	for from := 0; from < len(r.Digests); from += ahead {
		s.run(copies, r, from, min(from+ahead, len(r.Digests)), at)
	}
	from.replies.Keep(r, copies)
	s.growIfNeeded()
	return dst, hubclient.OK
}

// Repeated reports whether a site may have sent a request before, and how much its clock
// is ahead of the clocks that it is compared with, in microseconds. reply is the subject
// of the answer. It is for requests that Apply takes next.
func (s *Slice) Repeated(name, reply string, r *hubclient.Request) (again bool, ahead int64) {
	at, ok := s.siteOf(name)
	if !ok {
		return false, 0
	}
	again, _ = s.sites[at].replies.Repeated(reply, r)
	return again, s.clocks.nodes[at].Offset
}

// ahead is the number of lines that are read before the first of them is needed. The
// processor fetches them in parallel.
const ahead = 64

// touch reads the lines of digests, at most ahead of them, and the spare lines that will be
// asked.
func (s *Slice) touch(digests []uint64) {
	lines, all := s.rows.lines, uint64(0)
	for _, d := range digests {
		all |= chosen(lines, d)[cells]
	}
	if all&spilledBit != 0 {
		for _, d := range digests {
			if chosen(lines, d).spilled() {
				all |= s.rows.spareOf(d)[0]
			}
		}
	}
	s.touched = all
}

// run answers the digests of a request from one to another.
func (s *Slice) run(copies []byte, r *hubclient.Request, from, to, at int) {
	s.touch(r.Digests[from:to])
	for i := from; i < to; i++ {
		t := int64(r.Time) - s.clocks.nodes[at].Offset
		if r.Times {
			t += int64(r.Deltas[i]) * hubclient.DeltaUnit
		}
		d := r.Digests[i]
		l := s.rows.line(d)
		if l.has(d) || l.spilled() && s.rows.spareOf(d).has(d) {
			if s.seen(l, r.Op, d, t, at) {
				copies[i/8] |= 1 << (i % 8)
			}
		} else if r.Op != hubclient.Test {
			s.insert(l, d, t, at)
		}
	}
}

// seen answers for a digest that is in a line or its spare line.
func (s *Slice) seen(l *line, op hubclient.Op, digest uint64, t int64, at int) (isCopy bool) {
	other, known := s.rows.find(l, digest, t, at+1)
	if other != 0 {
		isCopy = distance(other.time(), t) <= s.window
		if isCopy && op == hubclient.TestAndSet {
			s.countCopy(other.site()-1, at, other.time(), t)
		}
		if op != hubclient.Test {
			s.clocks.observe(digest, other.site()-1, at, other.time(), t) // changes take effect with the next digest
		}
	}
	if !isCopy && !known && op != hubclient.Test {
		s.insert(l, digest, t, at)
	}
	return isCopy
}

// insert remembers a digest.
func (s *Slice) insert(l *line, digest uint64, t int64, at int) {
	cell := l.victim(t)
	m := l.mark(cell)
	if distance(m.time(), t) <= s.reach && len(s.rows.spare) > 0 { // an empty cell has a larger distance
		m = s.rows.spill(l, cell, t)
	} else if l.spilled() {
		s.countEvicted(s.rows.tidy(l, digest, t, s.reach), t)
	}
	s.countEvicted(m, t)
	l.set(cell, digest, newMark(t, at+1))
	s.latest = t
}

func (s *Slice) countCopy(of, at int, first, second int64) {
	s.sites[at].Copies++
	p := s.pairs.at(of, at)
	p.Copies++
	p.Delays[bits.Len64(distance(first, second))]++
}

func (s *Slice) countEvicted(m mark, t int64) {
	if m == 0 {
		return
	}
	s.evicted++
	if distance(m.time(), t) <= s.window {
		s.evictedLive++
		s.sinceGrown++
	}
}

// growIfNeeded doubles the lines, if per hundred lines an element of the window was
// evicted. Without memory it goes on as it is.
func (s *Slice) growIfNeeded() {
	if s.sinceGrown > uint64(len(s.rows.lines)/100) && 2*len(s.rows.all())*lineBytes <= s.cfg.Limit {
		s.sinceGrown = 0
		_ = s.rows.grow()
	}
}

// siteOf returns the number of a site, which gets a number if it is new. It reports false if
// there are too many.
func (s *Slice) siteOf(name string) (int, bool) {
	at, ok := s.number[name]
	if ok {
		return at, true
	}
	if len(s.sites) == MaxSites || !hubclient.ValidName(name) {
		return 0, false
	}
	s.addSite(site{Name: name})
	s.clocks.add()
	return len(s.sites) - 1, true
}

func (s *Slice) addSite(one site) {
	s.number[one.Name] = len(s.sites)
	s.sites = append(s.sites, one)
	s.pairs.add()
}
