// SPDX-License-Identifier: Apache-2.0

package live

import (
	"slices"
	"time"

	"github.com/flowdedup/flowdedup/capture/afpacket"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/dedup"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/monitor"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/version"
)

// interfaces adds up the rings of each interface.
func interfaces(rings []afpacket.Stats, networks []monitor.Network) []monitor.Interface {
	var all []monitor.Interface
	for i := range rings {
		s := &rings[i]
		if s.Ring == 0 {
			all = append(all, monitor.Interface{
				Name: s.Interface, Network: ofName(networks, s.Interface),
				CardDropped: s.Card.Lost(), CardCounters: s.Card.Named(), Card: s.Card.String(),
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

// unprocessed returns how many packets were left when the capture was closed. resumed are the
// packets of the runs before.
func unprocessed(s *monitor.Summary, resumed uint64) uint64 {
	captured := resumed
	for i := range s.Interfaces {
		captured += s.Interfaces[i].Received - s.Interfaces[i].Dropped
	}
	processed := s.PacketsIn
	if s.Stats != nil {
		processed += s.Joined - s.Datagrams
	}
	return captured - min(captured, processed)
}

// networks returns the counts of inputs on networks.
func (r *runner) networks() []monitor.Network {
	if c, ok := r.capture.(networks); ok {
		return c.Networks()
	}
	return nil
}

func (r *runner) summary() monitor.Summary {
	p := r.phase.Load()
	s := monitor.Summary{
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
	s.Forwards, s.Outputs, s.Incomplete = r.outputs.Forwarded(), r.outputs.List(), !r.outputs.Complete()
	if r.counter != nil {
		s.Late, s.WithoutPorts = r.counter.Late(), r.counter.WithoutPorts()
	}
	return s
}

// status returns the state of the run, with its summary. It must not be called while a batch is
// processed.
func (r *runner) status(now time.Time, sum monitor.Summary) monitor.Status {
	// A packet may be kept in the place of a longer packet. Counters only grow.
	r.bytesOut = max(r.bytesOut, sum.BytesOut)
	sum.BytesOut = r.bytesOut
	s := monitor.Status{Started: r.begin, Now: now, Summary: sum, Rings: r.capture.Stats(), Networks: r.networks(), State: r.state.show(), TLS: r.cfg.Outputs.TLS}
	if sum.HubDelay != nil {
		s.HubFailing = r.cfg.Dedup.Hub.Failing()
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
