package engine

import (
	"context"
	"github.com/flowdedup/flowdedup/asm/digest"
	"io"
)

// StreamPackets is a Stream as a packet filter without a window: times and points of
// packets have no part in it.
type StreamPackets struct{ stream *Stream }

var _ PacketFilter = (*StreamPackets)(nil)

// NewStreamPackets makes the filter. With methods that keep a chosen false positive
// rate in any memory, those of rows, an FPR of 0 stands for DefaultFPR as it does with
// other packet filters, unless a Shape is given; it stands for what StreamConfig says
// with the others. Errors are those of NewStream.
func NewStreamPackets(c StreamConfig) (*StreamPackets, error) {
	if i := streamMethod(c.Method); c.FPR == 0 && c.Shape == "" && i >= 0 && streamMethods[i].rows {
		c.FPR = DefaultFPR
	}
	s, err := NewStream(c)
	if err != nil {
		return nil, err
	}
	return &StreamPackets{s}, nil
}

// TestAndSet implements PacketFilter.
func (f *StreamPackets) TestAndSet(seen []uint64, d []digest.Digest, _ []int64, _ []uint32) {
	f.stream.TestAndSet(seen, d)
}

// Stats implements PacketFilter. It suggests no memory: these filters forget whatever
// they are given.
func (f *StreamPackets) Stats() PacketStats {
	s := f.stream.Stats()
	return PacketStats{Method: s.Method, MemoryBytes: s.MemoryBytes, Fill: s.Fill, PredictedFPR: s.FPRBound, EvictedLive: s.Evicted}
}

// Populate is that of Timed.
func (f *StreamPackets) Populate(ctx context.Context) error { return populate(ctx, f.stream.arena) }

// Close implements PacketFilter.
func (f *StreamPackets) Close() error { return f.stream.Close() }

// Snapshot is that of the Stream.
func (f *StreamPackets) Snapshot(w io.Writer, secret Secret, label string) error {
	return f.stream.Snapshot(w, secret, label)
}

// RestoreStreamPackets is RestoreStream for what StreamPackets.Snapshot wrote.
func RestoreStreamPackets(r io.Reader, c RestoreConfig) (*StreamPackets, error) {
	s, err := RestoreStream(r, c)
	if err != nil {
		return nil, err
	}
	return &StreamPackets{s}, nil
}
