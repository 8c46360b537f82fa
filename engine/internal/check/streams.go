// SPDX-License-Identifier: Apache-2.0

// Package check has the common parts of filter tests: streams of elements, clocks,
// benchmarks, and checks of snapshots.
package check

import (
	"math/bits"
	"math/rand/v2"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/engine/internal/bitset"
)

// Packets is input for packet filters.
type Packets struct {
	Digests []digest.Digest
	Times   []int64
	Points  []uint32
}

func (s *Packets) Add(d digest.Digest, t int64, point uint32) {
	s.Digests = append(s.Digests, d)
	s.Times = append(s.Times, t)
	s.Points = append(s.Points, point)
}

// Part returns packets from to to-1.
func (s *Packets) Part(from, to int) *Packets {
	return &Packets{s.Digests[from:to], s.Times[from:to], s.Points[from:to]}
}

// Round makes times multiples of unit, like times of files with a coarser clock: then
// ticks of that length lose nothing.
func (s *Packets) Round(unit int64) {
	for i, t := range s.Times {
		if t != calendar.NoTime {
			s.Times[i] = t - t%unit
		}
	}
}

// Verdicts runs the stream through f in batches of the given size.
func (s *Packets) Verdicts(f engine.PacketFilter, batch int) []bool {
	out := make([]bool, 0, len(s.Digests))
	seen := make([]uint64, (batch+63)/64)
	for from := 0; from < len(s.Digests); from += batch {
		to := min(from+batch, len(s.Digests))
		for i := range seen {
			seen[i] = 0x5555555555555555
		}
		f.TestAndSet(seen, s.Digests[from:to], s.Times[from:to], s.Points[from:to])
		for i := range to - from {
			out = append(out, seen[i/64]>>(i%64)&1 == 1)
		}
	}
	return out
}

// clock makes the times of a random stream.
type clock func(rng *rand.Rand, now int64) int64

// Clocks are the ways of time, for a window of the given size. None steps back by more
// than the window while it runs out of order.
func Clocks(window int64) map[string]clock {
	return map[string]clock{
		"in order": func(rng *rand.Rand, now int64) int64 { return now + rng.Int64N(window/20+2) },
		"out of order": func(rng *rand.Rand, now int64) int64 {
			return now + rng.Int64N(window/5+2) - window/12
		},
		"jumps": func(rng *rand.Rand, now int64) int64 {
			if rng.IntN(300) == 0 { // permanently, as when a clock is set
				return now + rng.Int64N(int64(1e12)) - 5e11
			}
			return now + rng.Int64N(window/20+2)
		},
		"slow": func(rng *rand.Rand, now int64) int64 { return now + rng.Int64N(10*window) },
	}
}

// RandomPackets makes a stream in which a third of the packets repeat one of the last 40,
// every hundredth has no time, and one packet recurs unchanged.
func RandomPackets(seed uint64, n int, next clock) *Packets {
	rng := rand.New(rand.NewPCG(seed, 1))
	s := &Packets{}
	now := int64(1_700_000_000_000_000_000)
	for i := range n {
		now = next(rng, now)
		d := digest.Digest{rng.Uint64(), rng.Uint64()}
		switch {
		case i > 40 && rng.IntN(3) == 0:
			d = s.Digests[i-1-rng.IntN(40)]
		case i%50 == 0:
			d = digest.Digest{1, 1}
		}
		t := now
		if rng.IntN(100) == 0 {
			t = calendar.NoTime
		}
		s.Add(d, t, uint32(rng.IntN(3)))
	}
	return s
}

func Digests(seed uint64, n int) []digest.Digest {
	rng := rand.New(rand.NewPCG(seed, 0))
	digests := make([]digest.Digest, n)
	for i := range digests {
		digests[i] = digest.Digest{rng.Uint64(), rng.Uint64()}
	}
	return digests
}

func CountBits(seen []uint64) (n int) {
	for _, word := range seen {
		n += bits.OnesCount64(word)
	}
	return n
}

// Feed returns all verdicts, as bits.
func Feed(c engine.Counter[digest.Digest], digests []digest.Digest, batch int) []uint64 {
	verdicts := make([]uint64, len(digests)/64+1)
	seen := make([]uint64, batch/64+1)
	for at := 0; at < len(digests); at += batch {
		part := digests[at:min(at+batch, len(digests))]
		c.TestAndSet(seen, part)
		bitset.Or(verdicts, at, seen, len(part))
	}
	return verdicts
}

// Repeating returns digests. About half are new, and the others came up to 3000 elements
// before.
func Repeating(seed uint64, n int) []digest.Digest {
	rng := rand.New(rand.NewPCG(seed, 3))
	digests := make([]digest.Digest, n)
	for i := range digests {
		digests[i] = digest.Digest{rng.Uint64(), rng.Uint64()}
		if back := 1 + rng.IntN(1+rng.IntN(3000)); back <= i && rng.IntN(2) == 0 {
			digests[i] = digests[i-back]
		}
	}
	return digests
}
