// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"bytes"
	"container/list"
	"encoding/binary"
	"net/netip"

	"github.com/flowdedup/flowdedup/capture/records"
)

// Cutter takes records that are copies out of messages. It remembers how many it took out
// of each stream of messages, and lowers the sequence numbers by as many. One
// goroutine at a time may use it.
type Cutter struct {
	removed *lru[stream, *uint32]
	owners  *lru[stream, netip.Addr] // the exporters of streams without from
	shared  *Shared
}

// Shared are two exporters whose templates a collector cannot distinguish if both come from the
// address of the relay: they send NetFlow v9 or IPFIX of one observation domain.
type Shared struct {
	Domain    uint32
	Exporters [2]netip.Addr
}

// stream is a stream of messages with its own sequence numbers.
type stream struct {
	from   netip.Addr
	agent  [16]byte // of sFlow
	domain uint32
	kind   records.Kind
}

// maxStreams bounds how many streams are remembered. A forgotten stream goes on with
// the sequence numbers of its exporter, which collectors take for loss.
const maxStreams = 1 << 14

// NewCutter returns a cutter that has taken nothing out yet.
func NewCutter() *Cutter {
	return &Cutter{removed: newLRU[stream, *uint32](maxStreams), owners: newLRU[stream, netip.Addr](maxStreams)}
}

// Cut appends to dst the message of a batch without the records whose verdict is
// records.Copy, and returns the extended slice. It appends nothing if nothing is left to be
// sent or the message came before, and the same bytes if nothing was taken out of the stream
// so far. The batch must
// come from package export, with a verdict for each record. Cut takes linear time. It allocates only
// when dst has to grow, or for a new stream.
func (c *Cutter) Cut(dst []byte, b *records.Batch, verdicts []records.Verdict) []byte {
	if b.Replayed {
		return dst
	}
	removed := c.stream(b)
	if b.Restarted {
		*removed = 0
	}
	m := cut{dst: dst, from: len(dst), raw: b.Raw, records: b.Records, verdicts: verdicts[:len(b.Records)]}
	before, sequence := *removed, 0
	switch b.Kind {
	case records.NetFlow1:
		m.plain(head1, size5)
		m.lowerCount(m.removed)
	case records.NetFlow5, records.NetFlow7:
		sequence = 16
		m.plain(head5, size5)
		m.lowerCount(m.removed)
	case records.SFlow:
		samples := samplesAt(b.Raw)
		sequence = samples - 12
		m.plain(samples, headSample)
		m.lower(samples-4, uint32(m.removed))
	case records.NetFlow9:
		sequence = 12
		m.aligned = true
		m.sets(head9, len(b.Raw))
		m.count9()
	case records.IPFIX:
		sequence = 8
		m.sets(headIPFIX, min(len(b.Raw), int(binary.BigEndian.Uint16(b.Raw[2:]))))
		m.lowerCount(m.shorter)
	}
	if b.WithOwn {
		before += uint32(m.removed)
	}
	if m.empty {
		m.dst = m.dst[:m.from]
	} else if sequence != 0 {
		m.lower(sequence, before)
	}
	switch {
	case b.PerRecord:
		*removed += uint32(m.removed)
	case m.empty:
		*removed++
	}
	return m.dst
}

// stream returns how much was taken out of the stream of a message: records, or messages
// where sequence numbers count these.
func (c *Cutter) stream(b *records.Batch) *uint32 {
	key := stream{from: b.From.Addr(), kind: b.Kind, domain: domain(b)}
	if b.Kind == records.SFlow {
		copy(key.agent[:], b.Raw[8:samplesAt(b.Raw)-16])
	}
	if n, ok := c.removed.get(key); ok {
		return n
	}
	n := new(uint32)
	c.removed.add(key, n)
	c.note(key)
	return n
}

// note remembers the exporter of a new stream with templates.
func (c *Cutter) note(s stream) {
	if c.shared != nil || s.kind != records.NetFlow9 && s.kind != records.IPFIX {
		return
	}
	from := s.from
	s.from = netip.Addr{}
	switch owner, ok := c.owners.get(s); {
	case !ok:
		c.owners.add(s, from)
	case owner != from:
		c.shared = &Shared{s.domain, [2]netip.Addr{owner, from}}
	}
}

// Shared returns the first two exporters that share a domain, or nil.
func (c *Cutter) Shared() *Shared { return c.shared }

// Sizes of headers, of a record of NetFlow v5, and of the heads of sets and samples.
const (
	head1      = 16
	head5      = 24 // and of v7
	size5      = 48 // and of v1 and v7 at least
	head9      = 20
	headIPFIX  = 16
	headSet    = 4
	headSample = 8
)

// firstData is the smallest identifier of a set of data.
const firstData = 256

// domain returns the number that distinguishes streams of an exporter.
func domain(b *records.Batch) uint32 {
	switch b.Kind {
	case records.NetFlow1, records.NetFlow7:
		return 0
	case records.NetFlow5:
		return uint32(binary.BigEndian.Uint16(b.Raw[20:]))
	case records.NetFlow9:
		return binary.BigEndian.Uint32(b.Raw[16:])
	case records.IPFIX:
		return binary.BigEndian.Uint32(b.Raw[12:])
	}
	return binary.BigEndian.Uint32(b.Raw[samplesAt(b.Raw)-16:])
}

// samplesAt returns where the samples of an sFlow datagram begin: behind the version, the
// agent's address, and four words.
func samplesAt(raw []byte) int {
	const ipv4 = 1
	if binary.BigEndian.Uint32(raw[4:]) == ipv4 {
		return 8 + 4 + 16
	}
	return 8 + 16 + 16
}

// cut is a message that records are taken out of.
type cut struct {
	dst      []byte
	from     int // where the message begins in dst
	raw      []byte
	records  []records.Record // from the next record on
	verdicts []records.Verdict
	aligned  bool // sets are padded

	kept, removed, removedSets int // so far
	shorter                    int // by how many bytes
	empty                      bool
}

// plain copies a message without sets. If less than least bytes are left behind the header,
// nothing is.
func (m *cut) plain(head, least int) {
	m.between(0, len(m.raw))
	m.empty = m.removed > 0 && len(m.dst)-m.from < head+least
}

// between copies bytes without the records there that are copies. It returns where the last
// record ends, and the length of the shortest that stays.
func (m *cut) between(at, end int) (last, shortest int) {
	shortest = len(m.raw)
	for len(m.records) > 0 && m.records[0].Offset < end {
		r := &m.records[0]
		if m.verdicts[0] == records.Copy {
			m.dst = append(m.dst, m.raw[at:r.Offset]...)
			at = r.Offset + r.Length
			m.removed++
		} else {
			m.kept++
		}
		shortest = min(shortest, r.Length)
		last = r.Offset + r.Length
		m.records, m.verdicts = m.records[1:], m.verdicts[1:]
	}
	m.dst = append(m.dst, m.raw[at:end]...)
	return last, shortest
}

// sets copies a header, and the sets behind it up to end. Later bytes stay.
func (m *cut) sets(head, end int) {
	m.dst = append(m.dst, m.raw[:head]...)
	at := head
	for at+headSet <= end {
		id, size := binary.BigEndian.Uint16(m.raw[at:]), int(binary.BigEndian.Uint16(m.raw[at+2:]))
		if size < headSet || size > end-at && id < firstData {
			break
		}
		size = min(size, end-at) // data may have been cut
		m.set(at, at+size)
		at += size
	}
	m.shorter = at - (len(m.dst) - m.from)
	m.empty = m.removed > 0 && len(m.dst)-m.from == head // later bytes belong to no set
	m.dst = append(m.dst, m.raw[at:]...)
}

// set copies a set. Without records it goes, and without some of them its padding may
// change.
func (m *cut) set(at, end int) {
	begin, removed := len(m.dst), m.removed
	last, shortest := m.between(at, end)
	if m.removed == removed {
		return
	}
	rest := m.raw[last:end]
	padded := len(rest) < 4 || len(rest) < 8 && len(bytes.TrimLeft(rest, "\x00")) == 0
	if padded {
		m.dst = m.dst[:len(m.dst)-len(rest)]
	}
	size := len(m.dst) - begin
	if size == headSet {
		m.dst = m.dst[:begin]
		m.removedSets++
		return
	}
	// IPFIX needs no padding. With it, undecodable bytes might become a record.
	if padding := -size & 3; m.aligned && padded && (end-at)%4 == 0 && padding < shortest {
		m.dst = append(m.dst, "\x00\x00\x00"[:padding]...)
	}
	binary.BigEndian.PutUint16(m.dst[begin+2:], uint16(len(m.dst)-begin))
}

// lowerCount lowers the number of 16 bits behind the version: the count of records of
// NetFlow, the length of an IPFIX message.
func (m *cut) lowerCount(by int) {
	n := binary.BigEndian.Uint16(m.raw[2:])
	binary.BigEndian.PutUint16(m.dst[m.from+2:], n-uint16(by))
}

// count9 lowers the count of NetFlow v9: it counts records, and with some exporters sets.
func (m *cut) count9() {
	by := m.removed
	if int(binary.BigEndian.Uint16(m.raw[2:])) < m.kept+m.removed {
		by = m.removedSets
	}
	m.lowerCount(by)
}

// lower lowers a number of 32 bits in the header.
func (m *cut) lower(at int, by uint32) {
	n := binary.BigEndian.Uint32(m.raw[at:])
	binary.BigEndian.PutUint32(m.dst[m.from+at:], n-by)
}

// lru is a map of limited size, which forgets the least recently used entry. The zero value is not
// ready: use newLRU.
type lru[K comparable, V any] struct {
	limit int
	byKey map[K]*list.Element
	order *list.List // the last used first
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

// newLRU returns an empty map for at most limit entries, which is at least 1.
func newLRU[K comparable, V any](limit int) *lru[K, V] {
	return &lru[K, V]{limit: limit, byKey: map[K]*list.Element{}, order: list.New()}
}

// get returns the value of a key, which counts as used now. It takes constant time and does
// not allocate.
func (m *lru[K, V]) get(key K) (value V, ok bool) {
	e, ok := m.byKey[key]
	if !ok {
		return value, false
	}
	m.order.MoveToFront(e)
	return e.Value.(*entry[K, V]).value, true
}

// add adds a new key. If the map is full, the least recently used entry makes room.
func (m *lru[K, V]) add(key K, value V) {
	if len(m.byKey) >= m.limit {
		last := m.order.Remove(m.order.Back()).(*entry[K, V])
		delete(m.byKey, last.key)
	}
	m.byKey[key] = m.order.PushFront(&entry[K, V]{key, value})
}
