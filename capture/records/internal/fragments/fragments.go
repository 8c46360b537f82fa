// SPDX-License-Identifier: Apache-2.0

// Package fragments puts the fragments of IP datagrams together (RFC 791, RFC 815, RFC 8200
// section 4.5).
package fragments

import (
	"container/list"
	"encoding/binary"
	"hash/maphash"
	"net/netip"
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
	byKey  map[key]*datagram
	order  *list.List // of datagrams, in the order in which they began
	most   int        // bytes
	bytes  int
	counts Counts
	given  []byte // the last result of Add
	last   *datagram
	spare  [][]byte
}

// key identifies the fragments of a datagram.
type key struct {
	source, destination netip.Addr
	id                  uint32
	protocol            uint8
}

// datagram is a datagram that fragments have come for.
type datagram struct {
	key    key
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
	return &Assembler{most: most, seed: maphash.MakeSeed(), byKey: map[key]*datagram{}, order: list.New()}
}

// Counts returns the counts so far.
func (a *Assembler) Counts() Counts { return a.counts }

// Bytes returns the approximate size of the kept fragments.
func (a *Assembler) Bytes() int { return a.bytes }

// Add takes an IP packet that is a fragment, from its header up to the last byte that was
// captured, and when that was, in nanoseconds. It returns the payload of the datagram when it
// is whole, and else nil. The payload is valid until the next call. Truncated fragments, and
// overlapping ones (RFC 5722), cannot be put together. A fragment that comes twice with the
// same bytes counts once.
func (a *Assembler) Add(ip []byte, now int64) []byte {
	if a.given != nil {
		a.release(a.given)
		a.given = nil
	}
	a.expire(now)
	f, ok := parse(ip)
	if !ok {
		a.counts.Broken++
		return nil
	}
	d := a.datagram(&f, now)
	p := piece{f.offset, f.offset + len(f.payload), maphash.Bytes(a.seed, f.payload)}
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
func (a *Assembler) datagram(f *fragment, now int64) *datagram {
	if d := a.byKey[f.key]; d != nil {
		return d
	}
	d := &datagram{key: f.key, begun: now}
	d.place = a.order.PushBack(d)
	a.byKey[f.key] = d
	a.bytes += overhead
	return d
}

// enter enters a fragment. It returns false if it does not fit those before.
func (a *Assembler) enter(d *datagram, f *fragment, p piece) bool {
	last := 0
	if n := len(d.pieces); n > 0 {
		last = d.pieces[n-1].to
	}
	at, _ := slices.BinarySearchFunc(d.pieces, p.from, func(o piece, from int) int { return o.from - from })
	switch {
	case len(d.pieces) == maxPieces, p.to > maxPayload, p.from == p.to && f.more:
		return false
	case at > 0 && d.pieces[at-1].to > p.from, at < len(d.pieces) && p.to > d.pieces[at].from:
		return false
	case f.more && (len(f.payload)%8 != 0 || d.size > 0 && p.to > d.size):
		return false
	case !f.more && (d.size > 0 || p.to < last || p.to == 0):
		return false
	}
	d.pieces = slices.Insert(d.pieces, at, p)
	a.bytes += pieceCost
	if !f.more {
		d.size = p.to
	}
	d.have += len(f.payload)
	if d.data == nil && len(a.spare) > 0 {
		d.data, a.spare = a.spare[len(a.spare)-1][:0], a.spare[:len(a.spare)-1]
		a.bytes += cap(d.data)
	}
	before := cap(d.data)
	if more := p.to - len(d.data); more > 0 {
		d.data = slices.Grow(d.data, more)[:p.to]
	}
	a.bytes += cap(d.data) - before
	copy(d.data[p.from:], f.payload)
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

// drop forgets a datagram. Fragments of one that is not whole are broken.
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

// bound drops the oldest while there is too much, but not the one given.
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

// fragment is a fragment.
type fragment struct {
	key     key
	offset  int
	more    bool // others follow
	payload []byte
}

// parse reads the headers of a fragment. It returns false if there is none, or it was cut.
func parse(ip []byte) (f fragment, ok bool) {
	switch {
	case len(ip) >= 20 && ip[0]>>4 == 4:
		return parse4(ip)
	case len(ip) >= 40 && ip[0]>>4 == 6:
		return parse6(ip)
	}
	return f, false
}

func parse4(ip []byte) (f fragment, ok bool) {
	head, size := int(ip[0]&15)*4, int(binary.BigEndian.Uint16(ip[2:]))
	if head < 20 || size < head || size > len(ip) {
		return f, false
	}
	field := binary.BigEndian.Uint16(ip[6:])
	f.key = key{netip.AddrFrom4([4]byte(ip[12:])), netip.AddrFrom4([4]byte(ip[16:])), uint32(binary.BigEndian.Uint16(ip[4:])), ip[9]}
	f.offset, f.more, f.payload = int(field&0x1fff)*8, field&0x2000 != 0, ip[head:size]
	return f, true
}

// parse6 finds the fragment header behind the headers that each fragment has.
func parse6(ip []byte) (f fragment, ok bool) {
	const hopByHop, routing, fragmentHead, options = 0, 43, 44, 60
	size := 40 + int(binary.BigEndian.Uint16(ip[4:]))
	if size > len(ip) {
		return f, false
	}
	next, at := ip[6], 40
	for at+8 <= size {
		switch next {
		case hopByHop, routing, options:
			next, at = ip[at], at+8*(int(ip[at+1])+1)
			continue
		case fragmentHead:
			field := binary.BigEndian.Uint16(ip[at+2:])
			f.key = key{netip.AddrFrom16([16]byte(ip[8:])), netip.AddrFrom16([16]byte(ip[24:])), binary.BigEndian.Uint32(ip[at+4:]), ip[at]}
			f.offset, f.more, f.payload = int(field&^7), field&1 != 0, ip[at+8:size]
			return f, true
		}
		return f, false
	}
	return f, false
}
