// SPDX-License-Identifier: Apache-2.0

package export

import (
	"container/list"
	"net/netip"
	"slices"
	"time"

	"github.com/flowdedup/flowdedup/capture/records"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// sourceKey is whose templates and sequence numbers belong together.
type sourceKey struct {
	From   netip.Addr   `json:"from"`
	Agent  netip.Addr   `json:"agent,omitzero"`  // of sFlow
	Input  uint32       `json:"input,omitempty"` // if From is not known
	Domain uint32       `json:"domain"`
	Kind   records.Kind `json:"kind"`
}

// source is the state of an exporter's observation domain.
type source struct {
	key       sourceKey
	sequence  sequence
	seen      seen
	templates map[uint16]*template
	fields    int // of all templates
	messages  uint64
	samplers  []sampler
	interval  uint32 // of sampling, where no sampler is named
	boot      int64  // from options, 0 if unknown
	uptime    uint32 // of the last message
	burst     int64  // when the first message of that uptime was exported, 0 if unknown

	waiting   []*kept
	keptBytes int

	place   *list.Element // in sources, nil once it was forgotten
	known   bool          // it sent many messages
	counted int           // its memory, as sources have counted it
}

// sampler is a sampler of an exporter, with its sampling interval in packets.
type sampler struct {
	ID       uint64 `json:"id"`
	Interval uint32 `json:"interval"`
}

// Bounds of a source.
const (
	maxTemplates = 1024
	maxSamplers  = 256
)

// longestBurst is how long an exporter may take to send messages that it made at the same time. An
// uptime that stands still for longer is no clock.
const longestBurst = int64(10 * time.Second)

// sent returns when a message was made. softflowd and pmacctd give all messages of a burst the
// uptime of its begin, but each the second in which it leaves. Under load seconds pass meanwhile, so
// the second of the first message counts.
func (s *source) sent(m *message) int64 {
	if !m.hasUptime {
		return m.exported
	}
	if s.burst == 0 || m.uptime != s.uptime {
		s.uptime, s.burst = m.uptime, m.exported
	}
	if late := calendar.Since(m.exported, s.burst); late > 0 && late <= longestBurst {
		return s.burst
	}
	return m.exported
}

// numbering notes what the sequence numbers of the source count.
func (s *source) numbering(b *records.Batch) {
	b.PerRecord, b.WithOwn = s.sequence.unit != messages, s.sequence.unit == ownRecords
}

// withdraw forgets a template, or all of a kind for identifier 0.
func (s *source) withdraw(id uint16, options bool) {
	for known, t := range s.templates {
		if id == known || id == 0 && t.options == options {
			s.forget(known)
		}
	}
}

// learn enters a template, and reports whether that is news.
func (s *source) learn(id uint16, t *template) (news bool) {
	old := s.templates[id]
	if old != nil && old.same(t) {
		return false
	}
	if old != nil {
		s.forget(id)
	} else if len(s.templates) >= maxTemplates {
		s.forget(s.leastUsed())
	}
	t.used = s.messages
	s.templates[id] = t
	s.fields += len(t.fields)
	return true
}

func (s *source) forget(id uint16) {
	s.fields -= len(s.templates[id].fields)
	delete(s.templates, id)
}

// leastUsed returns the template that was not used for longest.
func (s *source) leastUsed() (id uint16) {
	oldest := uint64(1<<64 - 1)
	for i, t := range s.templates {
		if t.used < oldest || t.used == oldest && i < id {
			id, oldest = i, t.used
		}
	}
	return id
}

// option stores the fields of an options record.
func (s *source) option(x *values) {
	if x.boot != 0 {
		s.boot = x.boot
	}
	interval := x.sampling()
	switch {
	case interval == 0:
	case !x.hasSampler:
		s.interval = interval
	default:
		s.setSampler(x.sampler, interval)
	}
}

// sampler returns the interval of a sampler, nil if the sampler is not known.
func (s *source) sampler(id uint64) *uint32 {
	i := slices.IndexFunc(s.samplers, func(known sampler) bool { return known.ID == id })
	if i < 0 {
		return nil
	}
	return &s.samplers[i].Interval
}

func (s *source) setSampler(id uint64, interval uint32) {
	if known := s.sampler(id); known != nil {
		*known = interval
		return
	}
	if len(s.samplers) == maxSamplers {
		s.samplers = append(s.samplers[:0], s.samplers[1:]...)
	}
	s.samplers = append(s.samplers, sampler{id, interval})
}

// sampling returns the sampling interval for a record that states none.
func (s *source) sampling(x *values) uint32 {
	if x.hasSampler {
		if known := s.sampler(x.sampler); known != nil {
			return *known
		}
	}
	return s.interval
}

// message is a message with its header's fields.
type message struct {
	data  []byte
	from  netip.AddrPort
	input uint32
	kind  records.Kind

	domain    uint32
	agent     netip.Addr
	received  int64
	exported  int64 // 0 if unknown
	sent      int64 // when it was made: see source.sent
	uptime    uint32
	hasUptime bool
	precision time.Duration // of times since the exporter's start
	number    uint32        // in sequence
	count     int           // of records or sets, as the header has it
	size      int           // of a record of NetFlow v1, v5 or v7
	interval  uint32        // of sampling, NetFlow v5
	cut       bool          // it was not captured whole
	at        int           // where records or sets begin
}

const (
	// sourceCost is about the memory of a source with the least marks of messages,
	// templateCost and fieldCost a template and each of its fields, gapCost and samplerCost
	// the rest.
	sourceCost   = 1 << 10
	templateCost = 192
	fieldCost    = 16
	gapCost      = 48
	samplerCost  = 16

	// known is the number of messages from which on a source is known.
	known = 16
	// freshShare is the part of the memory that sources have which are not known yet.
	freshShare = 8
)

// sources are the senders of messages. Forged addresses send few messages each, so new senders evict
// new senders, and known senders only while these take all memory. The least recently used sender
// goes first.
type sources struct {
	byKey map[sourceKey]*source
	// The last used first.
	fresh, known *list.List
	most         int // bytes
	bytes        int
	freshBytes   int
}

func newSources(most int) *sources {
	return &sources{byKey: map[sourceKey]*source{}, fresh: list.New(), known: list.New(), most: most}
}

// get returns a source, which counts as used now, or nil.
func (all *sources) get(key sourceKey) *source {
	s := all.byKey[key]
	if s != nil {
		all.listOf(s).MoveToFront(s.place)
	}
	return s
}

func (all *sources) listOf(s *source) *list.List {
	if s.known {
		return all.known
	}
	return all.fresh
}

// add adds a source.
func (all *sources) add(s *source) {
	all.byKey[s.key] = s
	s.place = all.listOf(s).PushFront(s)
	all.settle(s)
}

// settle counts the memory of a source. A source that takes more than half of the memory loses its
// least recently used templates. settle does nothing for a forgotten source.
func (all *sources) settle(s *source) {
	if s.place == nil {
		return
	}
	for s.cost() > all.most/2 && len(s.templates) > 1 {
		s.forget(s.leastUsed())
	}
	all.count(s, s.cost())
	if !s.known && s.messages >= known {
		bytes := s.counted
		all.count(s, 0)
		all.fresh.Remove(s.place)
		s.known = true
		s.place = all.known.PushFront(s)
		all.count(s, bytes)
	}
}

// count counts a source of this many bytes.
func (all *sources) count(s *source, bytes int) {
	all.bytes += bytes - s.counted
	if !s.known {
		all.freshBytes += bytes - s.counted
	}
	s.counted = bytes
}

// forget removes a source and returns it. It must not be called without sources.
func (all *sources) forget() *source {
	from := all.known
	if all.fresh.Len() > 0 && (all.freshBytes > all.most/freshShare || from.Len() == 0) {
		from = all.fresh
	}
	s := from.Remove(from.Back()).(*source)
	all.count(s, 0)
	s.place = nil
	delete(all.byKey, s.key)
	return s
}

// backward calls yield for each source, new sources first. Each kind is in the order of its last use.
func (all *sources) backward(yield func(*source) bool) {
	for _, l := range []*list.List{all.fresh, all.known} {
		for e := l.Back(); e != nil; e = e.Prev() {
			if !yield(e.Value.(*source)) {
				return
			}
		}
	}
}

// cost returns about the memory of a source.
func (s *source) cost() int {
	gaps := cap(s.sequence.life.gaps) + cap(s.sequence.before.gaps)
	return sourceCost + templateCost*len(s.templates) + fieldCost*s.fields + gapCost*gaps + samplerCost*cap(s.samplers)
}
