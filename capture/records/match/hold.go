package match

import (
	"slices"
	"time"
	"unsafe"

	"github.com/flowdedup/flowdedup/capture/records"
)

// Sighting is a point that reported a record, and the interfaces that it named.
type Sighting struct {
	Point           uint32 // its number
	Ingress, Egress uint32
}

// Held is a record that waits for copies of it. What it holds is valid until it was
// emitted.
type Held struct {
	Record records.Record
	// Line is a copy of its line, if it came as text of kind Kind.
	Line    []byte
	Kind    records.Kind
	Verdict records.Verdict
	// Of is the point that a copy is one of.
	Of     uint32
	Copies int
	// SeenBy begins with the point of the record.
	SeenBy []Sighting
	due    int64
	flow   uint64
}

// HoldConfig says for how long records wait.
type HoldConfig struct {
	Window time.Duration
	// Merge gives a record the greatest counters of its copies.
	Merge bool
	// Mark keeps copies too.
	Mark bool
	// Memory is how many bytes records that wait take at most. One may always wait.
	Memory int
	// Emit takes records in the order in which they came.
	Emit func(*Held) error
}

// Hold keeps records until their copies have come. Copies then count for the last record
// of their flow. It is for one goroutine, and allocates nothing once it has grown.
type Hold struct {
	cfg    HoldConfig
	ring   []Held // of a power of two
	head   uint64 // number of the first record in the ring
	next   uint64 // number of the next record
	latest map[uint64]uint64
	now    int64
	more   int // bytes that records of the ring, former ones too, have besides themselves
	early  uint64
}

const (
	// latestBytes is what an entry of the latest records takes.
	latestBytes = 48
	// heldBytes is what a record takes in the ring, besides its line and who saw it.
	heldBytes = int(unsafe.Sizeof(Held{})) + latestBytes
)

// firstHeld is how many records a Hold has room for at first.
const firstHeld = 1 << 8

// NewHold makes a Hold without records.
func NewHold(cfg HoldConfig) *Hold {
	return &Hold{cfg: cfg, ring: make([]Held, firstHeld), latest: map[uint64]uint64{}}
}

// Add takes a batch with what a judge said about it.
func (h *Hold) Add(b *records.Batch, verdicts []records.Verdict, judgments []Judgment) error {
	for i := range b.Records {
		r := &b.Records[i]
		if r.Received != 0 && r.Exported != 0 {
			h.follow(r.Received)
		}
		if err := h.advance(Moment(r)); err != nil {
			return err
		}
		j := &judgments[i]
		if verdicts[i] == records.Copy {
			h.copied(r, j)
			if !h.cfg.Mark {
				continue
			}
		}
		if err := h.keep(b, r, verdicts[i], j); err != nil {
			return err
		}
	}
	return nil
}

// Moment is the time that records are ordered by: when the message came that has it. Text
// often names the time at which it was made, so its records are ordered by what they tell.
func Moment(r *records.Record) int64 {
	if r.Received != 0 && r.Exported != 0 {
		return r.Received
	}
	for _, t := range []int64{r.End, r.Start, r.Received} {
		if t != 0 {
			return t
		}
	}
	return r.Exported
}

// Advance emits what has waited long enough at a time of our clock.
func (h *Hold) Advance(now int64) error {
	h.follow(now)
	return h.advance(now)
}

// clockSet is by how much our clock goes back at least where it was set: messages that came
// over several sockets are not out of order by as much.
const clockSet = int64(10 * time.Second)

// follow has what waits leave within the window where our clock was set back.
func (h *Hold) follow(now int64) {
	if now >= h.now-clockSet {
		return
	}
	for n := h.head; n < h.next; n++ {
		held := &h.ring[n&uint64(len(h.ring)-1)]
		held.due -= h.now - now
	}
	h.now = now
}

func (h *Hold) advance(now int64) error {
	h.now = max(h.now, now)
	for h.head < h.next && h.ring[h.head&uint64(len(h.ring)-1)].due <= h.now {
		if err := h.emit(); err != nil {
			return err
		}
	}
	return nil
}

// Flush emits all.
func (h *Hold) Flush() error {
	for h.head < h.next {
		if err := h.emit(); err != nil {
			return err
		}
	}
	return nil
}

func (h *Hold) emit() error {
	held := &h.ring[h.head&uint64(len(h.ring)-1)]
	if h.latest[held.flow] == h.head {
		delete(h.latest, held.flow)
	}
	h.head++
	err := h.cfg.Emit(held)
	if h.more > h.cfg.Memory/4 { // what long lines had is not kept for short ones
		h.more -= held.more()
		held.Line, held.SeenBy = nil, nil
	}
	return err
}

// more is what a record has besides itself, in bytes.
func (h *Held) more() int { return cap(h.Line) + cap(h.SeenBy)*int(unsafe.Sizeof(Sighting{})) }

// makeRoom has a place for another record in the ring, and memory for its line. Where there
// is none, the first records leave early.
func (h *Hold) makeRoom(line int) error {
	for h.head < h.next && h.next-h.head == uint64(len(h.ring)) {
		// Both rings are there while one is copied.
		if 3*len(h.ring)*heldBytes+h.more > h.cfg.Memory {
			h.early++
			return h.emit()
		}
		h.grow()
	}
	for h.head < h.next && len(h.ring)*heldBytes+h.more+line > h.cfg.Memory {
		h.early++
		if err := h.emit(); err != nil {
			return err
		}
	}
	return nil
}

// Early returns how many records left before their time, for want of memory.
func (h *Hold) Early() uint64 { return h.early }

func (h *Hold) keep(b *records.Batch, r *records.Record, verdict records.Verdict, j *Judgment) error {
	text := b.Kind == records.JSON || b.Kind == records.CSV
	line := 0
	if text {
		line = r.Length
	}
	if err := h.makeRoom(line); err != nil {
		return err
	}
	held := &h.ring[h.next&uint64(len(h.ring)-1)]
	h.more -= held.more()
	*held = Held{
		Record: *r, Kind: b.Kind, Verdict: verdict, Line: held.Line[:0], Of: j.Of, flow: j.Flow, due: h.now + int64(h.cfg.Window),
		SeenBy: append(held.SeenBy[:0], Sighting{j.Point, r.Ingress, r.Egress}),
	}
	if text {
		held.Line = append(held.Line, b.Raw[r.Offset:r.Offset+r.Length]...)
	}
	h.more += held.more()
	if verdict == records.Keep {
		h.latest[j.Flow] = h.next
	}
	h.next++
	return nil
}

func (h *Hold) grow() {
	ring := make([]Held, 2*len(h.ring))
	for n := h.head; n < h.next; n++ {
		ring[n&uint64(len(ring)-1)] = h.ring[n&uint64(len(h.ring)-1)]
	}
	h.ring = ring
}

// copied counts a copy for the record that it is one of, if that still waits.
func (h *Hold) copied(r *records.Record, j *Judgment) {
	n, ok := h.latest[j.Flow]
	if !ok {
		return
	}
	held := &h.ring[n&uint64(len(h.ring)-1)]
	held.Copies++
	if s := (Sighting{j.Point, r.Ingress, r.Egress}); !slices.Contains(held.SeenBy, s) && len(held.SeenBy) < maxSightings {
		h.more -= held.more()
		held.SeenBy = append(held.SeenBy, s)
		h.more += held.more()
	}
	if h.cfg.Merge && sameSlice(&held.Record, r) {
		held.Record.Packets = max(held.Record.Packets, r.Packets)
		held.Record.Bytes = max(held.Record.Bytes, r.Bytes)
		held.Record.TCPFlags |= r.TCPFlags
	}
}

// maxSightings bounds what a record can take.
const maxSightings = 64

// sameSlice reports whether two records last about as long, so that their counters are of
// the same packets.
func sameSlice(a, b *records.Record) bool {
	one, other := a.End-a.Start, b.End-b.Start
	return max(one, other)-min(one, other) <= int64(nearby+a.Precision+b.Precision)
}
