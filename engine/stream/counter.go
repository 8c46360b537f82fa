package stream

import (
	"math"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/line"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/theory"
)

// Counter is a Filter as a counter of distinct digests, in a fixed amount of
// memory however many there are: what was forgotten counts again when it returns.
type Counter struct{ filter *Filter }

var _ engine.Counter[digest.Digest] = (*Counter)(nil)

// NewCounter makes an empty counter. Errors are those of New.
func NewCounter(c Config) (*Counter, error) {
	s, err := New(c)
	if err != nil {
		return nil, err
	}
	return &Counter{s}, nil
}

// TestAndSet is as Counter says, up to the filter's errors.
func (c *Counter) TestAndSet(seen []uint64, d []digest.Digest) { c.filter.TestAndSet(seen, d) }

// Counts is as Counter says. Low is how many elements the cells that are occupied must
// come from, of which queues have any number for one. High is how many were not taken for seen, as each distinct one was once,
// and how many may have been taken for it wrongly, at FPRBound for all of the stream.
// Distinct is that at the present rate, which is too high by what was forgotten and
// returned; with rows nothing was while Evicted is 0.
func (c *Counter) Counts() engine.Counts {
	s := c.filter.Stats()
	noticed := s.Elements - s.Seen
	return engine.Counts{
		Distinct:    noticed + uint64(math.Round(missedBeside(noticed, s.FPR, s.Seen))),
		Low:         c.least(s),
		High:        noticed + min(s.Seen, theory.PoissonQuantile(0.95, missedBeside(noticed, s.FPRBound, s.Seen))),
		MemoryBytes: s.MemoryBytes, FPR: s.FPR, Method: s.Method,
	}
}

// MemoryFor is as Sized says: it does not depend on the number.
func (c *Counter) MemoryFor(uint64) int { return c.filter.Stats().MemoryBytes }

// Populate is as Sized says.
func (c *Counter) Populate() {
	arena := c.filter.arena
	arena.Populate(0, len(arena.Lines()))
}

// least returns how many distinct elements there were at least.
func (c *Counter) least(s Stats) uint64 {
	p := &c.filter.params
	switch noticed := s.Elements - s.Seen; {
	case p.family() == familyRows && s.Evicted == 0:
		return noticed
	case methodTable[p.method].eviction == line.EvictQueue:
		return min(noticed, 1)
	}
	return (s.Occupied + uint64(p.k) - 1) / uint64(p.k)
}

// missedBeside returns how many distinct elements are taken for seen beside so many
// that are not, at a false positive rate, and seen at most.
func missedBeside(noticed uint64, rate float64, seen uint64) float64 {
	if rate >= 1 {
		return float64(seen)
	}
	return min(float64(noticed)*rate/(1-rate), float64(seen))
}

// Close is as Counter says.
func (c *Counter) Close() error { return c.filter.Close() }
