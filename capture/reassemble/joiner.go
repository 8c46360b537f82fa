// SPDX-License-Identifier: Apache-2.0

package reassemble

import (
	"bytes"
	"container/list"
	"math"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/internal/encoding"
	"github.com/flowdedup/flowdedup/capture/internal/fragments"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

const (
	// timeout is how long a datagram waits for its fragments, in packet time.
	timeout = int64(time.Second)
	// mostBytes is how many bytes of packets may come between the first and the last fragment of a
	// datagram: about a millisecond at 10 Gbit/s. They wait with it.
	mostBytes = 1 << 20
	// mostDatagrams bounds the datagrams that wait.
	mostDatagrams = 1024
	// mostPieces bounds the fragments of a datagram. 65,535 bytes over an MTU of 1,280 are 53.
	mostPieces = 64
	// mostCopies is how many copies of a datagram may be interleaved.
	mostCopies = 8
)

// Stats are the counts of a Joiner.
type Stats struct {
	Datagrams uint64 `json:"reassembled"`      // that were put together
	Joined    uint64 `json:"fragments_joined"` // fragments of these
	// Left counts fragments of tunnels that stay as they came, as fragments of their datagram are missing
	// or contradict each other. Early counts fragments of Left that waited no longer for want of memory.
	Left  uint64 `json:"fragments"`
	Early uint64 `json:"fragments_early"`
}

// Joiner puts the fragments of tunnels in a stream of batches together. It knows a tunnel by its IP
// protocol, or by the UDP port in the first fragment. Other fragments stay as they are, and so
// do fragments whose IPv4 checksum is wrong, and not 0: a receiver drops them.
//
// Packets behind a fragment wait until its datagram is whole or given up, so packets stay
// in their order. What is put together depends only on the packets, not on how the stream is
// cut into batches. A Joiner keeps at most a batch and mostBytes. It is for one goroutine at a
// time.
type Joiner struct {
	byKey map[key]*datagram
	order *list.List // of datagrams, in the order in which they began
	done  []*datagram
	stats Stats

	wait   int64
	latest int64  // time of the packets since the oldest datagram
	pos    uint64 // bytes of packets since then
	number uint64 // of the first packet that waits

	waiting, next capture.Batch // packets that wait
	out, trial    capture.Batch
	in            *capture.Batch
	found         []headers.Fragment
	fates         []int32
	tunnels       *headers.Tunnels
	decoder       *headers.Decoder
	header        [1]headers.Header
}

// New returns a Joiner. tunnels are the UDP ports of tunnels; nil stands for the usual ports.
func New(tunnels *headers.Tunnels) *Joiner {
	return &Joiner{
		byKey: map[key]*datagram{}, order: list.New(), wait: timeout, tunnels: tunnels,
		decoder: headers.NewDecoder(headers.DecoderConfig{Inner: true, Tunnels: tunnels}),
	}
}

// key identifies the fragments of a datagram. Their frames have the same link type, and records of
// the same kind.
type key struct {
	fragments.Key
	link capture.LinkType
	head uint32 // bytes of a record before its packet
}

// keyOf returns the key of a fragment in frame f. It returns false for a truncated packet whose record
// cannot say so.
func (j *Joiner) keyOf(f *capture.Frame, of fragments.Key) (k key, ok bool) {
	k = key{Key: of, link: j.in.Interfaces[f.Interface].LinkType}
	if f.RecordLen > 0 {
		k.head = f.Data - f.Record
	}
	return k, k.head != encoding.SimpleHead || f.CapLen == f.WireLen
}

// state says what becomes of fragments.
type state uint8

const (
	open     state = iota
	ordinary       // no tunnel
	broken         // they contradict each other
)

// datagram is a datagram that fragments have come for. Copies of it have a list.
type datagram struct {
	key    key
	state  state
	tunnel bool   // it is known to carry a tunnel
	begun  int64  // by Joiner.latest
	pos    uint64 // by Joiner.pos
	place  *list.Element
	first  uint64  // the number of its first packet
	last   uint64  // of its last packet so far
	pieces []piece // in the order of the datagram
	have   int     // bytes of pieces
	size   int     // of the whole, 0 if not known
	copy   *datagram
}

// piece is a fragment: the bytes from from to to-1 of a datagram, in a packet with a number.
type piece struct {
	from, to, start, head int // start and head are the offset and the length of the IP header
	number                uint64
}

// take takes the fragment f, which is packet number of the stream.
func (j *Joiner) take(f *headers.Fragment, number uint64) {
	h := &f.Header
	ip := j.in.Data(f.Frame)[h.Start:h.End]
	of, ok := fragments.Parse(ip)
	if !ok || wrongSum(ip, of.Head) {
		return
	}
	k, ok := j.keyOf(&j.in.Frames[f.Frame], of.Key)
	if !ok {
		return
	}
	d, tunnel := j.byKey[k], h.Proto != iana.ProtoUDP
	if !tunnel && of.Offset == 0 {
		if tunnel = j.tunnels.Announces(h) != 0; !tunnel {
			j.ordinary(k)
			return
		}
	}
	p := piece{of.Offset, of.Offset + of.Size, int(h.Start), of.Head, number}
	for copies := 1; ; copies++ {
		if d == nil {
			d = j.begin(k, number)
		}
		if d.tunnel = d.tunnel || tunnel; d.state == ordinary {
			return
		}
		if d.state == broken || copies == mostCopies {
			j.left(d, 1)
			return
		}
		fits, equal := j.fit(d, &p, of.More)
		switch {
		case fits:
			j.enter(d, p, of.More)
			return
		case !equal:
			j.contradict(d)
			return
		}
		tunnel, d = d.tunnel, d.copy
	}
}

// left counts fragments of a datagram that stay as they came.
func (j *Joiner) left(d *datagram, n int) {
	if d.tunnel {
		j.stats.Left += uint64(n)
	}
}

// wrongSum reports whether the checksum of an IPv4 header is wrong. A card may have left it at 0.
func wrongSum(ip []byte, head int) bool {
	return ip[0]>>4 == 4 && ip[10]|ip[11] != 0 && fragments.Sum(ip[:head]) != 0xffff
}

// begin makes a datagram, the first of its key or the last copy.
func (j *Joiner) begin(k key, number uint64) *datagram {
	if j.order.Len() == mostDatagrams {
		j.giveUp(j.order.Front().Value.(*datagram), true)
	}
	d := &datagram{key: k, first: number, begun: j.latest, pos: j.pos}
	d.place = j.order.PushBack(d)
	last := j.byKey[k]
	if last == nil {
		j.byKey[k] = d
		return d
	}
	for last.copy != nil {
		last = last.copy
	}
	last.copy = d
	return d
}

// ordinary notes that the fragments of a key are no tunnel.
func (j *Joiner) ordinary(k key) {
	d := j.byKey[k]
	if d == nil {
		d = j.begin(k, 0)
	}
	for ; d != nil; d = d.copy {
		if !d.tunnel {
			d.state, d.pieces = ordinary, nil
		}
	}
}

// contradict refuses all fragments that have the key of d, and the fragment at hand.
func (j *Joiner) contradict(d *datagram) {
	j.left(d, 1)
	for d = j.byKey[d.key]; d != nil; d = d.copy {
		j.left(d, len(d.pieces))
		d.state, d.pieces = broken, nil
	}
}

// fit reports whether a piece fits the pieces of a datagram; more says that others follow it. If it
// does not, equal says whether the pieces in its place have the same bytes, so that it may
// belong to a copy.
func (j *Joiner) fit(d *datagram, p *piece, more bool) (fits, equal bool) {
	last := 0
	if n := len(d.pieces); n > 0 {
		last = d.pieces[n-1].to
	}
	switch {
	case p.from >= p.to, p.to > math.MaxUint16, len(d.pieces) == mostPieces, more && (p.to-p.from)%8 != 0:
		return false, false
	case d.size > 0 && (p.to > d.size || more != (p.to < d.size)), !more && last > p.to:
		return false, false
	}
	fits = true
	for i := range d.pieces {
		o := &d.pieces[i]
		if from, to := max(o.from, p.from), min(o.to, p.to); from < to {
			fits = false
			a, b := j.part(o, from, to), j.part(p, from, to)
			if n := min(len(a), len(b)); !bytes.Equal(a[:n], b[:n]) {
				return false, false
			}
		}
	}
	return fits, true
}

// part returns the bytes from to to-1 of a datagram, as far as the piece was captured.
func (j *Joiner) part(p *piece, from, to int) []byte {
	b, i := j.at(p.number)
	d := b.Data(i)
	d = d[min(p.start+p.head, len(d)):]
	from, to = from-p.from, to-p.from
	return d[min(from, len(d)):min(to, len(d))]
}

// enter enters a piece that fits, and notes when the datagram is whole.
func (j *Joiner) enter(d *datagram, p piece, more bool) {
	d.pieces = append(d.pieces, p)
	for i := len(d.pieces) - 1; i > 0 && d.pieces[i-1].from > p.from; i-- {
		d.pieces[i], d.pieces[i-1] = d.pieces[i-1], d.pieces[i]
	}
	if !more {
		d.size = p.to
	}
	d.have += p.to - p.from
	d.last = p.number
	if !d.tunnel || d.have != d.size || d.pieces[0].head+d.size > math.MaxUint16 {
		return
	}
	j.remove(d)
	if j.opens(d) {
		j.stats.Datagrams++
		j.stats.Joined += uint64(len(d.pieces))
		j.done = append(j.done, d)
	}
}

// opens reports whether there is a packet in a whole datagram. If there is none, its fragments stay.
func (j *Joiner) opens(d *datagram) bool {
	b := &j.trial
	b.Reset()
	b.Interfaces, b.Sections = j.in.Interfaces, j.in.Sections
	b.Frames = append(b.Frames, j.appendRecord(b, d))
	j.decoder.Decode(j.header[:], b, 0)
	return j.header[0].Flags&headers.FlagInner != 0
}

// remove forgets a datagram.
func (j *Joiner) remove(d *datagram) {
	j.order.Remove(d.place)
	before := j.byKey[d.key]
	switch {
	case before != d:
		for before.copy != d {
			before = before.copy
		}
		before.copy = d.copy
	case d.copy != nil:
		j.byKey[d.key] = d.copy
	default:
		delete(j.byKey, d.key)
	}
	d.copy = nil
}

// giveUp forgets a datagram that is not whole.
func (j *Joiner) giveUp(d *datagram, early bool) {
	j.left(d, len(d.pieces))
	if d.tunnel && early {
		j.stats.Early += uint64(len(d.pieces))
	}
	j.remove(d)
}

// expire gives up the datagrams that have waited for too long, or all.
func (j *Joiner) expire(all bool) {
	for e := j.order.Front(); e != nil; e = j.order.Front() {
		d := e.Value.(*datagram)
		late, full := all || j.latest-d.begun > j.wait, j.pos-d.pos > mostBytes
		if !late && !full {
			return
		}
		j.giveUp(d, !late)
	}
}
