// SPDX-License-Identifier: Apache-2.0

package count

import (
	"math"
	"slices"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/keys"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/engine/distinct/windows"
)

// Counter counts the keys of a stream. The batches of a run share it.
type Counter struct {
	*windows.Counter
	cfg    *Config
	digest digesters
	rows   *rowMaker
	// unopened counts frames that were not opened, of the batches that were counted.
	unopened  headers.UnopenedCounts
	withoutIP uint64 // packets in no row of addresses
	// withoutPorts counts packets whose ports were not captured, if keys have ports.
	withoutPorts uint64
	joiner       keys.Joiner
	late         *Packets // fragments that have waited; nil before the first
}

// NewCounter makes the counters that cfg asks for, which must not change afterwards.
func NewCounter(cfg *Config) *Counter {
	rows := &rowMaker{cfg: cfg, stamp: show.Timestamps{Zone: cfg.zone()}, began: math.MinInt64, ended: math.MinInt64}
	c := &Counter{Counter: windows.New(cfg.counters(rows)), cfg: cfg, digest: newDigesters(cfg.Secret), rows: rows}
	rows.seen, rows.isOpen, rows.skip = c.Seen, c.IsOpen, c.Skip
	return c
}

// Began says when the run began, in nanoseconds since 1970 UTC. Without it a run begins with
// its earliest packet.
func (c *Counter) Began(at int64) { c.rows.began = at }

// Ended says when the run ended. Without it a run ends with its latest packet.
func (c *Counter) Ended(at int64) { c.rows.ended = at }

// Close is windows.Counter.Close: the rows of windows that the end of the run cuts say so.
func (c *Counter) Close() error {
	_ = c.Flush() // Close returns the error, too
	c.rows.ending = true
	return c.Counter.Close()
}

// Expire is windows.Counter.Expire. Fragments of windows that it closes wait no longer.
func (c *Counter) Expire(t int64) error {
	if err := c.expire(t); err != nil {
		return err
	}
	return c.Counter.Expire(t)
}

// Flush counts the fragments that wait for the first of their datagram, as it does not come any more.
func (c *Counter) Flush() error { return c.expire(math.MaxInt64) }

// Packets are the packets of one batch on their way into the counts. Reset and PrepareGroup do
// not depend on earlier batches; Count does. Packets reuses its memory from batch to
// batch, and serves one goroutine at a time.
type Packets struct {
	counter *Counter
	batch   *windows.Batch
	direct  *keys.Keyer // makes the keys of all packets
	derived []derived   // group by group
	keys    []elements  // by key of the run, nil without Config.FirstSeen and Config.Top

	fragments []keys.Fragment // by packet of the batch
	joined    *keys.Keyer     // makes the keys of later ones; nil before the first
	waits     []uint32        // packets with later ones before their first
	settled   []keys.Fragment // that wait no longer: Frame is the packet before which they count
	usable    []int64         // times

	source       *capture.Batch // the batch that is counted
	times        show.Timestamps
	withoutIP    uint64 // likewise
	withoutPorts uint64 // packets of batches that were counted
}

// WithoutPorts returns how many packets are in keys with ports as if theirs were 0, since
// their ports, or the first fragments that have them, were not captured.
func (c *Counter) WithoutPorts() uint64 { return c.withoutPorts + c.joiner.Unknown() }

// WithoutFirst returns how many of them are later fragments whose first did not come.
func (c *Counter) WithoutFirst() uint64 { return c.joiner.Unknown() }

// WithoutIP returns how many packets have no IP header, and are in no row of addresses.
func (c *Counter) WithoutIP() uint64 { return c.withoutIP }

// Unopened counts frames that were not opened, and in which no address is counted, by why:
// see headers.Unopened. It is nil without any.
func (c *Counter) Unopened() map[string]uint64 { return c.unopened.ByName() }

// Gaps returns how many windows without packets have rows, at most MaxGaps.
func (c *Counter) Gaps() int { return c.rows.gaps }

// OutputError is a failure to count or to emit counts. It ends a run, and rows may be
// missing.
type OutputError struct{ Err error }

func (e *OutputError) Error() string { return e.Err.Error() }

// Unwrap returns the failure.
func (e *OutputError) Unwrap() error { return e.Err }

// Failed returns err as an *OutputError, nil for none.
func Failed(err error) error {
	if err == nil {
		return nil
	}
	return &OutputError{err}
}

// derived makes the keys that another key implies.
type derived struct {
	keyer *keys.Keyer
	by    int // number of that key among the direct ones
}

// elements are the keys behind the elements of a batch.
type elements struct {
	addr4   []uint32
	v4, mac [][16]byte
	v6      [][48]byte
}

// NewPackets returns the state that one batch at a time needs.
func (c *Counter) NewPackets() *Packets {
	p := &Packets{counter: c, batch: c.NewBatch()}
	p.batch.Derive, p.batch.FirstSeen = p.derive, p.emitFirstSeen
	p.batch.Key, p.batch.Bytes = p.ranked, func(packet uint32) uint64 { return uint64(p.source.Frames[packet].WireLen) }
	p.direct = c.cfg.keyers(p.batch.Direct())
	for _, group := range p.batch.Derived() {
		by := slices.Index(p.batch.Direct(), group.By)
		p.direct.Keep(by)
		p.derived = append(p.derived, derived{c.cfg.keyers(group.Keys), by})
	}
	if p.times.Zone = c.cfg.zone(); c.cfg.FirstSeen != nil || c.cfg.Top > 0 {
		p.keys = make([]elements, len(c.cfg.Keys))
	}
	return p
}

// Reset begins a batch of packets with the given usable times. Only Count needs them, so
// they may be filled in later, and must stay until then.
func (p *Packets) Reset(times []int64) {
	p.usable = times
	p.batch.Reset(times)
	p.direct.Forget()
	p.fragments = p.fragments[:0]
	for i := range p.keys {
		k := &p.keys[i]
		*k = elements{k.addr4[:0], k.v4[:0], k.mac[:0], k.v6[:0]}
	}
}

// UsableTimes appends the usable times of frames.
func UsableTimes(times []int64, frames []capture.Frame) []int64 {
	times = slices.Grow(times, len(frames))
	for i := range frames {
		times = append(times, calendar.Usable(frames[i].Time))
	}
	return times
}

// PrepareGroup decodes the packets from to to-1 of b and digests their keys. All packets must be
// read, in order.
func (p *Packets) PrepareGroup(b *capture.Batch, from, to int) {
	for i, made := range p.direct.FromFrames(b, from, to-from) {
		p.add(p.batch.Direct()[i], made, from)
	}
	for _, f := range p.direct.Fragments() {
		f.Frame += uint32(from)
		p.fragments = append(p.fragments, f)
	}
}

// add adds the keys of packets whose numbers start at base.
func (p *Packets) add(key int, made *keys.Keys, base int) {
	e, d := p.batch.Elements(key), &p.counter.digest
	if len(made.Addr4) > 0 {
		copy(e.Addr4.Add(made.V4Frame, base), made.Addr4)
	} else {
		addDigests(&e.V4, made.V4, made.V4Frame, base, d.v4.Sum16)
	}
	addDigests(&e.V6, made.V6, made.V6Frame, base, d.v6.Sum48)
	addDigests(&e.MAC, made.MAC, made.MACFrame, base, d.mac.Sum16)
	if p.keys != nil {
		k := &p.keys[key]
		k.addr4, k.v4 = append(k.addr4, made.Addr4...), append(k.v4, made.V4...)
		k.v6, k.mac = append(k.v6, made.V6...), append(k.mac, made.MAC...)
	}
}

func addDigests[K any](s *windows.Series[digest.Digest], keys []K, frames []uint32, base int, sum func([]digest.Digest, []K)) {
	if len(keys) > 0 {
		sum(s.Add(frames, base), keys)
	}
}

// derive makes the keys of a group that follow from some of the keys that imply them.
func (p *Packets) derive(group int, v4, v6 []uint32) {
	d := &p.derived[group]
	all4, all6 := p.direct.Kept(d.by)
	for len(v4)+len(v6) > 0 {
		n4, n6 := min(capture.GroupSize, len(v4)), min(capture.GroupSize, len(v6))
		made := d.keyer.FromKeys(all4, all6, v4[:n4], v6[:n6])
		for i, key := range p.batch.Derived()[group].Keys {
			p.add(key, made[i], 0)
		}
		v4, v6 = v4[n4:], v6[n6:]
	}
}

// Count counts the elements: see [windows.Counter.Count]. Batches must come one after
// another, in the order of their stream.
func (p *Packets) Count(b *capture.Batch, uncounted []uint64) error {
	p.source = b
	p.direct.TakeUnopened(&p.counter.unopened)
	n := p.direct.WithoutIP()
	p.counter.withoutIP += n - p.withoutIP
	p.withoutIP = n
	if slices.ContainsFunc(p.counter.cfg.Keys, hasPorts) {
		n := p.direct.WithoutPorts()
		p.counter.withoutPorts += n - p.withoutPorts
		p.withoutPorts = n
	}
	if err := p.join(uncounted); err != nil {
		return err
	}
	return Failed(p.counter.Count(p.batch, uncounted))
}

// emitFirstSeen passes first sightings to Config.FirstSeen.
func (p *Packets) emitFirstSeen(start int64, first []windows.FirstSeen) error {
	one := First{packets: p, from: show.Timestamp(start, p.counter.cfg.zone())}
	for i := range first {
		one.FirstSeen = &first[i]
		if err := p.counter.cfg.FirstSeen(&one); err != nil {
			return err
		}
	}
	return nil
}
