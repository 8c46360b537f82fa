// Package diffs tells how copies differ from the packets that they copy: in VLAN tags,
// hop count, hardware addresses, capture point, or elsewhere. The differences show why a
// capture has copies, such as a mirror of two ports, or taps on both sides of a router.
// It looks at a sample of the packets. It does not decide what is a copy.
//
// A [Sampler] samples the packets of one batch, and may do so in any worker. A [Counter]
// receives the samples of all batches in order, with the verdicts, and compares. Neither
// returns errors.
package diffs

import "github.com/flowdedup/flowdedup/asm/digest"

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

// Counter compares sampled copies with what they copy. The sample is chosen by digest, so
// it has a packet and all its copies, or none of them. A copy is left out if another
// packet has overwritten the one that it copies. The zero value is ready for use and
// takes 300 KiB.
type Counter struct {
	Counts
	kept [rememberedSamples]sample
}

// sample is a packet of the sample.
type sample struct {
	digest digest.Digest
	frame  uint32 // its number in the batch
	traits
}

// traits are the parts of a packet that may differ between copies; long ones are hashed.
type traits struct {
	point     uint64 // capture point
	vlan, mac uint64 // hashes of tags and hardware addresses
	ttl       byte   // IPv4 time to live, or IPv6 hop limit
	remainder uint64 // hash of the rest of the frame
}

// Add counts the sampled packets of a batch that are copies, and remembers the others. A
// set bit in copies marks a copy. Batches come in the order of their stream.
func (c *Counter) Add(s *Sampler, copies []uint64) { c.add(s.samples, copies) }

func (c *Counter) add(samples []sample, copies []uint64) {
	for i := range samples {
		s := &samples[i]
		k := &c.kept[s.digest[0]%rememberedSamples]
		switch {
		case copies[s.frame/64]>>(s.frame%64)&1 == 0:
			*k = *s
		case k.digest == s.digest:
			c.compare(&k.traits, &s.traits)
		}
	}
}

// compare counts the differences of one copy.
func (c *Counts) compare(kept, copied *traits) {
	c.Sampled++
	for _, r := range []struct {
		differs bool
		count   *uint64
	}{
		{kept.vlan != copied.vlan, &c.VLAN},
		{kept.ttl != copied.ttl, &c.TTL},
		{kept.mac != copied.mac, &c.MAC},
		{kept.point != copied.point, &c.Interface},
		{kept.remainder != copied.remainder, &c.Other},
		{*kept == *copied, &c.Exact},
	} {
		if r.differs {
			*r.count++
		}
	}
}
