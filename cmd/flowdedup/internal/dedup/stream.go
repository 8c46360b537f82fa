package dedup

import (
	"slices"

	"github.com/flowdedup/flowdedup/asm"
	"github.com/flowdedup/flowdedup/engine"
)

// streamFilter makes a filter of unbounded streams one of packets: it has no window,
// so times and places of packets have no part in it.
type streamFilter struct{ stream *engine.Stream }

var _ engine.PacketFilter = streamFilter{}

// streamFilter keeps the bound that other methods keep, unless told otherwise, with
// rows; filters of bits cannot, and keep their own.
func (c *Config) streamFilter(memory int) (engine.PacketFilter, error) {
	fpr := c.FPR
	if rows := []string{"lru", "qht", "qqhtd"}; fpr == 0 && slices.Contains(rows, c.Method) {
		fpr = engine.DefaultFPR
	}
	stream, err := engine.NewStream(engine.StreamConfig{Method: c.Method, Memory: memory, FPR: fpr})
	if err != nil {
		return nil, err
	}
	return streamFilter{stream}, nil
}

func (f streamFilter) TestAndSet(seen []uint64, d []asm.Digest, _ []int64, _ []uint32) {
	f.stream.TestAndSet(seen, d)
}

// Stats has no suggestion of memory: these filters forget whatever they are given.
func (f streamFilter) Stats() engine.PacketStats {
	s := f.stream.Stats()
	return engine.PacketStats{Method: s.Method, MemoryBytes: s.MemoryBytes, PredictedFPR: s.FPRBound, EvictedLive: s.Evicted}
}

func (f streamFilter) Close() error { return f.stream.Close() }
