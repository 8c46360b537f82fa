// SPDX-License-Identifier: Apache-2.0

package export

import (
	"cmp"
	"container/list"
	"hash/maphash"
	"slices"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/internal/fragments"
	"github.com/flowdedup/flowdedup/capture/records"
)

// defaultMemory is the default of Limit, in bytes.
const defaultMemory = 64 << 20

// Reader reads the messages of flow exporters out of packets. It implements
// records.Reader. One goroutine at a time may use it.
type Reader struct {
	src     capture.Source
	decoder *headers.Decoder
	seed    maphash.Seed
	sources *sources
	counts  records.Counts

	batch capture.Batch
	heads []headers.Header
	frame int // the next frame of batch
	now   int64
	err   error // of src

	waiting   *list.List // of kept messages, in the order in which they came
	ready     []*kept
	keptBytes int
	mostKept  int
	room      int            // slots that sources may take to remember messages
	slots     int            // number of slots, including the taken ones
	scratch   records.Record // of options
	fragments *fragments.Assembler

	sampler     *headers.Decoder // of packets that sFlow samples
	sampled     capture.Batch    // the packet of an sFlow sample
	sampledHead [1]headers.Header
}

var _ records.Reader = (*Reader)(nil)

// NewReader returns a reader of the packets of src, which stays the caller's to close. It
// remembers 64 MiB at most: see Limit.
func NewReader(src capture.Source) *Reader {
	plain := headers.NewDecoder(headers.DecoderConfig{})
	r := &Reader{src: src, decoder: plain, sampler: plain, seed: maphash.MakeSeed(), waiting: list.New()}
	r.Limit(defaultMemory)
	return r
}

// Limit bounds the memory of the reader, in bytes: a quarter each for exporters with their
// templates, for messages that wait for a template, for the marks by which messages that come
// again are known, and for IP fragments. It must be called before ReadBatch.
func (r *Reader) Limit(memory int) {
	share := memory / 4
	r.sources, r.mostKept = newSources(share), share
	r.slots = share / slotBytes
	r.room = r.slots
	r.fragments = fragments.New(share)
}

// Bytes returns about the memory of the reader.
func (r *Reader) Bytes() int {
	return r.sources.bytes + r.keptBytes + (r.slots-r.room)*slotBytes + r.fragments.Bytes()
}

// OpenTunnels takes records of sFlow from the innermost IP header of sampled packets. tunnels are
// the UDP ports of tunnels, nil for the usual ports. Call it before ReadBatch.
func (r *Reader) OpenTunnels(tunnels *headers.Tunnels) {
	r.sampler = headers.NewDecoder(headers.DecoderConfig{Inner: true, Tunnels: tunnels})
}

// Counts returns the counts so far.
func (r *Reader) Counts() records.Counts {
	c, f := r.counts, r.fragments.Counts()
	c.Reassembled, c.Fragments = f.Whole, f.Broken
	c.Messages += f.Again
	c.Replayed += f.Again
	return c
}

// ReadBatch reads a message; see records.Reader. A message whose template is missing comes
// once that is known, or when it does not wait any more: after 5 minutes by the times of
// packets, or when more than 256 KiB of a source (an observation domain of an exporter) or
// 16 MiB of all wait. If src ends with an error, all
// messages that wait come before it.
func (r *Reader) ReadBatch(b *records.Batch) error {
	for {
		if len(r.ready) > 0 {
			k := r.ready[0]
			if r.ready = r.ready[1:]; len(r.ready) == 0 {
				r.ready = nil // its memory is for the collector
			}
			if r.decodeKept(b, k) {
				return nil
			}
			continue
		}
		if r.frame < len(r.batch.Frames) {
			r.frame++
			if r.decodeFrame(b, r.frame-1) {
				return nil
			}
			continue
		}
		if r.err != nil {
			return r.err
		}
		if r.err = r.src.Next(&r.batch); r.err != nil {
			r.batch.Reset()
			r.flush()
			r.fragments.Flush()
			r.frame = 0
			continue
		}
		r.frame = 0
		n := len(r.batch.Frames)
		r.heads = slices.Grow(r.heads[:0], n)[:n]
		r.decoder.Decode(r.heads, &r.batch, 0)
		if n == 0 {
			r.idle(b)
			return nil
		}
	}
}

// Discard reads packets without looking into them, until the source ends or the deadline has
// passed, and returns how many there were since the last message that ReadBatch returned.
func (r *Reader) Discard(deadline time.Time) (packets uint64) {
	packets = uint64(len(r.batch.Frames) - r.frame)
	for r.err == nil && time.Now().Before(deadline) {
		if r.err = r.src.Next(&r.batch); r.err != nil {
			r.batch.Reset()
		}
		r.frame = len(r.batch.Frames)
		packets += uint64(r.frame)
	}
	return packets
}

// idle notes that time has passed.
func (r *Reader) idle(b *records.Batch) {
	if r.now != 0 && r.waiting.Len() > 0 {
		r.now = max(r.now, time.Now().UnixNano())
		r.expire()
	}
	*b = records.Batch{Records: b.Records[:0]}
}

// begin empties a batch for a message.
func begin(b *records.Batch, m *message) {
	*b = records.Batch{Records: b.Records[:0], Raw: m.data, From: m.from, Kind: m.kind}
}

// decodeFrame decodes the message of a frame. It returns false if the frame has no message, or
// the message has to wait.
func (r *Reader) decodeFrame(b *records.Batch, i int) bool {
	var m message
	if !r.open(&m, i) {
		return false
	}
	r.counts.Messages++
	if m.received > r.now {
		r.now = m.received
		r.expire()
	}
	s := r.source(&m)
	defer r.settle(s)
	s.messages++
	begin(b, &m)
	if r.again(s, &m) {
		b.Replayed = true
		s.numbering(b)
		return true
	}
	m.sent = s.sent(&m)
	d := r.decode(b, &m, s, first)
	if d.missing != 0 && s.templates[d.missing] != nil { // it came behind its data
		d = r.decode(b, &m, s, again)
	}
	r.follow(b, &m, s, &d)
	if b.Restarted && m.sent != m.exported { // a new process has the uptime of the old process
		s.burst, m.sent = m.exported, m.exported
		d = r.decode(b, &m, s, again)
	}
	if d.missing != 0 {
		r.keep(&m, s, d.missing)
		return false
	}
	r.done(b, d)
	return true
}

// again reports whether a message came before, byte for byte. Nothing in it counts then, not
// even templates, which may have changed since.
func (r *Reader) again(s *source, m *message) bool {
	again, spanned := s.seen.enter(maphash.Bytes(r.seed, m.data), r.now, &r.room)
	if spanned > 0 && (r.counts.Remembered == 0 || spanned < r.counts.Remembered) {
		r.counts.Remembered = spanned
	}
	if again {
		r.counts.Replayed++
	}
	return again
}

// decodeKept decodes a message that has waited.
func (r *Reader) decodeKept(b *records.Batch, k *kept) bool {
	h := again
	if k.giveUp {
		h = last
	}
	defer r.settle(k.source)
	begin(b, &k.message)
	d := r.decode(b, &k.message, k.source, h)
	if d.missing != 0 {
		r.keep(&k.message, k.source, d.missing)
		return false
	}
	k.source.numbering(b)
	r.done(b, d)
	return true
}

// done counts a message that is to be returned.
func (r *Reader) done(b *records.Batch, d decoded) {
	r.counts.Records += uint64(len(b.Records))
	r.counts.Undecodable += d.undecodable
	r.counts.Untemplated += d.untemplated
	r.counts.Misdated += d.misdated
	r.counts.MisdatedAt = cmp.Or(r.counts.MisdatedAt, d.misdatedAt)
}

// decode decodes a message.
func (r *Reader) decode(b *records.Batch, m *message, s *source, h how) decoded {
	b.Records = b.Records[:0]
	switch m.kind {
	case records.NetFlow1, records.NetFlow5, records.NetFlow7:
		return r.decodePlain(b, m)
	case records.SFlow:
		return r.decodeSFlow(b, m)
	}
	return r.decodeSets(b, m, s, h)
}

// follow follows the sequence numbers.
func (r *Reader) follow(b *records.Batch, m *message, s *source, d *decoded) {
	usual := messages
	if m.kind == records.NetFlow1 {
		return // it has no sequence numbers
	}
	if m.kind == records.NetFlow7 || m.kind == records.NetFlow5 || m.kind == records.IPFIX {
		usual = allRecords
	}
	o := s.sequence.enter(arrival{
		number: m.number, received: m.received, exported: m.exported, uptime: m.uptime, hasUptime: m.hasUptime,
		count: d.records, options: d.options, templates: d.templates && m.kind == records.IPFIX, unknown: d.unknown || d.missing != 0,
	}, usual)
	r.counts.Lost += uint64(o.lost) - uint64(o.found)
	if o.restarted {
		r.counts.Restarts++
	}
	b.Restarted = o.restarted
	s.numbering(b)
}

// source returns the state of a message's sender.
func (r *Reader) source(m *message) *source {
	key := sourceKey{From: m.from.Addr(), Agent: m.agent, Domain: m.domain, Kind: m.kind}
	if !key.From.IsValid() {
		key.Input = m.input
	}
	return r.sourceOf(key)
}

func (r *Reader) sourceOf(key sourceKey) *source {
	s := r.sources.get(key)
	if s == nil {
		s = &source{key: key, templates: map[uint16]*template{}}
		r.sources.add(s)
	}
	return s
}

// settle counts the memory of a source. It forgets sources while all take too much, and gives up
// their messages that wait.
func (r *Reader) settle(s *source) {
	r.sources.settle(s)
	for r.sources.bytes > r.sources.most && len(r.sources.byKey) > 1 {
		gone := r.sources.forget()
		if len(gone.templates) > 0 {
			r.counts.Forgotten++
		}
		for len(gone.waiting) > 0 {
			r.giveUp(gone.waiting[0])
		}
		r.room += gone.seen.size()
	}
}
