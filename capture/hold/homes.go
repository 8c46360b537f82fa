// SPDX-License-Identifier: Apache-2.0

package hold

import (
	"math"
	"time"

	"github.com/flowdedup/flowdedup/asm/line"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/traits"
	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/layout"
)

const (
	// conversations are remembered in 4 MiB, which is about a core's own caches.
	conversations = 1 << 18
	// silence is longer than the pauses of most conversations, and shorter than most
	// faults of a network take to be mended.
	silence = time.Minute
	// maxMisses is more packets in a row than a point loses by chance: where it loses a third of
	// them, once in 2^25 packets. It is less than TCP sends at once after its first round
	// trip, so little of a conversation is split.
	maxMisses = 16
	// wordSize is how many packets are handled while the lines of as many more are
	// fetched: the bits of a word.
	wordSize = 64
)

// homes remembers of each conversation its home: the capture point that its packets are taken
// from, where they are seen at several. Conversations and points are keyed hashes. It is for
// one goroutine at a time.
//
// A packet touches one line of 64 bytes (layout/conversations.go). A full line forgets the
// conversation that was seen longest ago. Its next packet makes its point the home again. So
// where memory does not do, packets are taken from where they are seen first.
type homes struct {
	arena *layout.Arena
	mask  uint64 // number of lines - 1
	hold  time.Duration
	lone  loneHome
}

// newHomes makes a table with this number of lines, a power of two. hold is how long packets wait for
// copies of them from home. Errors come from layout.NewArena.
func newHomes(lines int, hold time.Duration) (*homes, error) {
	arena, err := layout.NewArena(lines)
	if err != nil {
		return nil, err
	}
	return &homes{arena: arena, mask: uint64(lines - 1), hold: hold, lone: loneHome{since: calendar.NoTime}}, nil
}

// homeSightings are packets of a stream, in its order. Element i of each slice, and bit i of
// Copies, belong to packet i.
type homeSightings struct {
	traits.Sightings
	// Times are in nanoseconds since 1970, or calendar.NoTime.
	Times []int64
	// Copies has a bit for each packet that equals an earlier packet.
	Copies []uint64
}

// atHome sets bit i of home if packet i comes from the home of its conversation, and
// clears the other bits of the words that cover the packets. The first packet of a
// conversation makes its point the home. The fragments of a datagram have the home of the
// conversation that their first fragment belongs to. Packets without a conversation or
// without a time are at home everywhere, and are not remembered.
//
// A packet that is no copy, and does not come from home, is a miss. A row of misses lasts
// until the next sighting at home, or until the clock steps back to before its beginning.
// The home moves to the point of a miss whose row has lasted for a minute, or has 16 misses
// and has lasted longer than the hold: packets that are only ahead of their copies from
// home do not move it.
//
// A stream whose first sightings come from one point, the lone point, has all homes there. So
// after 65,536 first sightings homes are not noted, until another point has a first sighting. For a
// minute from then on, a conversation that is not remembered may have begun before: its home is the
// lone point.
//
// The result does not depend on how the stream is cut into calls. atHome does not
// allocate. It panics if a slice is too short, or after Close.
func (t *homes) atHome(home []uint64, s homeSightings) {
	t.arena.CheckOpen("homes.atHome")
	n := len(s.Conversation)
	clear(home[:(n+wordSize-1)/wordSize])
	for from, to := 0, 0; from < n; from = to {
		switch l := &t.lone; {
		case l.over:
			to = n
			t.note(home, &s, from, to)
		case l.count < loneAfter:
			to = l.learn(&s, from)
			t.note(home, &s, from, to)
		default:
			to = l.pass(home, &s, from)
		}
	}
}

// note sets the bits of the packets from to to-1 that are at home, and notes homes.
func (t *homes) note(home []uint64, s *homeSightings, from, to int) {
	lines := t.arena.Lines()
	line.Prefetch(lines, s.Conversation[from:min(from+wordSize, to)])
	for from < to {
		end := min(from&^(wordSize-1)+wordSize, to)
		line.Prefetch(lines, s.Conversation[end:min(end+wordSize, to)])
		home[from/wordSize] |= t.group(s, from, end) << (from % wordSize)
		from = end
	}
}

// group handles at most 64 packets, the bits of a word. A kernel handles all packets except
// where it stops.
func (t *homes) group(s *homeSightings, from, to int) (atHome uint64) {
	lines, rule := t.arena.Lines(), line.HomeRule{Silence: int64(silence), Hold: int64(t.hold), Misses: maxMisses}
	for i := from; i < to; i++ {
		run := line.Sightings{
			Conversation: s.Conversation[i:to], Fragment: s.Fragment[i:to], Point: s.Point[i:to], Times: s.Times[i:to],
			Copies: s.Copies[i/wordSize] >> (i % wordSize),
		}
		home, done := line.AtHome(lines, &run, &rule)
		atHome |= home << (i - from)
		if i += done; i < to && t.see(s, i, !isCopy(s, i)) {
			atHome |= 1 << (i - from)
		}
	}
	return atHome
}

// see handles one packet, and reports whether it is at home.
func (t *homes) see(s *homeSightings, i int, first bool) bool {
	conversation, now := s.Conversation[i], s.Times[i]
	if conversation == 0 || now == calendar.NoTime {
		return true
	}
	home, at := t.visit(conversation, uint32(s.Point[i]), now, first)
	if f := s.Fragment[i]; f != 0 {
		c, _ := t.cell(f, now)
		c.fill(f, home, now)
	}
	return at
}

// visit returns the home of a conversation after a packet at a point, and whether the
// point is the home.
func (t *homes) visit(conversation uint64, point uint32, now int64, first bool) (home uint32, at bool) {
	c, known := t.cell(conversation, now)
	if !known {
		c.fill(conversation, t.lone.homeOf(point, now), now)
	}
	home = c.home()
	switch {
	case home == point:
		c.fill(conversation, point, now)
		return point, true
	case first && t.miss(c, now):
		c.fill(conversation, point, now)
		return point, true
	}
	return home, false
}

// miss counts a packet that has to be taken from elsewhere, and reports whether the home
// is to move.
func (t *homes) miss(c homeCell, now int64) bool {
	misses, since := c.misses(), c.time()
	if misses == 0 || now < since {
		misses, since = 0, now
	}
	misses = min(misses+1, maxMisses)
	c.setRow(misses, since)
	lasted := time.Duration(now - since)
	return lasted >= silence || misses == maxMisses && lasted > t.hold || lasted < 0 // beyond 292 years
}

// cell returns the cell of a conversation, or else an empty cell of its line, or else the
// cell whose time is the farthest from now.
func (t *homes) cell(conversation uint64, now int64) (c homeCell, known bool) {
	line, farthest := &t.arena.Lines()[conversation&t.mask], uint64(0)
	for at := range uint(layout.HomeCells) {
		switch cell := (homeCell{line, at}); {
		case *cell.state() == 0:
			return cell, false
		case cell.tag() == uint32(conversation>>32):
			return cell, true
		default:
			if d := calendar.Distance(now, cell.time()); d >= farthest {
				farthest, c = d, cell
			}
		}
	}
	return c, false
}

// Close gives the memory back.
func (t *homes) Close() error { return t.arena.Close() }

// homeCell is one cell of a line.
type homeCell struct {
	line *layout.Line
	at   uint // 0 to layout.HomeCells - 1
}

// half returns the word of a cell's tag, or after layout.HomePoints the word of its home,
// and the first bit in the word.
func (c homeCell) half() (word, shift uint) { return c.at & 1, c.at << 4 & 32 }

func (c homeCell) tag() uint32 {
	word, shift := c.half()
	return uint32(c.line[word] >> shift)
}

// home returns the home point.
func (c homeCell) home() uint32 {
	word, shift := c.half()
	return uint32(c.line[layout.HomePoints+word] >> shift)
}

// state returns the word that belongs to this cell only.
func (c homeCell) state() *uint64 { return &c.line[layout.HomeStates+c.at&3] }

// misses returns the misses in a row.
func (c homeCell) misses() int {
	return int(*c.state() >> layout.HomeMissShift & layout.HomeMisses)
}

// time returns the time without its low bits.
func (c homeCell) time() int64 { return int64(*c.state() << layout.HomeTimeShift) }

// fill makes a point the home of a conversation that was seen there.
func (c homeCell) fill(conversation uint64, home uint32, now int64) {
	word, shift := c.half()
	setHalf(&c.line[word], shift, uint32(conversation>>32))
	setHalf(&c.line[layout.HomePoints+word], shift, home)
	c.setRow(0, now)
}

func setHalf(word *uint64, shift uint, to uint32) {
	*word = *word&^(math.MaxUint32<<shift) | uint64(to)<<shift
}

// setRow sets the misses and the time.
func (c homeCell) setRow(misses int, time int64) {
	*c.state() = layout.HomePresent | uint64(misses)<<layout.HomeMissShift | uint64(time)>>layout.HomeTimeShift
}

// loneAfter is how many first sightings at one point a stream begins with before homes are
// no longer noted: more than come before each point of a capture has shown itself.
const loneAfter = 1 << 16

// loneHome is the state of homes while all first sightings come from one point, so that all
// homes are at that point.
type loneHome struct {
	point uint64
	count int  // first sightings at the point, at most loneAfter
	over  bool // another point had a first sighting
	// since is the time of that sighting if homes were not noted before, else NoTime.
	since int64
}

// lonePoint returns the point of all first sightings so far, and whether homes are not noted. Then
// exactly the packets of that point are at home, and need not be passed to atHome before the next
// first sighting at another point.
func (t *homes) lonePoint() (point uint64, ok bool) {
	return t.lone.point, !t.lone.over && t.lone.count == loneAfter
}

// learn counts first sightings from packet number from on. It returns the number of the packet
// before which l changed: behind the last first sighting that it counted, or the first sighting of another
// point; the number of packets if l did not change.
func (l *loneHome) learn(s *homeSightings, from int) int {
	for i := from; i < len(s.Conversation); i++ {
		if !counts(s, i) || isCopy(s, i) {
			continue
		}
		if l.count == 0 {
			l.point = s.Point[i]
		}
		if l.point != s.Point[i] {
			l.over = true
			return i
		}
		if l.count++; l.count == loneAfter {
			return i + 1
		}
	}
	return len(s.Conversation)
}

// pass sets the bits of packets from number from on that are at home, up to a first
// sighting at another point, whose number it returns.
func (l *loneHome) pass(home []uint64, s *homeSightings, from int) int {
	for i := from; i < len(s.Conversation); i++ {
		switch {
		case s.Point[i] == l.point || !counts(s, i):
			home[i/wordSize] |= 1 << (i % wordSize)
		case !isCopy(s, i):
			l.over, l.since = true, s.Times[i]
			return i
		}
	}
	return len(s.Conversation)
}

// counts reports whether a packet has a home.
func counts(s *homeSightings, i int) bool {
	return s.Conversation[i] != 0 && s.Times[i] != calendar.NoTime
}

func isCopy(s *homeSightings, i int) bool { return capture.IsSet(s.Copies, i) }

// homeOf returns the home of a conversation that is not remembered, and that is seen at a
// point. The conversation may have begun when homes were not noted.
func (l *loneHome) homeOf(point uint32, now int64) uint32 {
	if l.since != calendar.NoTime && calendar.Distance(now, l.since) < uint64(silence) {
		return uint32(l.point)
	}
	return point
}
