// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/dedup"
	"github.com/flowdedup/flowdedup/capture/flow"
	"github.com/flowdedup/flowdedup/capture/mark"
	"github.com/flowdedup/flowdedup/capture/split"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/method"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/secret"
	"github.com/flowdedup/flowdedup/engine/snapshot"
	"github.com/flowdedup/flowdedup/engine/stream"
	"github.com/flowdedup/flowdedup/engine/window"
)

// Detector finds the copies in a stream, and counts what happens. The batches of a run
// share it.
type Detector struct {
	cfg     *Config
	copies  *dedup.Detector
	stats   *runStats
	tunnels flow.TunnelSample
	marker  *mark.Marker // nil if copies are not marked
	hold    *dedup.Hold  // nil if no packet waits
	hub     *hub         // nil without
	// swapped, if not nil, is told that a packet is kept in the place of another.
	swapped       func(b *capture.Batch, out, in *capture.Frame)
	conversations *split.Counter
}

// New makes the filter that cfg asks for. inputBytes helps to choose its size; 0 is
// unknown. New ignores the inputs and outputs of cfg, which must not change afterwards. It
// takes conditions that Compile has made.
// Errors are those of the engine.
func New(cfg *Config, inputBytes int64) (*Detector, error) {
	filter, err := cfg.filter(inputBytes)
	if err != nil {
		return nil, err
	}
	return newDetector(cfg, filter, &SavedStats{})
}

// newDetector makes a detector around a filter that may remember packets of the points of
// an earlier run.
func newDetector(cfg *Config, filter engine.PacketFilter, saved *SavedStats) (*Detector, error) {
	cfg.prepareFilter(filter)
	if cfg.conditions == nil {
		cfg.conditions = newConditions(cfg, nil)
	}
	copies := dedup.NewWith(dedup.Parts{
		Identity: cfg.Identity, Digester: cfg.digester, Filter: filter, Across: cfg.Across, Points: flow.NewCapturePoints(saved.Points),
		Within: dedup.Within(cfg.pointFields(), cfg.Identity.Kind, cfg.Secret), Only: cfg.only(), Protect: chooser(cfg.conditions.protect),
	})
	d := &Detector{cfg: cfg, copies: copies, stats: newRunStats(), conversations: newConversations(cfg, saved)}
	if cfg.Choice.Mark {
		d.marker = mark.New(mark.Config{Decoder: d.NewDecoder(), Inputs: cfg.opened})
	}
	var err error
	if d.hold, err = d.newHold(); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	if cfg.Hub != nil {
		d.hub = newHub(cfg.Hub, saved, d.marker)
	}
	return d, nil
}

// only returns what chooses the packets that are judged, nil for all.
func (c *Config) only() dedup.Chooser {
	if c.Pass {
		return func(chosen []uint64, _ *capture.Batch, from, to int) { clear(chosen[:(to-from+63)/64]) }
	}
	return chooser(c.conditions.only)
}

// Continue takes over the counts of a detector that judged the packets before. They must
// not be counted by that one any more.
func (d *Detector) Continue(before *Detector) {
	k, o := d.stats, before.stats
	k.batches, k.Duplicates, k.removed, k.duplicates = o.batches, o.Duplicates, o.removed, o.duplicates
	k.unjudged, k.protected = o.unjudged, o.protected
	k.Undecidable, k.ChecksumOnly = o.Undecidable, o.ChecksumOnly
	k.whole, k.checksum = before.preferred()
}

// prepareFilter sets the filter up for the kind of run.
func (c *Config) prepareFilter(filter engine.PacketFilter) {
	if f, ok := filter.(interface{ GrowWhenReady() }); ok && c.Live {
		f.GrowWhenReady()
	}
}

// Populate makes the system allocate the filter's memory now, if that memory has a bound.
// Otherwise the first packets would wait for it. It returns ctx's error if ctx ends
// first.
func (d *Detector) Populate(ctx context.Context) error {
	if f, ok := d.copies.Filter().(interface{ Populate(context.Context) error }); ok {
		return f.Populate(ctx)
	}
	return nil
}

// NewPackets returns what one batch at a time needs.
func (d *Detector) NewPackets() *Packets {
	p := &Packets{detector: d, packets: d.copies.NewBatchDetector()}
	if d.hold != nil {
		p.held = d.hold.NewBatch()
	}
	if d.hub != nil {
		p.asked = d.hub.NewBatch()
	}
	return p
}

// NewDecoder returns a decoder of the headers that identities begin with.
func (d *Detector) NewDecoder() *flow.Decoder {
	return flow.NewDecoder(flow.DecoderConfig{Inner: d.cfg.Identity.Kind == flow.Inner})
}

// Summary returns the results so far. elapsed is the duration of the run. It must not be
// called concurrently with Verdicts.
func (d *Detector) Summary(elapsed time.Duration) Summary {
	stats := d.copies.Stats()
	s := d.stats.close(elapsed)
	d.hub.summarize(&s)
	s.Window, s.Within = d.cfg.Window.String(), d.cfg.Within
	s.Identity = d.cfg.Identity.Kind.String()
	s.InTunnels, s.Tunnels = d.tunnels.Share()
	s.Digest = d.cfg.Digest
	s.Marked = d.cfg.Choice.Mark
	s.Method = stats.Method
	s.MemoryBytes = stats.MemoryBytes
	s.PredictedFPR, s.EdgeError, s.Fill = stats.PredictedFPR, stats.EdgeError, stats.Fill
	s.EvictedLive = stats.EvictedLive
	s.SuggestedMemory = stats.SuggestedMemory
	s.LateForgotten, s.Late = stats.Late.Elements, stats.Late
	s.SharedPoints = d.copies.Points().Shared()
	s.Conversations = d.Conversations()
	s.SplitConversations, s.SampledConversations = s.Conversations.Split, s.Conversations.Sampled
	d.cfg.conditions.summarize(&s, d.stats.unjudged, d.stats.protected)
	if d.hold != nil {
		held := d.hold.Stats()
		s.Held, s.HeldBytes, s.HeldEarly = &held, &held.HeldBytes, &held.Early
	}
	if whole, checksum := d.preferred(); d.cfg.Choice.Intact || whole+checksum > 0 {
		s.WholePreferred, s.ChecksumPreferred = &whole, &checksum
	}
	return s
}

// Close frees the filter's memory. Summary still works.
func (d *Detector) Close() error {
	if d.hold == nil {
		return d.copies.Close()
	}
	return errors.Join(d.hold.Close(), d.copies.Close())
}

// Fill returns the share of the filter's memory that is in use: see
// engine.PacketStats.
func (d *Detector) Fill() float64 { return d.copies.Stats().Fill }

// Packets are the packets of one batch on their way to verdicts (see
// capture/dedup.BatchDetector), with their counts.
type Packets struct {
	detector *Detector
	packets  *dedup.BatchDetector
	held     *dedup.HoldBatch   // nil if no packet waits
	asked    *dedup.RemoteBatch // nil without a hub
	drop     []uint64
	err      error    // why conditions cannot be matched
	ranks    []uint8  // empty without preferences
	matched  []uint64 // for ranks
}

// Admit prepares for the conditions of the run. It must be called for each batch before
// Read, in the order of the stream, as that of pipeline.Admitter.
func (p *Packets) Admit(ctx context.Context, b *capture.Batch) {
	p.err = p.detector.cfg.conditions.admit(ctx, b)
}

// Follow lets p take the batch that before was prepared for, after Admit.
func (p *Packets) Follow(before *Packets) { p.err = before.err }

// Reset prepares for a batch of n packets.
func (p *Packets) Reset(n int) {
	p.packets.Reset(n)
	if p.held != nil {
		p.held.Reset(n)
	}
	if len(p.detector.cfg.conditions.prefer) > 0 {
		p.ranks = slices.Grow(p.ranks[:0], n)[:n]
		p.matched = slices.Grow(p.matched[:0], (n+63)/64)[:(n+63)/64]
	}
}

// Read decodes and digests the packets from to to-1 of b, and returns the digests. All
// packets must be read, in order, and from is a multiple of 64.
func (p *Packets) Read(b *capture.Batch, from, to int) []digest.Digest {
	digests := p.packets.Read(b, from, to)
	if len(p.ranks) > 0 {
		p.detector.cfg.conditions.rank(p.ranks[from:to], p.matched, b, from)
	}
	if p.held != nil {
		p.held.Read(b, p.packets, from, to)
	}
	return digests
}

// Times returns the usable times of the packets that were read.
func (p *Packets) Times() []int64 { return p.packets.Times() }

// Verdicts returns a bitmap of the packets that are copies, valid until the next Reset.
// Batches must come one after another, in the order of their stream. The error is about
// conditions: see input.Matcher.Admit.
func (p *Packets) Verdicts(b *capture.Batch) (drop []uint64, err error) {
	if p.err != nil {
		return nil, p.err
	}
	d := p.detector
	p.drop = p.packets.Judge(b)
	d.stats.batch(p.packets.Tally(), b.Frames, p.packets.Protocols(), p.drop)
	d.stats.spare(p.packets.Spared())
	d.stats.doubt(p.packets.Doubts())
	if d.cfg.Identity.Kind == flow.L3 {
		d.tunnels.Add(b)
	}
	return p.drop, nil
}

// Choose decides which of equal packets are kept, once all else is done with the verdicts.
// It asks the hub about them.
// Batches must come in the order of their stream.
func (p *Packets) Choose(b *capture.Batch) {
	if p.held != nil {
		p.held.Apply(b, p.packets, p.ranks)
	}
	if p.asked != nil {
		p.asked.Apply(b, p.packets)
	}
}

// ErrNoSnapshot is returned for a filter that cannot be saved.
var ErrNoSnapshot = errors.New("this method cannot be saved")

// SavedStats are the counts of a run, for the run that resumes it.
type SavedStats struct {
	Packets, Bytes                      uint64
	NonIP, Snapped, OutOfOrder, Untimed uint64
	First, Last                         int64
	Duplicates, Removed                 uint64 // packets and their bytes
	ByProtocol                          []uint64
	Unjudged, Protected                 uint64
	Unopened                            []flow.UnopenedCount `json:",omitempty"`
	Undecidable, ChecksumOnly           uint64
	Whole, Checksum                     uint64 // WholePreferred and ChecksumPreferred
	// Points are the capture points of packets, by the numbers that the filter stores.
	Points        []flow.CapturePoint
	Conversations split.Counts
	Hub           HubCounts `json:",omitzero"`
}

// label identifies the elements of the filter in its snapshot.
func (c *Config) label() string {
	label := "packets, " + c.Digest
	if len(c.Within) > 0 {
		label += ", within " + strings.Join(c.Within, ",")
	}
	return label
}

// Save writes the filter for Resume, and returns the counts. It must not be called
// concurrently with Verdicts. Errors are those of w, or ErrNoSnapshot.
func (d *Detector) Save(w io.Writer) (SavedStats, error) {
	f, ok := d.copies.Filter().(interface {
		Snapshot(w io.Writer, secret secret.Secret, label string) error
	})
	if !ok {
		return SavedStats{}, ErrNoSnapshot
	}
	t := &d.stats.batches
	whole, checksum := d.preferred()
	return SavedStats{
		Packets: t.Packets, Bytes: t.Bytes, NonIP: t.NonIP, Snapped: t.Snapped, OutOfOrder: t.OutOfOrder, Untimed: t.Untimed,
		First: t.First, Last: t.Last, Duplicates: d.stats.Duplicates, Removed: d.stats.removed,
		ByProtocol: slices.Clone(d.stats.duplicates[:]), Points: d.copies.Points().List(),
		Unopened: t.Unopened.List(),
		Unjudged: d.stats.unjudged, Protected: d.stats.protected, Undecidable: d.stats.Undecidable, ChecksumOnly: d.stats.ChecksumOnly,
		Whole: whole, Checksum: checksum, Conversations: d.conversations.Counts(), Hub: d.hub.saved(),
	}, f.Snapshot(w, d.cfg.Secret, d.cfg.label())
}

// Resume continues where Detector.Save left off. It reads exactly what Save wrote. Errors
// are those of r and of the engine.
func Resume(cfg *Config, r io.Reader, saved *SavedStats) (*Detector, error) {
	filter, err := cfg.restore(r)
	if err != nil {
		return nil, err
	}
	if len(saved.ByProtocol) != int(flow.ProtocolCount) {
		return nil, errors.Join(fmt.Errorf("%w: %d protocols", snapshot.ErrInvalid, len(saved.ByProtocol)), filter.Close())
	}
	d, err := newDetector(cfg, filter, saved)
	if err != nil {
		return nil, err
	}
	b := d.stats
	b.batches = dedup.Tally{
		Packets: saved.Packets, Bytes: saved.Bytes, NonIP: saved.NonIP, Snapped: saved.Snapped,
		OutOfOrder: saved.OutOfOrder, Untimed: saved.Untimed, First: saved.First, Last: saved.Last,
	}
	for _, one := range saved.Unopened {
		b.batches.Unopened.Count(one.What, one.Frames)
	}
	b.Duplicates, b.removed = saved.Duplicates, saved.Removed
	b.unjudged, b.protected = saved.Unjudged, saved.Protected
	b.Undecidable, b.ChecksumOnly = saved.Undecidable, saved.ChecksumOnly
	b.whole, b.checksum = saved.Whole, saved.Checksum
	copy(b.duplicates[:], saved.ByProtocol)
	return d, nil
}

// restore reads the filter that cfg asks for.
func (c *Config) restore(r io.Reader) (engine.PacketFilter, error) {
	if err := c.checkMemory(); err != nil {
		return nil, err
	}
	restore := snapshot.RestoreConfig{Secret: c.Secret, Label: c.label(), Memory: math.MaxInt}
	switch {
	case c.cells() == method.Coarse:
		return packetFilter(window.RestoreCoarse(r, restore))
	case c.cells() == method.Fine:
		return packetFilter(window.RestoreFine(r, restore))
	case c.Method == method.Timers:
		return packetFilter(window.RestoreTimers(r, restore))
	case c.Method == method.Partitioned:
		return packetFilter(window.RestorePartitioned(r, restore))
	case stream.IsMethod(c.Method):
		return packetFilter(stream.RestorePackets(r, restore))
	}
	return packetFilter(window.RestoreTimed(r, restore))
}

// packetFilter prevents a nil pointer from becoming a non-nil interface.
func packetFilter[F engine.PacketFilter](f F, err error) (engine.PacketFilter, error) {
	if err != nil {
		return nil, err
	}
	return f, nil
}
