// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"math"
	"time"

	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/traits"
)

// Counts are packets that both sides have, and packets that only A or B has although both captured
// then (see Side.Outside).
type Counts struct {
	Both  uint64 `json:"both"`
	OnlyA uint64 `json:"only_a"`
	OnlyB uint64 `json:"only_b"`
}

// Side is what was seen of a side.
type Side struct {
	Packets uint64 `json:"packets_in"`
	// Outside counts further packets that only this side has: from before the first packet of
	// the other side, or from after the last.
	Outside uint64 `json:"outside"`
	// Repeats counts packets that equal an earlier packet of the same side, within the window, as
	// far as was noticed.
	Repeats uint64 `json:"repeats"`
	NonIP   uint64 `json:"non_ip"`
	// Unopened counts frames and tunnels that were not opened: see headers.Unopened. It is nil
	// without any.
	Unopened  map[string]uint64 `json:"unopened,omitempty"`
	Truncated uint64            `json:"truncated"`
	Disorder  uint64            `json:"out_of_order"`
	NoTime    uint64            `json:"no_timestamp"`
	// Undecidable counts packets of which too little is compared to distinguish them within their
	// flow. They match in their order.
	Undecidable uint64 `json:"undecidable"`
}

// Report says how two sides differ.
type Report struct {
	Counts
	Sides     [2]Side
	Protocols map[string]Counts
	// Conversations with the most packets that a single side has come first, then the largest.
	Conversations []Conversation
	// Evicted is whether there were too many conversations to count all.
	Evicted bool
	// Reordered counts packets that B saw behind a later packet of their conversation and
	// direction.
	Reordered uint64
	// Found is whether packets with times were matched. Without, there is no offset.
	Found bool
	// At is the time of the first matched packet by the clock of A. Offset is how much later the
	// clock of B showed then, for a packet with the median delay, and Drift how many nanoseconds the
	// clock of B gains each nanosecond.
	At     int64
	Offset time.Duration
	Drift  float64
	// HasDrift is whether there were enough packets to measure a drift.
	HasDrift bool
	// DriftError is half of the 95 % interval of Drift.
	DriftError float64
	// Delays say how much longer packets took than the fastest packet, after offset and
	// drift are removed (RFC 5481, section 4.2: packet delay variation). Bins counts them.
	Delays traits.Delays
	Bins   []traits.Bin
	// Sampled is the number of packets that each delay stands for. The slowest packet's delay
	// stands for that packet only.
	Sampled uint64
	// IdentityBytes is how many bytes of packets were compared, 0 for all.
	IdentityBytes int
	// Forgotten counts packets that made room for newer packets within the window. Equal packets of
	// the other side then count as that side's only.
	Forgotten   uint64
	MemoryBytes int
}

// Report returns what was measured, with the given number of conversations.
func (c *Comparer) Report(conversations int) *Report {
	r := &Report{
		Protocols: map[string]Counts{}, Conversations: c.talks.top(conversations), Evicted: c.talks.evicted,
		Reordered: c.talks.ordered, Bins: []traits.Bin{},
		IdentityBytes: int(c.bytes.Load()), Forgotten: c.forgotten,
	}
	if c.match != nil {
		r.MemoryBytes = c.match.bytes()
	}
	a, b := &c.sides[sideA], &c.sides[sideB]
	r.Counts = Counts{Both: c.both, OnlyA: a.alone, OnlyB: b.alone}
	for i := range c.sides {
		s := &c.sides[i]
		r.Sides[i] = s.counts
		r.Sides[i].NonIP, r.Sides[i].Unopened = s.protocols[headers.NonIP], s.unopened.ByName()
	}
	for p := range a.protocols {
		r.Sides[sideA].Outside += a.outside[p]
		r.Sides[sideB].Outside += b.outside[p]
		if a.protocols[p]+b.protocols[p] > 0 {
			r.Protocols[headers.Protocol(p).String()] = Counts{Both: a.protocols[p] - a.only[p] - a.outside[p], OnlyA: a.only[p], OnlyB: b.only[p]}
		}
	}
	if c.delays.extend(); c.delays.count > 0 {
		c.delays.report(r)
	} else {
		c.doubtful.report(r)
	}
	return r
}

// report adds the line of the clocks, and the delays.
func (d *delays) report(r *Report) {
	pairs := d.sorted()
	if len(pairs) == 0 {
		return
	}
	r.Found, r.Sampled = true, 1<<d.level
	l := fit(pairs, pairs[0].time)
	r.At, r.Offset, r.Drift = l.origin, time.Duration(l.offset), l.slope
	if r.HasDrift = hasSlope(pairs); r.HasDrift {
		r.DriftError = slopeError(pairs, &l)
	}
	each, most := d.spread(&l, pairs)
	h := traits.NewHistogram(int64(min(math.Ceil(most), math.MaxInt64/2)))
	for _, delay := range each {
		h.Add(uint64(math.Round(delay)), r.Sampled)
	}
	of, slowest := h.Delays(), int64(math.Round(most)) // which is known exactly
	r.Delays = traits.Delays{P50: min(of.P50, slowest), P90: min(of.P90, slowest), P99: min(of.P99, slowest), P999: min(of.P999, slowest), Max: slowest}
	r.Bins = h.Bins()
}

// slopeError returns half of the 95 % interval of the slope of a line: the least-squares
// interval, with the spread of the residuals by their median, times 1.1 for the efficiency of
// the median of slopes.
func slopeError(pairs []pair, l *line) float64 {
	residuals := make([]float64, len(pairs))
	mean := 0.0
	for i, p := range pairs {
		residuals[i] = math.Abs(l.residual(p))
		mean += float64(p.time-l.origin) / float64(len(pairs))
	}
	square := 0.0
	for _, p := range pairs {
		d := float64(p.time-l.origin) - mean
		square += d * d
	}
	const deviation = 1.4826 // of a normal distribution, in median deviations
	return 1.96 * 1.1 * deviation * max(medianOf(residuals), 0.5) / math.Sqrt(square)
}
