package live

import (
	"time"

	"github.com/flowdedup/flowdedup/capture/diffs"
	"github.com/flowdedup/flowdedup/capture/ring"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/dedup"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/sink"
)

// Summary is what a run found; its JSON form is part of the command line's contract. Its
// seconds are those from the begin of the run, which with a state is that of the first
// one, to the end of the capture, and its packets a second are the traffic's over this time.
type Summary struct {
	dedup.Summary
	Interfaces []Interface  `json:"interfaces"`
	Diffs      diffs.Counts `json:"reasons"` // of the duplicates sampled
	// Late counts packets that came so long after their window that they are in no
	// row.
	Late    uint64        `json:"late"`
	Forward *sink.Forward `json:"forward,omitempty"`
}

// Interface is what happened at one interface.
type Interface struct {
	Name       string `json:"interface"`
	Received   uint64 `json:"received"` // by the kernel, the dropped ones among them
	Dropped    uint64 `json:"dropped"`  // since a ring was full
	Freezes    uint64 `json:"freezes"`  // how often one became full
	Outages    uint64 `json:"outages"`  // how often the interface went down or away
	Cut        uint64 `json:"cut"`      // longer than the snap length or a block
	Merged     uint64 `json:"merged"`   // several segments in one (GRO)
	NoChecksum uint64 `json:"no_checksum"`
}

// interfaces adds the rings of each interface up.
func interfaces(rings []ring.Stats) []Interface {
	var all []Interface
	for i := range rings {
		s := &rings[i]
		if s.Ring == 0 {
			all = append(all, Interface{Name: s.Interface})
		}
		n := &all[len(all)-1]
		n.Received += s.Received
		n.Dropped += s.Dropped
		n.Freezes += s.Freezes
		n.Cut += s.Cut
		n.Merged += s.Merged
		n.NoChecksum += s.NoChecksum
		n.Outages = max(n.Outages, s.Outages)
	}
	return all
}

func (r *runner) summary() Summary {
	s := Summary{
		Summary:    r.judging.Summary(r.watch.now.Sub(r.begin)),
		Interfaces: interfaces(r.capture.Stats()),
		Diffs:      r.diffs.Counts,
		Forward:    r.outputs.Forwarded(),
	}
	if r.counting != nil {
		s.Late = r.counting.Late()
	}
	return s
}

// status returns the state of the run. It is not for the moment when a batch is judged.
func (r *runner) status(now time.Time) Status {
	sum := r.summary()
	s := Status{
		Started: r.begin, Now: now, Rings: r.capture.Stats(),
		PacketsIn: sum.PacketsIn, BytesIn: sum.BytesIn, Duplicates: sum.Duplicates, BytesOut: sum.BytesOut,
		DuplicatesByProtocol: sum.DuplicatesByProtocol, Diffs: sum.Diffs,
		Filter: Filter{
			Window: sum.Window, Identity: sum.Identity, Method: sum.Method, MemoryBytes: sum.MemoryBytes,
			Fill: r.judging.Fill(), PredictedFPR: sum.PredictedFPR,
			EvictedLive: sum.EvictedLive, SuggestedMemory: sum.SuggestedMemory,
		},
		Outputs: r.outputs.List(), Forward: sum.Forward, State: r.state.show(),
	}
	if r.counting != nil {
		s.Distinct = r.present(now)
	}
	return s
}

// present returns what the open window has counted, and the past span.
func (r *runner) present(now time.Time) []Distinct {
	var all []Distinct
	start, end, counts := r.counting.Current()
	past := r.counting.Past(now.UnixNano())
	for i := range counts {
		d := Distinct{Of: counts[i].Key, Family: counts[i].Family, Window: counts[i].Distinct}
		if end > start {
			d.WindowStart, d.WindowEnd = time.Unix(0, start).UTC(), time.Unix(0, end).UTC()
		}
		if past != nil {
			d.Span, d.Sliding, d.Low, d.High = r.cfg.Distinct.Past, past[i].Distinct, past[i].Low, past[i].High
		}
		all = append(all, d)
	}
	return all
}
