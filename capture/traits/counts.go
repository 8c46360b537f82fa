// SPDX-License-Identifier: Apache-2.0

package traits

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

const (
	// One packet in sampleEvery, a power of two, is sampled. A batch has about
	// samplesPerBatch samples at most, which bounds the cost on busy interfaces.
	sampleEvery     = 16
	samplesPerBatch = 32
	// rememberedSamples is the capacity of the memory. It covers a window of 1 ms at 60
	// million packets a second, and longer windows at lower rates.
	rememberedSamples = 1 << 12
)

// Counts says how the copies in a sample differ from the packets that they copy. A copy
// may differ in several ways. A copy without any difference is exact.
type Counts struct {
	Sampled   uint64 `json:"sampled"`
	VLAN      uint64 `json:"vlan"`
	TTL       uint64 `json:"ttl"`
	MAC       uint64 `json:"mac"`
	Interface uint64 `json:"interface"`
	Other     uint64 `json:"other"`
	Exact     uint64 `json:"exact"`
}

// Counter compares sampled copies with their originals. The sample is chosen by digest, so it
// has a packet and all its copies, or none of them. A copy is left out if another packet has
// overwritten its original. A Counter takes 500 KiB, and the memory of its matrix.
type Counter struct {
	Counts
	kept   [rememberedSamples]sample
	names  *Names
	matrix matrix
}

// NewCounter returns a Counter without counts. tunnels are the UDP ports of tunnels; nil stands for
// the usual ports.
func NewCounter(tunnels *headers.Tunnels) *Counter { return &Counter{names: NewNames(nil, tunnels)} }

// Matrix lists the points of the copies in the sample and of their originals, the most
// frequent pairs first.
func (c *Counter) Matrix() []Cell { return c.matrix.list(c.names) }

// sample is a packet of the sample.
type sample struct {
	digest digest.Digest
	time   int64
	place  uint64 // the hash of its point
	frame  uint32 // its number in the batch
	point  uint32 // its number in Names
	traits
}

// Add counts the sampled packets of a batch that are copies, and remembers the others. A
// set bit in copies marks a copy. Batches come in the order of their stream.
func (c *Counter) Add(s *Sampler, b *capture.Batch, copies []uint64) {
	for i := range s.samples {
		s := &s.samples[i]
		k := &c.kept[s.digest[0]%rememberedSamples]
		isCopy := capture.IsSet(copies, int(s.frame))
		if isCopy && k.digest != s.digest {
			continue
		}
		s.point = c.names.Number(s.place, b, int(s.frame))
		if !isCopy {
			*k = *s
			continue
		}
		c.compare(k.traits, s.traits)
		if k.time != capture.NoTime && s.time != capture.NoTime {
			c.matrix.add(k.point, s.point, calendar.Distance(s.time, k.time))
		}
	}
}

// compare counts the differences of one copy.
func (c *Counts) compare(kept, copied traits) {
	kept.Derived, copied.Derived = 0, 0
	foreign := kept.Point.Interface != copied.Point.Interface || kept.Point.Index != copied.Point.Index
	c.Sampled++
	for _, r := range []struct {
		differs bool
		count   *uint64
	}{
		{kept.VLAN != copied.VLAN, &c.VLAN},
		{kept.Hops != copied.Hops, &c.TTL},
		{kept.MAC != copied.MAC, &c.MAC},
		{foreign, &c.Interface},
		{other(kept) != other(copied), &c.Other},
		{kept == copied, &c.Exact},
	} {
		if r.differs {
			*r.count++
		}
	}
}

// other returns t without the traits that have a count of their own.
func other(t traits) traits {
	return traits{Labels: t.Labels, Link: t.Link, Rest: t.Rest, Version: t.Version, Routed: Routed{Class: t.Class, DF: t.DF}}
}
