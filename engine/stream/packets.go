package stream

import (
	"context"
	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/internal/mem"
	"github.com/flowdedup/flowdedup/engine/secret"
	"github.com/flowdedup/flowdedup/engine/snapshot"
	"io"
)

// Packets is a Filter as a packet filter without a window: times and points of
// packets have no part in it.
type Packets struct{ filter *Filter }

var _ engine.PacketFilter = (*Packets)(nil)

// NewPackets makes the filter. With methods that keep a chosen false positive
// rate in any memory, those of rows, an FPR of 0 stands for DefaultFPR as it does with
// other packet filters, unless a Shape is given; it stands for what Config says
// with the others. Errors are those of New.
func NewPackets(c Config) (*Packets, error) {
	if i := methodIndex(c.Method); c.FPR == 0 && c.Shape == "" && i >= 0 && methodTable[i].rows {
		c.FPR = engine.DefaultFPR
	}
	s, err := New(c)
	if err != nil {
		return nil, err
	}
	return &Packets{s}, nil
}

// TestAndSet implements PacketFilter.
func (f *Packets) TestAndSet(seen []uint64, d []digest.Digest, _ []int64, _ []uint32) {
	f.filter.TestAndSet(seen, d)
}

// Stats implements PacketFilter. It suggests no memory: these filters forget whatever
// they are given.
func (f *Packets) Stats() engine.PacketStats {
	s := f.filter.Stats()
	return engine.PacketStats{Method: s.Method, MemoryBytes: s.MemoryBytes, Fill: s.Fill, PredictedFPR: s.FPRBound, EvictedLive: s.Evicted}
}

// Populate is that of Timed.
func (f *Packets) Populate(ctx context.Context) error { return mem.Populate(ctx, f.filter.arena) }

// Close implements PacketFilter.
func (f *Packets) Close() error { return f.filter.Close() }

// Snapshot is that of the Filter.
func (f *Packets) Snapshot(w io.Writer, secret secret.Secret, label string) error {
	return f.filter.Snapshot(w, secret, label)
}

// RestorePackets is Restore for what Packets.Snapshot wrote.
func RestorePackets(r io.Reader, c snapshot.RestoreConfig) (*Packets, error) {
	s, err := Restore(r, c)
	if err != nil {
		return nil, err
	}
	return &Packets{s}, nil
}
