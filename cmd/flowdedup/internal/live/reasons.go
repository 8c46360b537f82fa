package live

import (
	"github.com/flowdedup/flowdedup/asm"
)

const (
	// sampled is how many packets there are for one that is looked at, a power of two,
	// and samplesPerBatch how many are at the most, about, so that a busy
	// interface costs no more than others.
	sampled         = 16
	samplesPerBatch = 32
	// rememberedSamples is how many packets are remembered at the most: those of a
	// window of 1 ms at 60 million packets a second, and of longer ones at less.
	rememberedSamples = 1 << 12
)

// reasons tells, of a sample of the packets, how copies differ from what they copy. The
// sample is chosen by digest, so that a packet and its copies all are in it or none. A
// copy whose packet has lost its place to another one is left out.
type reasons struct {
	kept   [rememberedSamples]sample
	counts Reasons
}

func newReasons() *reasons { return &reasons{} }

// sample is a packet that was chosen.
type sample struct {
	digest asm.Digest
	frame  uint32 // its number in the batch
	trait
}

// trait is what may differ between copies, hashed where it is long.
type trait struct {
	point     uint64 // where it was seen
	vlan, mac uint64 // tags and hardware addresses
	ttl       byte   // or hop limit
	rest      uint64 // of the frame
}

// enter counts the copies among the samples of a batch, and remembers the others.
func (r *reasons) enter(samples []sample, drop []uint64) {
	for i := range samples {
		s := &samples[i]
		k := &r.kept[s.digest[0]%rememberedSamples]
		switch {
		case drop[s.frame/64]>>(s.frame%64)&1 == 0:
			*k = *s
		case k.digest == s.digest:
			r.counts.enter(&k.trait, &s.trait)
		}
	}
}

// enter counts a copy.
func (c *Reasons) enter(kept, copied *trait) {
	c.Sampled++
	for _, r := range []struct {
		differs bool
		count   *uint64
	}{
		{kept.vlan != copied.vlan, &c.VLAN},
		{kept.ttl != copied.ttl, &c.TTL},
		{kept.mac != copied.mac, &c.MAC},
		{kept.point != copied.point, &c.Interface},
		{kept.rest != copied.rest, &c.Other},
		{*kept == *copied, &c.Exact},
	} {
		if r.differs {
			*r.count++
		}
	}
}
