// SPDX-License-Identifier: Apache-2.0

package count

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/keys"
	"github.com/flowdedup/flowdedup/engine/distinct/windows"
)

// join gives later fragments the flow of their first one, in the order of the stream: a datagram
// is of one flow, however it was cut. Those that come before it wait for it. They count with it, and at
// their own times.
func (p *Packets) join(uncounted []uint64) error {
	j := &p.counter.joiner
	if len(p.fragments) == 0 && !j.Waiting() {
		return nil
	}
	p.waits, p.settled = p.waits[:0], p.settled[:0]
	passed := uint32(0)
	for i := range p.fragments {
		f := &p.fragments[i]
		p.pass(passed, f.Frame)
		passed = f.Frame
		f.Length = p.source.Frames[f.Frame].WireLen
		f.Time, f.Uncounted = p.usable[f.Frame], uncounted != nil && uncounted[f.Frame/64]>>(f.Frame%64)&1 != 0
		switch j.Join(f) {
		case keys.Joined:
			p.rekey(f)
		case keys.Waits:
			p.waits = append(p.waits, f.Frame)
		}
		p.settle(f.Frame)
	}
	p.pass(passed, uint32(len(p.usable)))
	p.withhold()
	for at := 0; at < len(p.settled); {
		next := at + 1
		for next < len(p.settled) && p.settled[next].Frame == p.settled[at].Frame && next-at < capture.GroupSize {
			next++
		}
		if err := p.counter.CountTo(p.batch, uncounted, int(p.settled[at].Frame)); err != nil {
			return Failed(err)
		}
		if err := p.counter.countLate(p.settled[at:next]); err != nil {
			return err
		}
		at = next
	}
	return nil
}

// pass lets the times of packets pass while fragments wait.
func (p *Packets) pass(from, to uint32) {
	for j := &p.counter.joiner; from < to && j.Waiting(); from++ {
		j.Pass(p.usable[from])
		p.settle(from)
	}
}

// settle notes that fragments wait no longer, before packet at of the batch.
func (p *Packets) settle(at uint32) {
	for _, f := range p.counter.joiner.Settled() {
		f.Frame = at
		p.settled = append(p.settled, f)
	}
}

// withhold takes the elements of fragments that wait out of keys with ports.
func (p *Packets) withhold() {
	if len(p.waits) == 0 {
		return
	}
	for i, key := range p.batch.Direct() {
		if hasPorts(p.counter.cfg.Keys[key]) {
			e, listed := p.batch.Elements(key), p.listed(key)
			kept4, kept6 := p.direct.Kept(i)
			drop(&e.V4, p.waits, kept4, listed.v4)
			drop(&e.V6, p.waits, kept6, listed.v6)
		}
	}
}

// drop removes the elements of packets, and their keys where keys are kept.
func drop[K any](s *windows.Series[digest.Digest], packets []uint32, kept ...[]K) {
	numbers := s.Remove(packets)
	for _, keys := range kept {
		if len(keys) > 0 {
			windows.Without(keys, numbers)
		}
	}
}

// countLate counts fragments that have waited.
func (c *Counter) countLate(all []keys.Fragment) error {
	if c.late == nil {
		c.late = c.NewPackets()
	}
	return Failed(c.late.again(all))
}

// again counts the elements of fragments in keys with ports. They were counted without these.
func (p *Packets) again(all []keys.Fragment) error {
	n := len(all)
	four, six, uncounted := []uint32(nil), []uint32(nil), make([]uint64, (n+63)/64)
	keys4, keys6, times := make([][16]byte, n), make([][48]byte, n), make([]int64, n)
	p.source = &capture.Batch{Frames: make([]capture.Frame, n)}
	for i := range all {
		f := &all[i]
		keys4[i], keys6[i], times[i], p.source.Frames[i] = f.V4, f.V6, f.Time, capture.Frame{Time: f.Time, WireLen: f.Length}
		if f.Is6 {
			six = append(six, uint32(i))
		} else {
			four = append(four, uint32(i))
		}
		if f.Uncounted {
			uncounted[i/64] |= 1 << (i % 64)
		}
	}
	p.Reset(times)
	made := p.direct.FromKeys(keys4, keys6, four, six)
	for i, key := range p.batch.Direct() {
		if hasPorts(p.counter.cfg.Keys[key]) {
			p.add(key, made[i], 0)
		}
	}
	return p.counter.CountAgain(p.batch, uncounted)
}

// expire counts the fragments of windows that end at or before a time, without their first ones.
func (c *Counter) expire(end int64) error {
	c.joiner.Expire(end)
	all := c.joiner.Settled()
	for at := 0; at < len(all); at += capture.GroupSize {
		if err := c.countLate(all[at:min(at+capture.GroupSize, len(all))]); err != nil {
			return err
		}
	}
	return nil
}

// listed returns the listed keys behind the elements of a key, none unless they are kept.
func (p *Packets) listed(key int) (listed elements) {
	if p.keys != nil {
		listed = p.keys[key]
	}
	return listed
}

// rekey replaces the elements of a fragment in keys with ports.
func (p *Packets) rekey(f *keys.Fragment) {
	direct := p.batch.Direct()
	if p.joined == nil {
		p.joined = p.counter.cfg.keyers(direct)
	}
	four, six := []uint32{0}, []uint32(nil)
	if f.Is6 {
		four, six = six, four
	}
	made := p.joined.FromKeys([][16]byte{f.V4}, [][48]byte{f.V6}, four, six)
	for i, key := range direct {
		if !hasPorts(p.counter.cfg.Keys[key]) {
			continue
		}
		e, d, listed := p.batch.Elements(key), &p.counter.digest, p.listed(key)
		kept4, kept6 := p.direct.Kept(i)
		if f.Is6 {
			replace(&e.V6, f.Frame, made[i].V6, d.v6.Sum48, kept6, listed.v6)
		} else {
			replace(&e.V4, f.Frame, made[i].V4, d.v4.Sum16, kept4, listed.v4)
		}
	}
}

// replace replaces the element of a packet, and its key where keys are kept.
func replace[K any](s *windows.Series[digest.Digest], packet uint32, key []K, sum func([]digest.Digest, []K), kept ...[]K) {
	n, element := s.Of(packet)
	sum(element, key)
	for _, keys := range kept {
		if n < len(keys) {
			keys[n] = key[0]
		}
	}
}
