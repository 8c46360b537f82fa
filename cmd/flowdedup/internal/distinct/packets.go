package distinct

import (
	"errors"
	"slices"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/flow"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/stamp"
	"github.com/flowdedup/flowdedup/engine"
)

// Packets are those of one batch on their way into the counts: Reset and Read take what
// the batches before have no part in, Count the rest. It keeps its memory from batch to
// batch, and serves one goroutine at a time.
type Packets struct {
	run    *Counting
	keyers *flow.Keyers

	times []int64
	keys  []elements // of each key of the run
	seen  []uint64
	drop  []uint64 // packets that rows leave out of their number of packets; nil for none
}

// Reset takes the times of the packets.
func (p *Packets) Reset(b *capture.Batch) {
	p.times = slices.Grow(p.times[:0], len(b.Frames))[:len(b.Frames)]
	for i := range p.times {
		p.times[i] = stamp.Usable(b.Frames[i].Time)
	}
	for i := range p.keys {
		p.keys[i].reset()
	}
}

// Read decodes the packets from to to-1 of b and digests their keys. All packets are to be
// read, in their order.
func (p *Packets) Read(b *capture.Batch, from, to int) {
	for i, keys := range p.keyers.Read(b, from, to-from) {
		p.keys[i].add(keys, from, &p.run.digest, p.run.cfg.Sighting != nil)
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
	if r.past != nil && r.err == nil {
		r.err = r.past.enter(p)
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
		if w != nil && r.packets%aheadCheck == 0 {
			r.lookAhead(w, p.times[at-1])
		}
	}
	if r.err != nil {
		return &OutputError{r.err}
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
	for i := range p.keys {
		e, k := &p.keys[i], &w.keys[i]
		cfg, key := p.run.cfg, &p.run.cfg.Keys[i]
		s := sighter{r: p.run, w: w, b: b, key: key}
		if err := errors.Join(
			count(p, &k.addr4, cfg.newAddresses, &e.addr4, to, &s, key.FormatAddr4),
			count(p, &k.v4, cfg.newDigests, &e.v4, to, &s, key.Format16),
			count(p, &k.v6, cfg.newDigests, &e.v6, to, &s, key.Format48),
			count(p, &k.mac, cfg.newDigests, &e.mac, to, &s, key.Format16),
		); err != nil {
			return err
		}
	}
	return nil
}

// count enters elements of one family.
func count[E, K any](
	p *Packets, c *counted[E], create func(memory int) (engine.Counter[E], error), e *series[E, K], to uint32, s *sighter, format func(K) string,
) error {
	from, end := e.next(to)
	if from == end {
		return nil
	}
	if c.Counter == nil {
		if err := c.begin(create); err != nil {
			return err
		}
	}
	frames := e.frames[from:end]
	if p.drop == nil && onePerPacket(s.key.Of) {
		c.packets += uint64(len(frames))
	} else {
		c.packets += packetsOf(frames, p.drop)
	}
	words := (end - from + 63) / 64
	p.seen = slices.Grow(p.seen[:0], words)[:words]
	c.TestAndSet(p.seen, e.items[from:end])
	if p.run.cfg.Sighting == nil {
		return nil
	}
	return s.report(p.seen, frames, func(i int) string { return format(e.keys[from+i]) })
}

// onePerPacket tells whether a packet has one element at most, as all keys have but those
// of either end.
func onePerPacket(of flow.Of) bool { return of != flow.IP && of != flow.MACs }

// packetsOf counts how many packets elements come from, without those in drop: equal
// frame numbers follow each other.
func packetsOf(frames []uint32, drop []uint64) uint64 {
	n := uint64(0)
	last := ^uint32(0) // no frame has this number
	for _, f := range frames {
		if f != last && (drop == nil || drop[f/64]>>(f%64)&1 == 0) {
			n++
		}
		last = f
	}
	return n
}
