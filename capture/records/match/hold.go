// SPDX-License-Identifier: Apache-2.0

package match

import (
	"slices"
	"time"
	"unsafe"

	"github.com/flowdedup/flowdedup/capture/records"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// Sighting is a point that reported a record, and the interfaces that it named.
type Sighting struct {
	Point           uint32 // its number
	Ingress, Egress uint32
}

// Held is a record that waits for copies of it. Its content is valid until it was emitted.
type Held struct {
	Record records.Record
	// Line is a copy of its line, if it came as text of kind Kind.
	Line    []byte
	Kind    records.Kind
	Verdict records.Verdict
	// Of is the point of the original, 0 if the record is no copy.
	Of     uint32
	Copies int
	// SeenBy begins with the point of the record.
	SeenBy []Sighting
	due    int64
	flow   uint64
}

// HoldConfig says for how long records wait.
type HoldConfig struct {
	// Window is how long a record waits. The default is until the next record comes.
	Window time.Duration
	// Merge gives a record the greatest counters of its copies.
	Merge bool
	// Mark keeps copies too.
	Mark bool
	// Memory bounds waiting records, in bytes. Beyond it records are emitted before Window is
	// over. A record waits in any case.
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
	// spare are buffers of records that were emitted, extra the bytes of all buffers.
	spare []buffers
	extra int
	early uint64
}

// buffers are the memory of a record outside of the ring.
type buffers struct {
	line   []byte
	seenBy []Sighting
}

func (b *buffers) bytes() int { return cap(b.line) + cap(b.seenBy)*int(unsafe.Sizeof(Sighting{})) }

const (
	// firstHeld is how many records a Hold has room for at first.
	firstHeld = 1 << 4
	// heldCost is the memory of a record in the ring and in the map.
	heldCost = int(unsafe.Sizeof(Held{})) + 48
)

// NewHold makes a Hold without records.
func NewHold(cfg HoldConfig) *Hold {
	return &Hold{cfg: cfg, ring: make([]Held, firstHeld), latest: map[uint64]uint64{}}
}

// Bytes returns the memory of waiting records.
func (h *Hold) Bytes() int { return len(h.ring)*heldCost + h.extra }

// Early returns how many records were emitted before their time, for want of memory.
func (h *Hold) Early() uint64 { return h.early }

// Add takes a batch with a judge's verdicts.
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

// Moment is the time that records are ordered by: when the message came that has it. Text often
// has the time at which it was made, so its records are ordered by their own times.
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

// Advance emits records that have waited long enough at a time of our clock.
func (h *Hold) Advance(now int64) error {
	h.follow(now)
	return h.advance(now)
}

// clockSet is by how much our clock goes back at least where it was set: messages that came
// over several sockets are not out of order by as much.
const clockSet = int64(10 * time.Second)

// follow lets waiting records leave within the window if our clock was set back.
func (h *Hold) follow(now int64) {
	back := calendar.Since(h.now, now)
	if back <= clockSet {
		return
	}
	for n := h.head; n < h.next; n++ {
		held := &h.ring[n&uint64(len(h.ring)-1)]
		held.due = calendar.Shift(held.due, -back)
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
	h.spare = append(h.spare, buffers{held.Line, held.SeenBy})
	held.Line, held.SeenBy = nil, nil
	return err
}

// emitEarly emits the first record before its time.
func (h *Hold) emitEarly() error {
	h.early++
	return h.emit()
}

func (h *Hold) keep(b *records.Batch, r *records.Record, verdict records.Verdict, j *Judgment) error {
	var line []byte
	if b.Kind == records.JSON || b.Kind == records.CSV {
		line = b.Raw[r.Offset : r.Offset+r.Length]
	}
	if err := h.makeRoom(len(line)); err != nil {
		return err
	}
	own := h.buffers()
	h.extra -= own.bytes()
	own.line = append(own.line[:0], line...)
	own.seenBy = append(own.seenBy[:0], Sighting{j.Point, r.Ingress, r.Egress})
	h.extra += own.bytes()
	h.ring[h.next&uint64(len(h.ring)-1)] = Held{
		Record: *r, Kind: b.Kind, Verdict: verdict, Line: own.line, Of: j.Of, flow: j.Flow,
		due: calendar.Shift(h.now, int64(h.cfg.Window)), SeenBy: own.seenBy,
	}
	if verdict == records.Keep {
		h.latest[j.Flow] = h.next
	}
	h.next++
	return nil
}

// makeRoom makes room for a record with a line of that size.
func (h *Hold) makeRoom(line int) error {
	if h.next-h.head == uint64(len(h.ring)) {
		// While the ring grows, both are there.
		if 3*len(h.ring)*heldCost+h.extra <= h.cfg.Memory {
			h.grow()
		} else if err := h.emitEarly(); err != nil {
			return err
		}
	}
	for h.Bytes()+line+line/8+64 > h.cfg.Memory { // append rounds up
		if n := len(h.spare); n > 0 {
			h.extra -= h.spare[n-1].bytes()
			h.spare[n-1] = buffers{}
			h.spare = h.spare[:n-1]
			continue
		}
		if h.head == h.next {
			return nil
		}
		if err := h.emitEarly(); err != nil {
			return err
		}
	}
	return nil
}

// buffers returns the buffers of an emitted record, if there are any.
func (h *Hold) buffers() (b buffers) {
	if n := len(h.spare); n > 0 {
		b, h.spare[n-1] = h.spare[n-1], buffers{}
		h.spare = h.spare[:n-1]
	}
	return b
}

func (h *Hold) grow() {
	ring := make([]Held, 2*len(h.ring))
	for n := h.head; n < h.next; n++ {
		ring[n&uint64(len(ring)-1)] = h.ring[n&uint64(len(h.ring)-1)]
	}
	h.ring = ring
}

// copied counts the copy at its original, if the original still waits.
func (h *Hold) copied(r *records.Record, j *Judgment) {
	n, ok := h.latest[j.Flow]
	if !ok {
		return
	}
	held := &h.ring[n&uint64(len(h.ring)-1)]
	held.Copies++
	if s := (Sighting{j.Point, r.Ingress, r.Egress}); !slices.Contains(held.SeenBy, s) && len(held.SeenBy) < maxSightings {
		before := cap(held.SeenBy)
		held.SeenBy = append(held.SeenBy, s)
		h.extra += (cap(held.SeenBy) - before) * int(unsafe.Sizeof(s))
	}
	if h.cfg.Merge && sameSlice(&held.Record, r) {
		enlarge(&held.Record, r)
	}
}

// maxSightings bounds the memory of a record.
const maxSightings = 64

// sameSlice reports whether two records last about equally long, so that their counters count
// the same packets.
func sameSlice(a, b *records.Record) bool {
	one, other := calendar.Since(a.End, a.Start), calendar.Since(b.End, b.Start)
	return calendar.Since(max(one, other), min(one, other)) <= int64(nearby+a.Precision+b.Precision)
}

// enlarge gives a record the greater counters of a copy, of each direction. If only one of the two
// counts both directions in a sum, the counters with the greater total stay.
func enlarge(to, r *records.Record) {
	to.TCPFlags |= r.TCPFlags
	packets, bytes, reversePackets, reverseBytes := r.Packets, r.Bytes, r.ReversePackets, r.ReverseBytes
	if back := r.Source == to.Destination && (r.Source != to.Source || r.SourcePort != to.SourcePort); back && !isSum(r) {
		packets, bytes, reversePackets, reverseBytes = reversePackets, reverseBytes, packets, bytes
	}
	if isSum(to) != isSum(r) {
		if r.TotalBytes() <= to.TotalBytes() {
			return
		}
		to.Packets, to.Bytes, to.ReversePackets, to.ReverseBytes = 0, 0, 0, 0
	}
	to.Packets, to.Bytes = max(to.Packets, packets), max(to.Bytes, bytes)
	to.ReversePackets, to.ReverseBytes = max(to.ReversePackets, reversePackets), max(to.ReverseBytes, reverseBytes)
	to.Both = to.Both || r.Both || to.ReversePackets|to.ReverseBytes != 0
}

// isSum reports whether a record counts both directions in a sum.
func isSum(r *records.Record) bool { return r.Both && r.ReversePackets|r.ReverseBytes == 0 }
