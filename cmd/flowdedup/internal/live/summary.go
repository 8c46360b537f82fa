// SPDX-License-Identifier: Apache-2.0

package live

import (
	"slices"
	"time"

	"github.com/flowdedup/flowdedup/capture/afpacket"
	"github.com/flowdedup/flowdedup/capture/traits"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/dedup"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/monitor"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/sink"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/version"
)

// summary is the result of a run; its JSON form is part of the command line's contract.
// Its seconds last from the start of the run, or of the first run of a resumed state, to
// the end of the capture. Its packets per second are the traffic over this time.
type summary struct {
	dedup.Summary
	Interfaces []inputSummary `json:"interfaces"`
	Diffs      traits.Counts  `json:"differences"` // of the duplicates sampled
	// Matrix has the points of these duplicates and of their originals.
	Matrix []traits.Cell `json:"matrix"`
	// Late counts packets that came too long after their window to be in any row.
	Late uint64 `json:"late"`
	// Unprocessed counts packets of interfaces that were captured when the run ended and that it
	// did not process, since it had as many as it wanted.
	Unprocessed uint64 `json:"unprocessed,omitempty"`
	// WithoutPorts counts packets in flows whose ports were not captured.
	WithoutPorts uint64 `json:"without_ports,omitempty"`
	// Forwards are the interfaces of --forward, Outputs the files, pipes and addresses of -w
	// and --duplicates. Both are empty lists without any.
	Forwards []sink.Forward `json:"forwards"`
	Outputs  []sink.Output  `json:"outputs"`
	// incomplete says that some of these lost kept packets.
	incomplete bool
	// Learned is the result of --learn, nil without it.
	Learned *monitor.Learned `json:"learned,omitempty"`
}

// inputSummary holds the kernel's counters of one interface.
type inputSummary struct {
	Name              string `json:"interface"`
	Received          uint64 `json:"received"` // by the kernel, including dropped ones
	Dropped           uint64 `json:"dropped"`  // because a ring was full, or as the next ones
	TooLong           uint64 `json:"dropped_too_long,omitempty"`
	ToHost            uint64 `json:"dropped_to_host,omitempty"`
	Freezes           uint64 `json:"freezes"`   // how often a ring became full
	Outages           uint64 `json:"outages"`   // how often the interface went down or away
	Truncated         uint64 `json:"truncated"` // longer than the snap length or a block
	Coalesced         uint64 `json:"merged"`    // several segments in one (GRO)
	ChecksumOffloaded uint64 `json:"no_checksum"`
	// CardDropped counts packets that were lost before the kernel had them, at least; CardCounters
	// has how much the counters of the interface and its driver grew.
	CardDropped      uint64            `json:"card_dropped"`
	CardCounters     map[string]uint64 `json:"card_counters,omitempty"`
	card             string            // the counters in words
	*monitor.Network                   // nil if no input is on a network
}

// interfaces adds up the rings of each interface.
func interfaces(rings []afpacket.Stats, networks []monitor.Network) []inputSummary {
	var all []inputSummary
	for i := range rings {
		s := &rings[i]
		if s.Ring == 0 {
			all = append(all, inputSummary{
				Name: s.Interface, Network: ofName(networks, s.Interface),
				CardDropped: s.Card.Lost(), CardCounters: s.Card.Named(), card: s.Card.String(),
			})
		}
		n := &all[len(all)-1]
		n.Received += s.Received
		n.Dropped += s.Dropped
		n.TooLong += s.TooLong
		n.ToHost += s.ToHost
		n.Freezes += s.Freezes
		n.Truncated += s.Truncated
		n.Coalesced += s.Coalesced
		n.ChecksumOffloaded += s.ChecksumOffloaded
		n.Outages = max(n.Outages, s.Outages)
	}
	return all
}

// ofName returns the counts of an input, nil if there are none.
func ofName(all []monitor.Network, name string) *monitor.Network {
	if i := slices.IndexFunc(all, func(n monitor.Network) bool { return n.Name == name }); i >= 0 {
		return &all[i]
	}
	return nil
}

// setUnprocessed counts the packets that were left when the capture was closed. resumed are the
// packets of the runs before.
func (s *summary) setUnprocessed(resumed uint64) {
	captured := resumed
	for i := range s.Interfaces {
		captured += s.Interfaces[i].Received - s.Interfaces[i].Dropped
	}
	processed := s.PacketsIn
	if s.Stats != nil {
		processed += s.Joined - s.Datagrams
	}
	s.Unprocessed = captured - min(captured, processed)
}

// networks returns the counts of inputs on networks.
func (r *runner) networks() []monitor.Network {
	if c, ok := r.capture.(networks); ok {
		return c.Networks()
	}
	return nil
}

func (r *runner) summary() summary {
	p := r.phase.Load()
	s := summary{
		Summary:    dedup.Summarize(p.cfg, p.detector, r.ticker.now.Sub(r.begin)),
		Interfaces: interfaces(r.capture.Stats(), r.networks()),
		Diffs:      r.diffs.Counts, Matrix: r.diffs.Matrix(),
		Learned: r.learner.state(),
	}
	s.Heading = version.HeadingOf("live")
	s.SetStripped(r.outputs)
	if r.whole != nil {
		stats := r.whole.Stats()
		s.Stats = &stats
	}
	s.Forwards, s.Outputs, s.incomplete = r.outputs.Forwarded(), r.outputs.List(), !r.outputs.Complete()
	if r.counter != nil {
		s.Late, s.WithoutPorts = r.counter.Late(), r.counter.WithoutPorts()
	}
	return s
}

// status returns the state of the run, with its summary. It must not be called while a batch is
// processed.
func (r *runner) status(now time.Time, sum *summary) monitor.Status {
	// A packet may be kept in the place of a longer one. Counters only grow.
	r.bytesOut = max(r.bytesOut, sum.BytesOut)
	s := monitor.Status{
		Started: r.begin, Now: now, Rings: r.capture.Stats(), Networks: r.networks(),
		PacketsIn: sum.PacketsIn, BytesIn: sum.BytesIn, Duplicates: sum.Duplicates, BytesOut: r.bytesOut,
		Fragments: sum.Stats, Unopened: sum.Unopened, Unjudged: sum.Unjudged, Protected: sum.Protected, Undecidable: sum.Undecidable, ChecksumOnly: sum.ChecksumOnly,
		WholePreferred: sum.WholePreferred, ChecksumPreferred: sum.ChecksumPreferred,
		DuplicatesByProtocol: sum.DuplicatesByProtocol, Diffs: sum.Diffs, Matrix: sum.Matrix, Conversations: sum.Conversations,
		Filter: monitor.Filter{
			Window: sum.Window, Identity: sum.Identity, Method: sum.Method, MemoryBytes: sum.MemoryBytes,
			Fill: sum.Fill, PredictedFPR: sum.PredictedFPR,
			EvictedLive: sum.EvictedLive, Unverified: sum.Unverified, SuggestedMemory: sum.SuggestedMemory,
		},
		Held: sum.Held, Outputs: sum.Outputs, Forwards: sum.Forwards, State: r.state.show(), Learned: sum.Learned, TLS: r.cfg.TLS,
	}
	if sum.HubDelay != nil {
		s.Hub = &monitor.Hub{
			Copies: *sum.HubCopies, Unchecked: *sum.Unchecked, Failing: r.cfg.Dedup.Hub.Failing(),
			DelayP50: sum.HubDelay.P50, DelayP99: sum.HubDelay.P99,
		}
	}
	if r.counter != nil {
		s.Distinct = r.currentCounts(now)
	}
	return s
}

// currentCounts returns the counts of the open window and of the past span.
func (r *runner) currentCounts(now time.Time) []monitor.Distinct {
	var all []monitor.Distinct
	start, end, counts := r.counter.Current()
	past := r.counter.Past(now.UnixNano())
	for i := range counts {
		d := monitor.Distinct{Of: counts[i].Key, Family: counts[i].Family, Window: counts[i].Distinct}
		if end > start {
			d.WindowStart = time.Unix(0, start).UTC()
		}
		if past != nil {
			d.Span, d.Sliding, d.Low, d.High = r.cfg.Distinct.Past, past[i].Distinct, past[i].Low, past[i].High
		}
		all = append(all, d)
	}
	return all
}
