// SPDX-License-Identifier: Apache-2.0

package fragments

import (
	"container/list"
	"hash/maphash"
	"slices"
	"time"
)

// Bounds of the kept fragments. Beyond them, the datagram that has waited for longest is given
// up.
const (
	maxDatagrams = 4096
	maxPieces    = 256 // of a datagram
	maxPayload   = 1<<16 - 1
	maxSpare     = 64 // buffers that wait for datagrams
	// overhead is about the memory of a datagram without its bytes.
	overhead = 1 << 10
	// pieceCost is the memory of a fragment without its bytes, while its slice grows.
	pieceCost = 48
)

// timeout is how long a datagram waits for its fragments (RFC 1122 section 3.3.2, RFC 8200
// section 4.5: 60 s; as Linux has it for IPv4).
const timeout = 30 * time.Second

// Counts are the counts of an Assembler.
type Counts struct {
	Whole  uint64 // datagrams that were put together
	Again  uint64 // wanted datagrams whose fragments all came again
	Broken uint64 // fragments that could not be put together
}

// Assembler puts fragments together. One goroutine at a time may use it.
type Assembler struct {
	seed   maphash.Seed
	byKey  map[Key]*datagram
	order  *list.List // of datagrams, in the order in which they began
	most   int        // bytes
	bytes  int
	counts Counts
	given  []byte // the last result of Add
	last   *datagram
	spare  [][]byte
}

// datagram is a datagram that fragments have come for.
type datagram struct {
	key    Key
	begun  int64
	place  *list.Element
	data   []byte  // nil when it is whole, or refused
	pieces []piece // in order
	have   int     // bytes
	size   int     // of the whole, 0 if not known
	whole  bool
	broken bool // it is refused, with later fragments
	wanted bool
	again  int // fragments that came again
}

// piece is a fragment that came.
type piece struct {
	from, to int
	hash     uint64
}

// New returns an empty assembler that keeps up to most bytes. A datagram is kept in any case.
func New(most int) *Assembler {
	return &Assembler{most: most, seed: maphash.MakeSeed(), byKey: map[Key]*datagram{}, order: list.New()}
}

// Counts returns the counts so far.
func (a *Assembler) Counts() Counts { return a.counts }

// Bytes returns the approximate size of the kept fragments.
func (a *Assembler) Bytes() int { return a.bytes }

// Add takes an IP packet that is a fragment, from its header up to the last byte that was
// captured, and when that was, in nanoseconds. It returns the payload of the datagram when it
// is whole, and else nil. The payload is valid until the next call. Truncated fragments, and
// fragments that overlap (RFC 5722), cannot be put together. A fragment that comes twice with the
// same bytes counts once.
func (a *Assembler) Add(ip []byte, now int64) []byte {
	if a.given != nil {
		a.release(a.given)
		a.given = nil
	}
	a.expire(now)
	f, ok := Parse(ip)
	if !ok || len(f.Payload) < f.Size {
		a.counts.Broken++
		return nil
	}
	d := a.datagram(&f, now)
	p := piece{f.Offset, f.Offset + f.Size, maphash.Bytes(a.seed, f.Payload)}
	if slices.Contains(d.pieces, p) {
		return a.twice(d)
	}
	if d.whole { // the identification is used again
		a.drop(d)
		d = a.datagram(&f, now)
	}
	if d.broken || !a.enter(d, &f, p) {
		a.refuse(d)
		a.counts.Broken++
		return nil
	}
	a.bound(d)
	if d.size == 0 || d.have < d.size {
		return nil
	}
	return a.finish(d)
}

// twice counts a fragment that came again.
func (a *Assembler) twice(d *datagram) []byte {
	d.again++
	if d.whole && d.again == len(d.pieces) {
		d.again = 0
		if d.wanted {
			a.counts.Again++
		}
	}
	return nil
}

// Want has the datagram that Add returned last counted when it comes again.
func (a *Assembler) Want() { a.last.wanted = true }

// datagram returns the datagram of a fragment.
func (a *Assembler) datagram(f *Fragment, now int64) *datagram {
	if d := a.byKey[f.Key]; d != nil {
		return d
	}
	d := &datagram{key: f.Key, begun: now}
	d.place = a.order.PushBack(d)
	a.byKey[f.Key] = d
	a.bytes += overhead
	return d
}

// enter enters a fragment. It returns false if it does not fit the fragments before.
func (a *Assembler) enter(d *datagram, f *Fragment, p piece) bool {
	last := 0
	if n := len(d.pieces); n > 0 {
		last = d.pieces[n-1].to
	}
	at, _ := slices.BinarySearchFunc(d.pieces, p.from, func(o piece, from int) int { return o.from - from })
	switch {
	case len(d.pieces) == maxPieces, p.to > maxPayload, p.from == p.to && f.More:
		return false
	case at > 0 && d.pieces[at-1].to > p.from, at < len(d.pieces) && p.to > d.pieces[at].from:
		return false
	case f.More && (len(f.Payload)%8 != 0 || d.size > 0 && p.to > d.size):
		return false
	case !f.More && (d.size > 0 || p.to < last || p.to == 0):
		return false
	}
	d.pieces = slices.Insert(d.pieces, at, p)
	a.bytes += pieceCost
	if !f.More {
		d.size = p.to
	}
	d.have += len(f.Payload)
	if d.data == nil && len(a.spare) > 0 {
		d.data, a.spare = a.spare[len(a.spare)-1][:0], a.spare[:len(a.spare)-1]
		a.bytes += cap(d.data)
	}
	before := cap(d.data)
	if more := p.to - len(d.data); more > 0 {
		d.data = slices.Grow(d.data, more)[:p.to]
	}
	a.bytes += cap(d.data) - before
	copy(d.data[p.from:], f.Payload)
	return true
}

// finish returns the complete datagram. Its fragments are still recognized when they come
// again.
func (a *Assembler) finish(d *datagram) []byte {
	a.counts.Whole++
	a.given, a.last = d.data, d
	a.bytes -= cap(d.data)
	d.data, d.whole = nil, true
	return a.given[:d.size]
}

// refuse gives up the bytes of a datagram.
func (a *Assembler) refuse(d *datagram) {
	if d.data != nil {
		a.bytes -= cap(d.data)
		a.release(d.data)
	}
	a.counts.Broken += uint64(len(d.pieces))
	a.bytes -= pieceCost * len(d.pieces)
	d.data, d.pieces, d.broken = nil, nil, true
}

// release keeps memory for the next datagrams.
func (a *Assembler) release(data []byte) {
	if len(a.spare) < maxSpare {
		a.spare = append(a.spare, data)
	}
}

// drop forgets a datagram. If it is not whole, its fragments are broken.
func (a *Assembler) drop(d *datagram) {
	if !d.whole && !d.broken {
		a.refuse(d)
	}
	a.order.Remove(d.place)
	delete(a.byKey, d.key)
	a.bytes -= overhead + pieceCost*len(d.pieces)
}

// expire drops datagrams that have waited for too long.
func (a *Assembler) expire(now int64) {
	for e := a.order.Front(); e != nil; e = a.order.Front() {
		d := e.Value.(*datagram)
		if now-d.begun <= int64(timeout) {
			return
		}
		a.drop(d)
	}
}

// bound drops the oldest datagrams while there is too much, but not keep.
func (a *Assembler) bound(keep *datagram) {
	for a.bytes > a.most || a.order.Len() > maxDatagrams {
		d := a.order.Front().Value.(*datagram)
		if d == keep {
			return
		}
		a.drop(d)
	}
}

// Flush gives up all that is not whole.
func (a *Assembler) Flush() {
	for e := a.order.Front(); e != nil; e = a.order.Front() {
		a.drop(e.Value.(*datagram))
	}
}
