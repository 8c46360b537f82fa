// SPDX-License-Identifier: Apache-2.0

package keys

import (
	"container/list"
	"encoding/binary"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/internal/fragments"
)

// Fragment is a frame with a fragment of a datagram. Only the first fragment has ports.
type Fragment struct {
	Frame uint32 // counted from the first of the run
	// V4, or V6 if Is6, is its key of kind Flow, with its VLAN.
	V4  [size4]byte
	V6  [size6]byte
	Is6 bool
	// Time is the time of its packet, capture.NoTime for none, and Uncounted says that the packet is
	// left out of counts of packets. The caller of Join sets them.
	Time      int64
	Uncounted bool
	datagram  fragments.Key
	first     bool
}

// tail returns the part of the key behind its addresses.
func (f *Fragment) tail() []byte {
	if f.Is6 {
		return f.V6[tail6:]
	}
	return f.V4[tail4:]
}

// Fragments returns the fragments among the frames of the last call of FromFrames or FromHeaders,
// in their order. It is empty if no key has ports.
func (k *Keyer) Fragments() []Fragment { return k.fragments }

// noteFragment notes the frame of number n, with packet data d that h describes, if it is a fragment.
func (k *Keyer) noteFragment(n int, d []byte, h *headers.Header) {
	ip := d[h.Start:h.End]
	is, ok := fragments.Parse(ip)
	if !ok {
		return
	}
	f := Fragment{Frame: uint32(n), Is6: h.Version == 6, datagram: is.Key, first: is.Offset == 0}
	if f.Is6 {
		copy(f.V6[:tail6], ip[addresses6At:])
	} else {
		copy(f.V4[:tail4], ip[addresses4At:])
	}
	binary.BigEndian.PutUint64(f.tail(), tailOf(h))
	k.fragments = append(k.fragments, f)
}

// isFragment reports whether a frame is to be noted.
func (k *Keyer) isFragment(h *headers.Header) bool {
	return k.ports && h.Version != 0 && h.Flags&headers.FlagFragment != 0
}

// maxDatagrams is how many first fragments a Joiner remembers, and how many later fragments that come
// before their first. These wait for a second by the times of packets, as fragments of tunnels do.
const (
	maxDatagrams = 4096
	wait         = time.Second
)

// Joiner gives the later fragments of datagrams the ports of their first. The zero value is ready for
// use.
type Joiner struct {
	tails map[fragments.Key][5]byte // ports and protocol
	ring  []fragments.Key           // in the order in which they came
	next  int

	early   map[fragments.Key]*list.Element // later fragments that wait, by datagram
	order   list.List                       // of *waiting, in the order in which they began
	waiting int                             // fragments
	settled []Fragment
	unknown uint64
}

// waiting are the fragments of a datagram whose first did not come yet.
type waiting struct {
	datagram fragments.Key
	pieces   []Fragment
}

// Outcome says what Join has done with a fragment.
type Outcome uint8

// The outcomes of Join.
const (
	Unchanged Outcome = iota
	Joined            // its key is that of its first fragment now
	Waits             // its first fragment did not come yet: Settled returns it later
)

// Join takes the next fragment of a stream, of a packet at Time.
func (j *Joiner) Join(f *Fragment) Outcome {
	j.Pass(f.Time)
	tail, known := j.tails[f.datagram]
	switch {
	case f.first:
		j.remember(f, known)
		j.settle(f)
		return Unchanged
	case known:
		copy(f.tail(), tail[:])
		return Joined
	}
	j.await(f)
	return Waits
}

// remember remembers the tail of a first fragment.
func (j *Joiner) remember(f *Fragment, known bool) {
	if j.tails == nil {
		j.tails = map[fragments.Key][5]byte{}
	}
	switch {
	case known:
	case len(j.ring) < maxDatagrams:
		j.ring = append(j.ring, f.datagram)
	default:
		delete(j.tails, j.ring[j.next])
		j.ring[j.next] = f.datagram
		j.next = (j.next + 1) % maxDatagrams
	}
	j.tails[f.datagram] = [5]byte(f.tail())
}

// await keeps a later fragment. The datagram that has waited for longest makes room.
func (j *Joiner) await(f *Fragment) {
	if j.waiting == maxDatagrams {
		j.giveUp()
	}
	if j.early == nil {
		j.early = map[fragments.Key]*list.Element{}
	}
	place := j.early[f.datagram]
	if place == nil {
		place = j.order.PushBack(&waiting{datagram: f.datagram})
		j.early[f.datagram] = place
	}
	w := place.Value.(*waiting)
	w.pieces = append(w.pieces, *f)
	j.waiting++
}

// settle gives the fragments that wait for a first fragment its ports, unless they waited too long.
func (j *Joiner) settle(first *Fragment) {
	place := j.early[first.datagram]
	if place == nil {
		return
	}
	for _, f := range j.take(place) {
		if isPast(f.Time, first.Time) || isPast(first.Time, f.Time) {
			j.unknown++
		} else {
			copy(f.tail(), first.tail()[:5])
		}
		j.settled = append(j.settled, f)
	}
}

// Pass says that a packet of the stream had this time. Fragments that have waited for too long by then
// keep ports 0.
func (j *Joiner) Pass(now int64) {
	for j.waiting > 0 && isPast(j.order.Front().Value.(*waiting).pieces[0].Time, now) {
		j.giveUp()
	}
}

// Expire is Pass for windows that end at or before a time: their fragments wait no longer.
func (j *Joiner) Expire(end int64) {
	for j.waiting > 0 && j.order.Front().Value.(*waiting).pieces[0].Time < end {
		j.giveUp()
	}
}

// giveUp settles the datagram that has waited for longest.
func (j *Joiner) giveUp() {
	pieces := j.take(j.order.Front())
	j.unknown += uint64(len(pieces))
	j.settled = append(j.settled, pieces...)
}

// take removes a datagram, and returns its fragments.
func (j *Joiner) take(place *list.Element) []Fragment {
	w := j.order.Remove(place).(*waiting)
	delete(j.early, w.datagram)
	j.waiting -= len(w.pieces)
	return w.pieces
}

// isPast reports whether a fragment of time at has waited for too long at a time now.
func isPast(at, now int64) bool {
	return at != capture.NoTime && now > at && uint64(now)-uint64(at) > uint64(wait)
}

// Waiting reports whether fragments wait.
func (j *Joiner) Waiting() bool { return j.waiting > 0 }

// Settled returns the fragments that wait no longer. They are valid until the next call of a method.
func (j *Joiner) Settled() []Fragment {
	all := j.settled
	j.settled = j.settled[:0]
	return all
}

// Unknown returns how many later fragments have ports 0, as their first did not come in time.
func (j *Joiner) Unknown() uint64 { return j.unknown }

// noteRead counts packets whose ports were not captured, and notes fragments. h describes the frames
// from number from on; the first has number n in the run.
func (k *Keyer) noteRead(b *capture.Batch, from, n int, h []headers.Header) {
	for i := range h {
		if h[i].L4 == 0 || h[i].L4+4 > h[i].End {
			k.withoutPorts += uint64(portsCut(&h[i], b.Data(from+i)))
		}
		if k.isFragment(&h[i]) {
			k.noteFragment(n+i, b.Data(from+i), &h[i])
		}
	}
}
