// SPDX-License-Identifier: Apache-2.0

package hold

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/engine/window"
)

// sighted is a packet of a test.
type sighted struct {
	digest                        digest.Digest
	conversation, fragment, point uint64
	time                          int64
	size                          int
	rank                          uint8
	fixed                         bool
	integrity                     identity.Integrity
}

// traffic makes random streams.
type traffic struct {
	rng                    *rand.Rand
	points, conversations  int
	loss                   float64       // of each sighting
	delay                  time.Duration // at most, between sightings of a packet
	disorder               time.Duration
	jumps, untimed, wild   float64
	size                   int
	ranks, fixed, fragment bool
}

// stream returns about n packets. Its times begin with a step back by the disorder.
func (g *traffic) stream(n int) (all []sighted) {
	now := int64(1_600_000_000e9)
	all = append(all, sighted{digest: g.digest(), time: now + int64(g.disorder)}, sighted{digest: g.digest(), time: now})
	type event struct {
		at int64
		sighted
	}
	var events []event
	for len(events) < n {
		now += g.rng.Int64N(400) * 64
		order := now
		p := sighted{digest: g.digest(), conversation: hashOf(g.rng.IntN(g.conversations)), size: g.rng.IntN(g.size)}
		if g.fragment && g.rng.IntN(4) == 0 {
			if p.fragment = hashOf(10_000 + g.rng.IntN(g.conversations)); g.rng.IntN(2) == 0 {
				p.conversation, p.fragment = p.fragment, 0
			}
		}
		if g.rng.Float64() < g.wild {
			p.conversation = 0
		}
		if g.rng.Float64() < g.jumps {
			now += (g.rng.Int64N(40) - 20) * 2 * int64(calendar.Tolerance)
		}
		for point := range g.points {
			if g.rng.Float64() < g.loss {
				continue
			}
			s, delay := p, g.rng.Int64N(int64(g.delay)/64)*64
			s.point, s.time = hashOf(100+point), now+delay
			if g.rng.Float64() < g.untimed {
				s.time = calendar.NoTime
			}
			s.rank, s.fixed = uint8(g.rng.IntN(3)), g.fixed && g.rng.IntN(10) == 0
			s.integrity = identity.Integrity(p.digest[0] >> (2 * point) & 3)
			events = append(events, event{order + delay + g.rng.Int64N(int64(g.disorder)/2+1), s})
		}
	}
	slices.SortStableFunc(events, func(a, b event) int { return int(max(min(a.at-b.at, 1), -1)) })
	for i := range events {
		all = append(all, events[i].sighted)
	}
	return all
}

func (g *traffic) digest() digest.Digest { return digest.Digest{g.rng.Uint64(), g.rng.Uint64()} }

func hashOf(n int) uint64 { return uint64(n+1) * 0x9e3779b97f4a7c15 }

// copies returns what a plain filter says of a stream.
func copies(t *testing.T, all []sighted, cfg window.ExactConfig) []bool {
	filter, err := window.NewExact(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer filter.Close()
	var digests []digest.Digest
	var times []int64
	var points []uint32
	for i := range all {
		digests, times, points = append(digests, all[i].digest), append(times, all[i].time), append(points, uint32(all[i].point))
	}
	seen, drop := make([]uint64, (len(all)+63)/64), make([]bool, len(all))
	filter.TestAndSet(seen, digests, times, points)
	for i := range drop {
		drop[i] = capture.IsSet(seen, i)
	}
	return drop
}

const (
	dataHead = 20 + 8 // how many bytes of a packet do not depend on its size
	numberIn = 24     // where they have its number
)

// data returns what packet number n of a stream has: ICMP over IPv4, with its number as the
// identifier of an echo, and of the integrity that it is to have.
func (s *sighted) data(n int) []byte {
	p := make([]byte, dataHead+s.size)
	p[0], p[9] = 0x45, 1
	binary.BigEndian.PutUint16(p[2:], uint16(len(p)))
	binary.BigEndian.PutUint32(p[numberIn:], uint32(n))
	sum := uint32(n>>16 + n&0xffff)
	for sum>>16 != 0 {
		sum = sum>>16 + sum&0xffff
	}
	binary.BigEndian.PutUint16(p[22:], ^uint16(sum))
	switch s.integrity {
	case identity.WrongChecksum:
		p[22] ^= 1
	case identity.NoChecksum:
		p[9] = 89
	case identity.Truncated:
		binary.BigEndian.PutUint16(p[2:], uint16(len(p)+1))
	}
	return p
}
