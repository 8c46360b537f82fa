package affinity

import (
	"math"
	"math/bits"
	"time"

	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/engine/internal/mem"
	"github.com/flowdedup/flowdedup/layout"
)

const (
	// conversations are remembered in 4 MiB, which is about what a core has of caches to
	// itself.
	conversations = 1 << 18
	// silence is longer than the pauses of most conversations, and shorter than most
	// faults of a network take to be mended.
	silence = time.Minute
	// maxMisses is more packets in a row than a point loses by chance: at a loss of one in
	// three, once in 2^25 packets. It is less than what TCP sends at once after its first
	// round trip, so little of a conversation is split.
	maxMisses = 16
)

// Table remembers the homes of conversations. It is for one goroutine at a time.
type Table struct {
	arena *layout.Arena
	mask  uint64 // number of lines - 1
	hold  time.Duration
	touch uint64 // keeps the compiler from leaving out reads
}

// New makes a table of 2^18 conversations. hold is how long packets wait for copies of
// them from home. Errors are those of layout.NewArena.
func New(hold time.Duration) (*Table, error) {
	return newTable(conversations/layout.AffinityCells, hold)
}

// newTable makes a table of so many lines, a power of two.
func newTable(lines int, hold time.Duration) (*Table, error) {
	arena, err := layout.NewArena(lines)
	if err != nil {
		return nil, err
	}
	return &Table{arena: arena, mask: uint64(lines - 1), hold: hold}, nil
}

// Sightings are packets of a stream, in its order. Element i of each slice, and bit i of
// Copies, belong to packet i.
type Sightings struct {
	// Conversation, Fragment and Point are those of flow.Sightings.
	Conversation, Fragment, Point []uint64
	// Times are in nanoseconds since 1970, or calendar.NoTime.
	Times []int64
	// Copies marks packets of which an equal one was seen before.
	Copies []uint64
}

// AtHome sets bit i of home if packet i comes from the home of its conversation, and
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
// The result does not depend on how the stream is cut into calls. AtHome does not
// allocate. It panics if a slice is too short, or after Close.
func (t *Table) AtHome(home []uint64, s Sightings) {
	mem.CheckOpen("affinity: Table.AtHome", t.arena)
	for from := 0; from < len(s.Conversation); from += 64 {
		to := min(from+64, len(s.Conversation))
		t.load(s.Conversation[from:to])
		home[from/64] = t.group(&s, from, to)
	}
}

// load reads the lines of some conversations. The reads do not wait for each other, so the
// lines are in the cache when it is their turn.
func (t *Table) load(conversations []uint64) {
	lines, mask, read := t.arena.Lines(), t.mask, uint64(0)
	for _, c := range conversations {
		read |= lines[c&mask][0]
	}
	t.touch = read
}

// group handles at most 64 packets, whose bits begin a word. Which cell a conversation has,
// and whether a packet is at home, is hard to foresee, so nothing branches on it.
func (t *Table) group(s *Sightings, from, to int) (atHome uint64) {
	lines, copies := t.arena.Lines(), s.Copies[from/64]
	conversations, n := s.Conversation[from:to], to-from
	fragments, points, times := s.Fragment[from:to][:n], s.Point[from:to][:n], s.Times[from:to][:n]
	for i, conversation := range conversations {
		line, now := &lines[conversation&t.mask], times[i]
		cells := match(line, conversation>>32)
		at := bits.TrailingZeros64(cells) * 2 & 6
		row := line[at|1]
		home := isZero(line[at]&math.MaxUint32 ^ points[i]&math.MaxUint32)
		switch first := ^copies >> i & 1; {
		case cells == 0 || int64(row) >= 0 || fragments[i] != 0 || conversation == 0 || now == calendar.NoTime:
			home = 0
			if t.see(s, from+i, first != 0) {
				home = 1
			}
		case first&^home != 0:
			if c := (cell{line, at}); t.miss(c, now) {
				c.fill(conversation, uint32(points[i]), now)
				home = 1
			}
		default:
			line[at|1] = row ^ (row^newRow(0, now))&-home
		}
		atHome |= home << i
	}
	return atHome
}

// match returns a bit for each cell that has a tag. It may be empty.
func match(line *layout.Line, tag uint64) uint64 {
	return isZero(line[0]>>32^tag) | isZero(line[2]>>32^tag)<<1 | isZero(line[4]>>32^tag)<<2 | isZero(line[6]>>32^tag)<<3
}

// isZero returns 1 for 0, and 0 for other numbers of 32 bits.
func isZero(n uint64) uint64 { return (n - 1) >> 63 }

// see handles one packet, and reports whether it is at home.
func (t *Table) see(s *Sightings, i int, first bool) bool {
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
func (t *Table) visit(conversation uint64, point uint32, now int64, first bool) (home uint32, at bool) {
	c, known := t.cell(conversation, now)
	home = c.home()
	switch {
	case !known, home == point:
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
func (t *Table) miss(c cell, now int64) bool {
	misses, since := c.misses(), c.time()
	if misses == 0 || now < since {
		misses, since = 0, now
	}
	misses = min(misses+1, maxMisses)
	c.setRow(misses, since)
	lasted := time.Duration(now - since)
	return lasted >= silence || misses == maxMisses && lasted > t.hold || lasted < 0 // beyond 292 years
}

// cell returns the cell of a conversation, or else an empty one of its line, or else the
// one whose time is the farthest from now.
func (t *Table) cell(conversation uint64, now int64) (c cell, known bool) {
	line := &t.arena.Lines()[conversation&t.mask]
	for cells := match(line, conversation>>32); cells != 0; cells &= cells - 1 {
		if at := bits.TrailingZeros64(cells) * 2; line[at+1] != 0 {
			return cell{line, at}, true
		}
	}
	farthest, at := uint64(0), 0
	for i := 0; i < len(line); i += 2 {
		c := cell{line, i}
		if line[i+1] == 0 {
			return c, false
		}
		if d := distance(now, c.time()); d >= farthest {
			farthest, at = d, i
		}
	}
	return cell{line, at}, false
}

// distance returns how far two times are apart.
func distance(a, b int64) uint64 {
	if a < b {
		return uint64(b) - uint64(a)
	}
	return uint64(a) - uint64(b)
}

// Close gives the memory back.
func (t *Table) Close() error { return t.arena.Close() }
