// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"io"
	"math"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/internal/mem"
	"github.com/flowdedup/flowdedup/engine/snapshot"
	"github.com/flowdedup/flowdedup/engine/theory"
)

// Counter is a Filter as a counter of distinct digests. Its memory is fixed, whatever the
// number of digests: a forgotten digest counts again when it returns.
type Counter struct{ filter *Filter }

var _ engine.Counter[digest.Digest] = (*Counter)(nil)

// NewCounter makes an empty counter. It returns the errors of New.
func NewCounter(c Config) (*Counter, error) {
	s, err := New(c)
	if err != nil {
		return nil, err
	}
	return &Counter{s}, nil
}

// TestAndSet is as engine.Counter says, up to the filter's errors.
func (c *Counter) TestAndSet(seen []uint64, d []digest.Digest) { c.filter.TestAndSet(seen, d) }

// Counts is as engine.Counter says. Low is the least number of elements that can have
// filled the occupied cells; with queues an element may have any number of cells. High is
// the number of elements that were not taken for seen, plus the number that may have been
// taken for seen wrongly at FPRBound. Distinct adds the number at the present rate. It is
// too high by the elements that were forgotten and returned; with rows there are none
// while Evicted is 0.
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

// MemoryFor is as engine.Sized says. It does not depend on the number.
func (c *Counter) MemoryFor(uint64) int { return c.filter.Stats().MemoryBytes }

// Populate is as engine.Sized says.
func (c *Counter) Populate() {
	arena := c.filter.arena
	arena.Populate(0, len(arena.Lines()))
}

// least returns the least possible number of distinct elements.
func (c *Counter) least(s Stats) uint64 {
	p := &c.filter.params
	switch noticed := s.Elements - s.Seen; {
	case p.family() == familyRows && s.Evicted == 0:
		return noticed
	case methodTable[p.method].eviction.InsertsCopies():
		return min(noticed, 1)
	}
	return (s.Occupied + uint64(p.k) - 1) / uint64(p.k)
}

// missedBeside returns how many distinct elements are taken for seen if the noticed elements are
// not, at the given false positive rate. It is at most seen.
func missedBeside(noticed uint64, rate float64, seen uint64) float64 {
	if rate >= 1 {
		return float64(seen)
	}
	return min(float64(noticed)*rate/(1-rate), float64(seen))
}

// Close is as Counter says.
func (c *Counter) Close() error { return c.filter.Close() }

// Packets is a Filter as a packet filter without a window. It ignores the times and the
// points of packets.
type Packets struct{ filter *Filter }

var _ engine.PacketFilter = (*Packets)(nil)

// NewPackets makes the filter. With the methods of rows an FPR of 0 stands for
// engine.DefaultFPR, as with other packet filters, unless a Shape is given. With the
// other methods Config's default applies. It returns the errors of New.
func NewPackets(c Config) (*Packets, error) {
	if c.FPR == 0 && c.Shape == "" && HasRows(c.Method) {
		c.FPR = engine.DefaultFPR
	}
	s, err := New(c)
	if err != nil {
		return nil, err
	}
	return &Packets{s}, nil
}

// TestAndSet implements engine.PacketFilter.
func (f *Packets) TestAndSet(seen []uint64, d []digest.Digest, _ []int64, _ []uint32) {
	f.filter.TestAndSet(seen, d)
}

// Stats implements engine.PacketFilter. It suggests no memory, as these filters forget in
// any memory.
func (f *Packets) Stats() engine.PacketStats {
	s := f.filter.Stats()
	return engine.PacketStats{Method: s.Method, MemoryBytes: s.MemoryBytes, Fill: s.Fill, PredictedFPR: s.FPRBound, EvictedLive: s.Evicted}
}

// Populate has the system back all memory now. It returns the error of ctx, if ctx ends
// before.
func (f *Packets) Populate(ctx context.Context) error { return mem.Populate(ctx, f.filter.arena) }

// Close implements engine.PacketFilter.
func (f *Packets) Close() error { return f.filter.Close() }

// Snapshot is as Filter.Snapshot.
func (f *Packets) Snapshot(w io.Writer, secret engine.Secret, label string) error {
	return f.filter.Snapshot(w, secret, label)
}

// RestorePackets is as Restore, for snapshots of Packets.Snapshot.
func RestorePackets(r io.Reader, c snapshot.RestoreConfig) (*Packets, error) {
	s, err := Restore(r, c)
	if err != nil {
		return nil, err
	}
	return &Packets{s}, nil
}
