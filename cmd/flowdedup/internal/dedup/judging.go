package dedup

import (
	"context"
	"time"

	"github.com/flowdedup/flowdedup/capture/flow"
	"github.com/flowdedup/flowdedup/engine"
)

// Judging tells the copies of a stream from other packets, and keeps the books: what
// the batches of a run have in common.
type Judging struct {
	cfg    *Config
	where  *flow.Points
	filter engine.PacketFilter
	books  *books

	tunnels flow.TunnelSample
}

// NewJudging makes the filter that cfg asks for, and for which inputBytes counts if
// that is not 0. Of cfg, which must not change any more, it needs nothing that is about
// inputs and outputs. Errors are those of the engine.
func NewJudging(cfg *Config, inputBytes int64) (*Judging, error) {
	filter, err := cfg.filter(inputBytes)
	if err != nil {
		return nil, err
	}
	cfg.prepareFilter(filter)
	return &Judging{cfg: cfg, where: flow.NewPoints(nil), filter: filter, books: newBooks()}, nil
}

// prepareFilter tells a filter what kind of run it is in.
func (c *Config) prepareFilter(filter engine.PacketFilter) {
	if f, ok := filter.(interface{ GrowWhenReady() }); ok && c.Live {
		f.GrowWhenReady()
	}
}

// Populate has the system hand over the filter's memory now, where that has a bound. Else it
// does so as packets come, and none may be able to wait for as long. It returns the error of
// ctx, if that ends before.
func (j *Judging) Populate(ctx context.Context) error {
	if f, ok := j.filter.(interface{ Populate(context.Context) error }); ok {
		return f.Populate(ctx)
	}
	return nil
}

// NewPackets makes what one batch at a time is judged with.
func (j *Judging) NewPackets() *Packets {
	return &Packets{judging: j, identity: flow.NewIdentity(j.cfg.Identity), digester: j.cfg.digester()}
}

// NewDecoder returns a decoder of the headers that identities begin with.
func (j *Judging) NewDecoder() *flow.Decoder {
	return flow.NewDecoder(flow.Config{Inner: j.cfg.Identity.Kind == flow.Inner})
}

// Summary returns what was judged so far, in the given time. It is not for the moment
// when a batch is judged.
func (j *Judging) Summary(elapsed time.Duration) Summary {
	stats := j.filter.Stats()
	s := j.books.close(elapsed)
	s.Window = j.cfg.Window.String()
	s.Identity = j.cfg.Identity.Kind.String()
	s.InTunnels, s.Tunnels = j.tunnels.Share()
	s.Digest = j.cfg.Digest
	s.Method = stats.Method
	s.MemoryBytes = stats.MemoryBytes
	s.PredictedFPR = stats.PredictedFPR
	s.EvictedLive = stats.EvictedLive
	s.SuggestedMemory = stats.SuggestedMemory
	s.LateForgotten, s.Late = stats.Late.Elements, stats.Late
	s.SharedPoints = j.where.Shared()
	return s
}

// Close gives the filter's memory back; Summary still works.
func (j *Judging) Close() error { return j.filter.Close() }

// Fill returns the share of the filter's memory that is in use: see
// engine.PacketStats.
func (j *Judging) Fill() float64 { return j.filter.Stats().Fill }
