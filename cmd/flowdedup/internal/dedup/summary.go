// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"math/bits"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/dedup"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/hold"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/capture/reassemble"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/sink"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/version"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/hubclient"
)

// Summary is the result of a run; its JSON form is part of the command line's contract.
type Summary struct {
	version.Heading
	PacketsIn  uint64 `json:"packets_in"`
	PacketsOut uint64 `json:"packets_out"`
	Duplicates uint64 `json:"duplicates"`
	Filtered   uint64 `json:"filtered"`  // packets that were not wanted, and are counted nowhere else
	BytesIn    uint64 `json:"bytes_in"`  // captured bytes
	BytesOut   uint64 `json:"bytes_out"` // captured bytes of the packets kept
	NonIP      uint64 `json:"non_ip"`
	// Unopened counts frames with an unknown or encrypted payload, by ethertype, link type and the
	// like, and tunnels that were not opened: see headers.Unopened. It is nil without any.
	Unopened  map[string]uint64 `json:"unopened,omitempty"`
	Truncated uint64            `json:"truncated"` // packets captured in part
	// OutOfOrder counts packets that are older than their predecessor.
	OutOfOrder  uint64 `json:"out_of_order"`
	NoTimestamp uint64 `json:"no_timestamp"`
	// EqualTimes says that all packets with a time have the same one.
	EqualTimes bool `json:"equal_times,omitempty"`
	Damaged    bool `json:"damaged"`
	// FirstTimestamp and LastTimestamp belong to the first and the last packet of the stream
	// with a time.
	FirstTimestamp       *string           `json:"first_timestamp"`
	LastTimestamp        *string           `json:"last_timestamp"`
	DuplicatesByProtocol map[string]uint64 `json:"duplicates_by_protocol"`
	Window               string            `json:"window"`
	Within               []string          `json:"within,omitempty"` // the points that copies had in common, as --within names them
	Identity             string            `json:"identity"`
	Digest               string            `json:"digest"`
	Method               string            `json:"method"`
	MemoryBytes          int               `json:"memory_bytes"`
	PredictedFPR         float64           `json:"predicted_fpr"`
	// EdgeError bounds by which share of it the window may be too long.
	EdgeError   float64 `json:"edge_error,omitempty"`
	EvictedLive uint64  `json:"evicted_live"`
	// Unverified counts packets that the filter took for duplicates, and the table of
	// --verify-copies did not have: they were kept. Nil without the flag.
	Unverified *uint64 `json:"unverified,omitempty"`
	// LateForgotten counts kept packets whose time is older than the filter remembers.
	LateForgotten    uint64        `json:"late_forgotten"`
	Took             time.Duration `json:"elapsed_ns"`
	PacketsPerSecond float64       `json:"packets_per_second"`
	// Unjudged counts packets that --only left out: they were kept. Protected counts
	// duplicates that --protect kept. Each is nil without its flag.
	Unjudged  *uint64 `json:"unjudged,omitempty"`
	Protected *uint64 `json:"protected,omitempty"`
	// Undecidable counts packets that stay since they were truncated too short to be distinguished
	// from others. ChecksumOnly counts duplicates that are known only by a checksum of 16 bits: see
	// identity.Doubt. ChecksumOnlyError is how often two different packets of equal flow and length
	// within the window are taken for duplicates then; 0 if ChecksumOnly is 0.
	Undecidable       uint64  `json:"undecidable"`
	ChecksumOnly      uint64  `json:"checksum_only"`
	ChecksumOnlyError float64 `json:"checksum_only_error,omitempty"`
	// SplitConversations counts, among SampledConversations, those whose kept packets came
	// from more than one VLAN, tunnel or interface: see traits.SplitCounts.
	SplitConversations   uint64 `json:"split_conversations"`
	SampledConversations uint64 `json:"sampled_conversations"`
	// Stripped counts written packets that lost headers, Unstripped counts written packets
	// that still have a header that --strip was to remove. Both are nil without it.
	Stripped   *uint64 `json:"stripped,omitempty"`
	Unstripped *uint64 `json:"unstripped,omitempty"`
	// Stats counts the fragments of tunnels: nil where tunnels are not opened. A datagram that was
	// put together is one packet in all counts.
	*reassemble.Stats
	// Sliced counts written packets that lost bytes, Unsliced counts written packets that
	// could not be cut. Both are nil without --slice.
	Sliced   *uint64 `json:"sliced,omitempty"`
	Unsliced *uint64 `json:"unsliced,omitempty"`
	// HeldBytes is the most bytes that waited for better copies at a time. HeldEarly counts
	// packets whose wait ended early for want of memory. Both are nil if no packet waits.
	HeldBytes *int    `json:"held_bytes,omitempty"`
	HeldEarly *uint64 `json:"held_early,omitempty"`
	// WholePreferred counts packets that were kept instead of an equal truncated packet,
	// ChecksumPreferred packets kept instead of an equal packet with a wrong checksum. Both are
	// nil where neither matters.
	WholePreferred    *uint64 `json:"whole_preferred,omitempty"`
	ChecksumPreferred *uint64 `json:"checksum_preferred,omitempty"`
	// HubCopies counts the duplicates that the hub found, which are among Duplicates: packets
	// that a different site has sent before. Unchecked counts packets that stayed since the hub
	// did not answer. HubDelay says how long its answers took. All are nil without a hub.
	HubCopies *uint64   `json:"hub_duplicates,omitempty"`
	Unchecked *uint64   `json:"unchecked,omitempty"`
	HubDelay  *HubDelay `json:"hub_delay_ns,omitempty"`
	// LatePackets counts packets that arrived too late to be merged in order; nil if all
	// inputs are waited for.
	LatePackets *uint64 `json:"late_packets,omitempty"`
	// SortedLate counts packets that came too late to be sorted; nil without --sort.
	SortedLate *uint64 `json:"sorted_late,omitempty"`
	// Inputs are the opened inputs, in the order of the command line; nil for one input.
	Inputs []inputCount `json:"inputs,omitempty"`
	// Files counts the files of rotating outputs; nil without any.
	Files *uint64 `json:"files,omitempty"`

	// SuggestedMemory is the memory, in bytes, that would have kept EvictedLive near 0.
	SuggestedMemory int `json:"-"`
	// Late details LateForgotten.
	Late engine.LateStats `json:"-"`
	// SharedPoints counts packets whose capture point shares its number with others,
	// because there are too many points.
	SharedPoints uint64 `json:"-"`
	// OnePoint says that --across had no other capture point to compare.
	OnePoint bool `json:"-"`
	// Captured describes the datagrams that were cut.
	Captured identity.Captured `json:"-"`
	// SkippedBlocks counts pcapng blocks that could not be converted for a file of merged
	// inputs, or of marked packets.
	SkippedBlocks uint64 `json:"-"`
	// InTunnels is the share of packets in tunnels that identity l3 does not open.
	// Tunnels are their kinds, the most frequent first.
	InTunnels float64          `json:"-"`
	Tunnels   []headers.Tunnel `json:"-"`
	// Conversations details SplitConversations.
	Conversations show.Conversations `json:"-"`
	// Marked says that the output has the duplicates too, with comments.
	Marked bool `json:"-"`
	// Held counts packets that wait for better copies; nil if no packet does.
	Held *hold.Stats `json:"-"`
	// Timeline counts packets and copies over time, if Config.Timeline asks for it.
	Timeline *Timeline `json:"-"`
	// Fill is the share of the filter's memory in use at the end: see engine.PacketStats.
	Fill float64 `json:"-"`
	// Unsorted details SortedLate.
	Unsorted *pcapfile.SortStats `json:"-"`
	// Unmatched are the conditions that no packet matched, with their flags.
	Unmatched []string `json:"-"`
}

// SetStripped adds the counts of stripped and sliced packets.
func (s *Summary) SetStripped(outputs *sink.Set) {
	if n := outputs.Stripped(); n != nil {
		s.Stripped, s.Unstripped = &n.Stripped, &n.Left
	}
	if n := outputs.Sliced(); n != nil {
		s.Sliced, s.Unsliced = &n.Sliced, &n.Whole
	}
}

// Summarize returns the results of d so far, which cfg has made. elapsed is the duration of the
// run. It must not be called while a batch is judged.
func Summarize(cfg *Config, d *dedup.Detector, elapsed time.Duration) Summary {
	stats := d.Stats()
	s := summaryOf(&stats.Counts, elapsed)
	s.Heading = version.HeadingOf("dedup")
	s.Window, s.Within = cfg.Window.String(), cfg.Within
	s.Identity, s.Digest, s.Marked = cfg.Identity.Kind.String(), cfg.Digest, cfg.Choice.Mark
	s.InTunnels, s.Tunnels = stats.InTunnels, stats.Tunnels
	s.Method, s.MemoryBytes = stats.Method, stats.MemoryBytes
	s.PredictedFPR, s.EdgeError, s.Fill = show.Rounded(stats.PredictedFPR), stats.EdgeError, stats.Fill
	if cfg.Verify > 0 {
		s.Unverified = &stats.Unverified
	}
	s.EvictedLive, s.SuggestedMemory = stats.EvictedLive, stats.SuggestedMemory
	s.LateForgotten, s.Late = stats.Late.Elements, stats.Late
	s.SharedPoints, s.OnePoint, s.Captured = stats.SharedPoints, stats.OnePoint, stats.Captured
	s.Conversations = cfg.conversations(stats.Conversations)
	s.SplitConversations, s.SampledConversations = s.Conversations.Split, s.Conversations.Sampled
	cfg.conditions.summarize(&s, stats.Unjudged, stats.Protected)
	if s.Held = stats.Held; s.Held != nil {
		s.HeldBytes, s.HeldEarly = &s.Held.HeldBytes, &s.Held.Early
	}
	if cfg.Choice.Intact || stats.Whole+stats.Checksum > 0 {
		s.WholePreferred, s.ChecksumPreferred = &stats.Whole, &stats.Checksum
	}
	if cfg.Hub != nil {
		s.addHub(&stats.Hub, cfg.Hub.Stats())
	}
	return s
}

// summaryOf returns the summary of counts.
func summaryOf(c *dedup.Counts, elapsed time.Duration) Summary {
	s := Summary{
		PacketsIn: c.Packets, PacketsOut: c.Packets - c.Copies, Duplicates: c.Copies, BytesIn: c.Bytes, BytesOut: c.Bytes - c.CopyBytes,
		NonIP: c.NonIP, Unopened: c.Unopened.ByName(), Truncated: c.Truncated, OutOfOrder: c.OutOfOrder, NoTimestamp: c.Untimed,
		EqualTimes: c.EqualTimes(), FirstTimestamp: show.Timestamp(c.First, time.UTC), LastTimestamp: show.Timestamp(c.Last, time.UTC),
		DuplicatesByProtocol: map[string]uint64{}, Undecidable: c.Undecidable, ChecksumOnly: c.ChecksumOnly, Took: elapsed,
	}
	for p, n := range c.CopiesByProtocol {
		if n > 0 {
			s.DuplicatesByProtocol[headers.Protocol(p).String()] = n
		}
	}
	if s.ChecksumOnly > 0 {
		s.ChecksumOnlyError = identity.ChecksumError
	}
	if s.Took > 0 {
		s.PacketsPerSecond = float64(s.PacketsIn) / s.Took.Seconds()
	}
	return s
}

// addHub adds the hub's verdicts.
func (s *Summary) addHub(n *dedup.HubCounts, stats hubclient.ClientStats) {
	s.HubCopies, s.Unchecked = &n.Copies, &n.Unchecked
	s.HubDelay = &HubDelay{P50: stats.DelayP50, P99: stats.DelayP99}
	s.Duplicates += n.Copies
	s.PacketsOut -= n.Copies
	s.BytesOut -= n.Bytes
	for p, copies := range n.ByProtocol {
		if copies > 0 {
			s.DuplicatesByProtocol[headers.Protocol(p).String()] += copies
		}
	}
}

// HubDelay is how long the answers of a hub took at most, of half of them and of 99 %.
type HubDelay struct {
	P50 time.Duration `json:"p50"`
	P99 time.Duration `json:"p99"`
}

// inputCount counts the packets of one input. It does not say which packets no other
// input has: the filter remembers that a packet was kept, but not where its copies came
// from, so constant memory allows this for copies only.
type inputCount struct {
	Input      string `json:"input"` // the name as the user gave it; "stdin" for "-"
	Packets    uint64 `json:"packets_in"`
	Duplicates uint64 `json:"duplicates"`
}

// byInput counts packets by input.
type byInput []inputCount

// newByInput returns counts for inputs of these names, nil for fewer than two.
func newByInput(names []string) byInput {
	if len(names) < 2 {
		return nil
	}
	counts := make(byInput, len(names))
	for i, name := range names {
		counts[i].Input = name
	}
	return counts
}

// add adds the packets of a batch. drop marks the duplicates.
func (c byInput) add(b *capture.Batch, drop []uint64) {
	if c == nil {
		return
	}
	for from := 0; from < len(b.Frames); {
		at := b.Frames[from].Interface
		to := from + 1
		for to < len(b.Frames) && b.Frames[to].Interface == at {
			to++
		}
		c[inputOf(b, from)].Packets += uint64(to - from)
		from = to
	}
	c.addCopies(b, drop)
}

// addCopies adds the duplicates of a batch.
func (c byInput) addCopies(b *capture.Batch, drop []uint64) {
	if c == nil {
		return
	}
	for w, word := range drop {
		for ; word != 0; word &= word - 1 {
			c[inputOf(b, w*64+bits.TrailingZeros64(word))].Duplicates++
		}
	}
}

// plus returns c with the duplicates of more, which may be nil.
func (c byInput) plus(more byInput) byInput {
	for i := range more {
		c[i].Duplicates += more[i].Duplicates
	}
	return c
}

// swap corrects the counts when packet in is kept in the place of packet out.
func (c byInput) swap(b *capture.Batch, out, in *capture.Frame) {
	if c != nil {
		c[inputOfFrame(b, out)].Duplicates++
		c[inputOfFrame(b, in)].Duplicates--
	}
}

// stays corrects the counts when a packet that was counted as a copy stays.
func (c byInput) stays(b *capture.Batch, f *capture.Frame) {
	if c != nil {
		c[inputOfFrame(b, f)].Duplicates--
	}
}

// inputOf returns the number of the input of frame i.
func inputOf(b *capture.Batch, i int) int { return inputOfFrame(b, &b.Frames[i]) }

// inputOfFrame returns the number of the input of a frame, which has an interface of b.
func inputOfFrame(b *capture.Batch, f *capture.Frame) int {
	return b.Sections[b.Interfaces[f.Interface].Section].Input
}
