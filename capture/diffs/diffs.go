// Package diffs tells, of a sample of the packets, how copies differ from the packets that
// they copy: in VLAN tags, hop count, hardware addresses, capture point, or else. A capture
// has copies for a reason, such as a mirror of two ports or a tap before and behind a
// router, and this shows it.
package diffs

import "github.com/flowdedup/flowdedup/asm/digest"

const (
	// sampleEvery is the number of packets of which one is sampled, a power of two, and
	// samplesPerBatch is about how many there are of a batch at most, so that a busy
	// interface costs no more than others.
	sampleEvery     = 16
	samplesPerBatch = 32
	// rememberedSamples is how many packets are remembered at most: those of a window of
	// 1 ms at 60 million packets a second, and of longer ones at less.
	rememberedSamples = 1 << 12
)

// Counts counts, over a sample of the duplicates that is chosen by digest, how each
// differed from the packet that it copies. One may differ in several ways; one that
// differs in none is exact.
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
// that a packet and its copies all are in it or none. A copy whose packet has lost its
// place to another one is left out. The zero value is ready for use; it takes 300 KiB.
type Counter struct {
	Counts
	kept [rememberedSamples]sample
}

// sample is a packet that was chosen.
type sample struct {
	digest digest.Digest
	frame  uint32 // its number in the batch
	traits
}

// traits are what may differ between copies, hashed where it is long.
type traits struct {
	point     uint64 // where it was seen
	vlan, mac uint64 // tags and hardware addresses
	ttl       byte   // or hop limit
	remainder uint64 // of the frame
}

// Add counts the copies among the samples of a batch, those whose bit in copies is set, and
// remembers the others. Batches are added in the order of their stream.
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

// compare counts a copy.
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
