package distinct

import (
	"errors"
	"slices"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/flow"
	"github.com/flowdedup/flowdedup/engine"
)

// Packets are those of one batch on their way into the counts: Reset and Read take what
// the batches before have no part in, Count the rest. It keeps its memory from batch to
// batch, and serves one goroutine at a time.
type Packets struct {
	run     *Counting
	early   []int        // keys that are made of all packets
	keyers  *flow.Keyers // of these
	late    []lateKeys
	settled []*settled // by key, which settles others or itself; nil for none

	times    []int64
	keys     []elements // of each key of the run
	seen     []uint64
	fresh    sightings
	elements []uint32 // by number
	drop     []uint64 // packets that rows leave out of their number of packets; nil for none
}

// newPackets makes what one batch at a time is counted with.
func newPackets(c *Counting) *Packets {
	p := &Packets{run: c, keys: make([]elements, len(c.cfg.Keys)), settled: make([]*settled, len(c.cfg.Keys))}
	p.early = c.by.early()
	p.keyers = newKeyers(c.cfg, p.early)
	for _, key := range p.early {
		if c.by[key] != key {
			continue
		}
		p.settled[key] = new(settled)
		if others := c.by.others(key); len(others) > 0 {
			p.late = append(p.late, newLateKeys(key, others, c.cfg))
		}
	}
	return p
}

// Reset begins a batch of packets with the given times, as far as these may be relied on. They
// need be there, and stay, for Count only.
func (p *Packets) Reset(times []int64) {
	p.times = times
	for i := range p.keys {
		p.keys[i].reset()
	}
}

// Read decodes the packets from to to-1 of b and digests their keys. All packets are to be
// read, in their order.
func (p *Packets) Read(b *capture.Batch, from, to int) {
	for i, keys := range p.keyers.Read(b, from, to-from) {
		p.keys[p.early[i]].add(keys, from, &p.run.digest, p.run.cfg.Sighting != nil)
	}
}

// Count counts the elements, window by window. Packets whose bit in drop is set are not
// counted as packets, but their keys are: a copy shows that its addresses were there
// just as well. Without drop all are. Batches are counted one after another, in the
// order of their stream.
func (p *Packets) Count(b *capture.Batch, drop []uint64) error {
	r := p.run
	p.drop = drop
	if r.sliding != nil {
		return p.slide()
	}
	if r.past != nil && r.err == nil && len(p.times) > 0 {
		r.err = p.pass(b)
	}
	for at := 0; at < len(p.times) && r.err == nil; {
		n, w := r.windows.Run(p.times[at:])
		at += n
		if w == nil || r.err != nil {
			p.skip(uint32(at))
		} else {
			w.times(p.times[at-n : at])
			r.err = p.count(w, b, uint32(at))
		}
		r.packets += uint64(n)
		// Runs end at all multiples of a power of two that divides
		// memoryCheck and aheadCheck, so this does not depend on batches.
		if r.packets%memoryCheck == 0 {
			r.shed(w)
		}
		if r.packets%aheadCheck == 0 {
			r.keepBudget()
		}
		if w != nil && r.packets%aheadCheck == 0 {
			r.lookAhead(w, p.times[at-1])
		}
	}
	if r.err != nil {
		return &OutputError{r.err}
	}
	return nil
}

// pass enters the elements into the past, and makes those that are late.
func (p *Packets) pass(b *capture.Batch) error {
	past := p.run.past
	settles := past.settles(p.times)
	for _, key := range p.early {
		known := p.settled[key]
		if known != nil {
			known.reset(len(p.times))
		}
		if err := past.enter(p, key, known); err != nil {
			return err
		}
		if known != nil {
			known.list(settles)
		}
	}
	for i := range p.late {
		late := &p.late[i]
		late.read(p, b, p.settled[late.by].rest)
		for _, key := range late.keys {
			if err := past.enter(p, key, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// slide counts the elements in windows that slide.
func (p *Packets) slide() error {
	r := p.run
	r.packets += uint64(len(p.times))
	if r.err == nil {
		r.err = r.sliding.count(p)
	}
	if r.err != nil {
		return &OutputError{r.err}
	}
	return nil
}

// skip passes over the elements of the packets before to.
func (p *Packets) skip(to uint32) {
	for i := range p.keys {
		p.keys[i].skip(to)
	}
}

// count enters the elements of the packets before to, as far as they were not
// counted or skipped, under every key.
func (p *Packets) count(w *window, b *capture.Batch, to uint32) error {
	for _, i := range p.early {
		if err := p.countKey(w, i, to, p.settled[i]); err != nil {
			return err
		}
	}
	for l := range p.late {
		for _, i := range p.late[l].keys {
			if err := p.countKey(w, i, to, nil); err != nil {
				return err
			}
			w.keys[i].takePackets(&w.keys[p.late[l].by])
		}
	}
	if len(p.fresh) == 0 {
		return nil
	}
	return p.fresh.tell(w, b, p.run.loc, p.run.cfg.Sighting)
}

// countKey enters the elements of one key, but for those of settled packets.
func (p *Packets) countKey(w *window, i int, to uint32, known *settled) error {
	e, k, cfg, key := &p.keys[i], &w.keys[i], p.run.cfg, &p.run.cfg.Keys[i]
	f := familyOf{to: to, settled: known, key: key}
	return errors.Join(
		count(p, &k.addr4, cfg.newAddresses, &e.addr4, &f, key.FormatAddr4),
		count(p, &k.v4, cfg.newDigests, &e.v4, &f, key.Format16),
		count(p, &k.v6, cfg.newDigests, &e.v6, &f, key.Format48),
		count(p, &k.mac, cfg.newDigests, &e.mac, &f, key.Format16),
	)
}

// familyOf is what the families of a key have in common while they are counted.
type familyOf struct {
	to      uint32   // the packets before this one are counted
	settled *settled // nil for none
	key     *flow.KeyConfig
}

// count enters elements of one family.
func count[E, K any](
	p *Packets, c *counted[E], create func(memory int) (engine.Counter[E], error), e *series[E, K], f *familyOf, format func(K) string,
) error {
	from, end := e.next(f.to)
	if from == end {
		return nil
	}
	if c.Counter == nil {
		if err := c.begin(create); err != nil {
			return err
		}
	}
	frames, items := e.frames[from:end], e.items[from:end]
	c.packets += packetsOf(frames, p.drop, perPacket(f.key.Of))
	if f.settled != nil {
		p.elements = f.settled.without(p.elements[:0], e.frames, from, end)
		items = e.pick(p.elements)
	}
	words := (len(items) + 63) / 64
	p.seen = slices.Grow(p.seen[:0], words)[:words]
	c.TestAndSet(p.seen, items)
	if p.run.cfg.Sighting != nil {
		p.fresh.add(f.key, p.seen, frames, func(i int) string { return format(e.keys[from+i]) })
	}
	return nil
}
