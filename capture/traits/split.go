// SPDX-License-Identifier: Apache-2.0

package traits

import (
	"math/bits"
	"sync/atomic"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/identity"
)

// SplitCounts say how many conversations were kept in parts. The share is a lower bound: where
// there are more than 4,096 conversations, some leave the sample before they are found to
// be in parts.
type SplitCounts struct {
	// Sampled counts conversations with at least two kept packets in the sample.
	// A conversation that goes on counts once in each period of 2^24 packets.
	Sampled uint64
	// Split counts sampled conversations that had copies removed, and whose kept packets
	// differ in tags or in interfaces. Without copies each point had its own part from the
	// start, as with a tap that has an interface for each direction.
	Split uint64
	// Tagged counts conversations of Split whose kept packets differ in tags.
	Tagged uint64
}

// maxConversations bounds the sample.
const maxConversations = 1 << 12

// SplitCounter counts conversations. One goroutine at a time may add; Counts may be called at
// the same time.
type SplitCounter struct {
	tags, places *SightingReader
	identity     *identity.Identity // whose kernels find datagrams in less time than a walk
	protocols    [burst]headers.Protocol
	read         Sightings
	seen         uint64 // packets of the stream
	table        Sample[conversation]

	sampled, split, tagged atomic.Uint64
}

// NewSplitCounter returns a counter that goes on with earlier counts, after as many packets of
// the stream. The tags of packets are the fields of cfg, which must be of their headers:
// headers that are removed before packets are written split no conversation. A secret seed
// keeps others from choosing the sample. A counter takes 200 KiB.
func NewSplitCounter(cfg SightingConfig, counts SplitCounts, packets uint64) *SplitCounter {
	kind := identity.L3
	if cfg.Inner {
		kind = identity.Inner
	}
	c := &SplitCounter{
		tags:     NewSightingReader(cfg),
		places:   NewSightingReader(SightingConfig{Fields: PointOrigin, Seed: cfg.Seed}),
		identity: identity.New(identity.Config{Kind: kind, Tunnels: cfg.Tunnels}),
		read:     Sightings{make([]uint64, burst), make([]uint64, burst), make([]uint64, burst)},
		seen:     packets,
		table:    NewSample[conversation](maxConversations),
	}
	c.sampled.Store(counts.Sampled)
	c.split.Store(counts.Split)
	c.tagged.Store(counts.Tagged)
	return c
}

// Counts returns the counts so far.
func (c *SplitCounter) Counts() SplitCounts {
	return SplitCounts{Sampled: c.sampled.Load(), Split: c.split.Load(), Tagged: c.tagged.Load()}
}

// Add counts the next packets of the stream. A set bit in drop marks a packet that is not
// kept; a nil drop keeps all. Of most packets Add reads nothing.
func (c *SplitCounter) Add(b *capture.Batch, drop []uint64) {
	end := c.seen + uint64(len(b.Frames))
	for at := c.seen; ; {
		from, to := nextBurst(at)
		if from >= end {
			break
		}
		if from%period == 0 {
			c.table.clear()
		}
		at = min(to, end, from+burst) // a run of that length stays in the first-level cache
		c.add(b, int(from-c.seen), int(at-from), drop)
	}
	c.seen = end
}

// add counts the n frames of b from number from on.
func (c *SplitCounter) add(b *capture.Batch, from, n int, drop []uint64) {
	s, places := c.read.Run(0, n), c.places.Points(b, from, n)
	c.tags.ReadIdentities(s, b, from, c.identity.FromFrames(c.protocols[:n], b, from))
	for i, id := range s.Conversation {
		if id == 0 {
			continue
		}
		k := c.table.Find(id)
		if k == nil {
			continue
		}
		before := k.traits
		if capture.IsSet(drop, from+i) {
			k.traits |= copied
		} else {
			k.keep(uint16(s.Point[i]), uint16(places[i]))
		}
		if k.traits != before {
			c.sampled.Add(k.traits.sampled() - before.sampled())
			c.split.Add(k.traits.split() - before.split())
			c.tagged.Add(k.traits.tagged() - before.tagged())
		}
	}
}

// Every packet of the first 2^14 is sampled, then bursts of 512 packets in a row: every 2nd burst
// of the next 2^14 packets, every 4th of the next 2^15, and so on, at last every 128th. Sampling
// starts anew every 2^24 packets, so that the conversations of today count. Bursts show both
// directions of a conversation where single packets seldom would. Only the numbers of packets
// in the stream decide which are sampled.
const (
	burst      = 512
	denseBits  = 14 // log2 of how many packets are sampled at the start
	maxSpacing = 7  // log2 of bursts per burst that is sampled
	period     = 1 << 24
)

// nextBurst returns the first packets to be sampled among those from number at on: from
// to to-1.
func nextBurst(at uint64) (from, to uint64) {
	begin, in := at&^(period-1), at%period
	if in < 1<<denseBits {
		return at, begin + 1<<denseBits
	}
	step := uint64(burst) << min(bits.Len64(in)-denseBits, maxSpacing)
	from = in &^ (step - 1)
	if in < from+burst {
		return at, begin + from + burst
	}
	from += begin + step
	return from, from + burst
}

// parts records which packets of a conversation were kept or removed, and how its kept packets
// differ.
type parts uint8

const (
	kept   parts = 1 << iota // a packet was kept
	again                    // a second packet was kept
	copied                   // a copy was removed
	// The kept packets differ in tags, or in interfaces.
	tagsDiffer
	placesDiffer
)

// sampled, split and tagged return the addition of a conversation to Counts: 0 or 1.
func (t parts) sampled() uint64 { return count(t&again != 0) }
func (t parts) split() uint64   { return count(t&copied != 0 && t&(tagsDiffer|placesDiffer) != 0) }
func (t parts) tagged() uint64  { return count(t&copied != 0 && t&tagsDiffer != 0) }

func count(is bool) uint64 {
	if is {
		return 1
	}
	return 0
}

// conversation is a conversation of the sample, with the point of its first kept packet.
// Two points that differ have equal numbers here once in 65,536 times.
type conversation struct {
	tags, place uint16
	traits      parts
}

// keep enters a packet that was kept.
func (k *conversation) keep(tags, place uint16) {
	if k.traits&kept == 0 {
		k.tags, k.place = tags, place
		k.traits |= kept
		return
	}
	k.traits |= again
	if k.tags != tags {
		k.traits |= tagsDiffer
	}
	if k.place != place {
		k.traits |= placesDiffer
	}
}
