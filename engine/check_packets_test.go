package engine

import (
	"math/rand/v2"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// packetStream is input for packet filters.
type packetStream struct {
	digests []digest.Digest
	times   []int64
	points  []uint32
}

func (s *packetStream) add(d digest.Digest, t int64, point uint32) {
	s.digests = append(s.digests, d)
	s.times = append(s.times, t)
	s.points = append(s.points, point)
}

// part returns packets from to to-1.
func (s *packetStream) part(from, to int) *packetStream {
	return &packetStream{s.digests[from:to], s.times[from:to], s.points[from:to]}
}

// round makes times multiples of unit, as times of files with a coarser clock
// are: then ticks of that length lose nothing.
func (s *packetStream) round(unit int64) {
	for i, t := range s.times {
		if t != calendar.NoTime {
			s.times[i] = t - t%unit
		}
	}
}

// verdicts runs the stream through f in batches of the given size.
func (s *packetStream) verdicts(f PacketFilter, batch int) []bool {
	out := make([]bool, 0, len(s.digests))
	seen := make([]uint64, (batch+63)/64)
	for from := 0; from < len(s.digests); from += batch {
		to := min(from+batch, len(s.digests))
		for i := range seen {
			seen[i] = 0x5555555555555555
		}
		f.TestAndSet(seen, s.digests[from:to], s.times[from:to], s.points[from:to])
		for i := range to - from {
			out = append(out, seen[i/64]>>(i%64)&1 == 1)
		}
	}
	return out
}

// clock makes the times of a random stream.
type clock func(rng *rand.Rand, now int64) int64

// clocks are the ways of time, for a window of the given size. None steps
// back by more than the window while it runs out of order.
func clocks(window int64) map[string]clock {
	return map[string]clock{
		"in order": func(rng *rand.Rand, now int64) int64 { return now + rng.Int64N(window/20+2) },
		"out of order": func(rng *rand.Rand, now int64) int64 {
			return now + rng.Int64N(window/5+2) - window/12
		},
		"jumps": func(rng *rand.Rand, now int64) int64 {
			if rng.IntN(300) == 0 { // to stay, as when a clock is set
				return now + rng.Int64N(int64(1e12)) - 5e11
			}
			return now + rng.Int64N(window/20+2)
		},
		"slow": func(rng *rand.Rand, now int64) int64 { return now + rng.Int64N(10*window) },
	}
}

// randomPackets makes a stream in which a third of the packets repeat one of
// the last 40, every hundredth has no time, and one beacon is constant.
func randomPackets(seed uint64, n int, next clock) *packetStream {
	rng := rand.New(rand.NewPCG(seed, 1))
	s := &packetStream{}
	now := int64(1_700_000_000_000_000_000)
	for i := range n {
		now = next(rng, now)
		d := digest.Digest{rng.Uint64(), rng.Uint64()}
		switch {
		case i > 40 && rng.IntN(3) == 0:
			d = s.digests[i-1-rng.IntN(40)]
		case i%50 == 0:
			d = digest.Digest{1, 1}
		}
		t := now
		if rng.IntN(100) == 0 {
			t = calendar.NoTime
		}
		s.add(d, t, uint32(rng.IntN(3)))
	}
	return s
}
