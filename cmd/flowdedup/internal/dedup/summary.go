package dedup

import (
	"math/bits"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/flow"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/stamp"
	"github.com/flowdedup/flowdedup/engine"
)

// Summary is what a run found; its JSON form is part of the command line's
// contract.
type Summary struct {
	PacketsIn  uint64 `json:"packets_in"`
	PacketsOut uint64 `json:"packets_out"`
	Duplicates uint64 `json:"duplicates"`
	Filtered   uint64 `json:"filtered"`  // packets that were not wanted, and are counted nowhere else
	BytesIn    uint64 `json:"bytes_in"`  // captured bytes
	BytesOut   uint64 `json:"bytes_out"` // captured bytes of the packets kept
	NonIP      uint64 `json:"non_ip"`
	Snapped    uint64 `json:"snapped"` // packets captured in part
	// OutOfOrder counts packets older than the one before them.
	OutOfOrder  uint64 `json:"out_of_order"`
	NoTimestamp uint64 `json:"no_timestamp"`
	Damaged     bool   `json:"damaged"`
	// The timestamps are those of the first and the last packet of the stream
	// that have one.
	FirstTimestamp       *string           `json:"first_timestamp"`
	LastTimestamp        *string           `json:"last_timestamp"`
	DuplicatesByProtocol map[string]uint64 `json:"duplicates_by_protocol"`
	Window               string            `json:"window"`
	Identity             string            `json:"identity"`
	Digest               string            `json:"digest"`
	Method               string            `json:"method"`
	MemoryBytes          int               `json:"memory_bytes"`
	PredictedFPR         float64           `json:"predicted_fpr"`
	EvictedLive          uint64            `json:"evicted_live"`
	// LateForgotten counts packets kept whose time went back behind what was forgotten.
	LateForgotten    uint64  `json:"late_forgotten"`
	Seconds          float64 `json:"seconds"`
	PacketsPerSecond float64 `json:"packets_per_second"`
	// Inputs are those that were opened, in the order of the command line, nil for one.
	Inputs []InputCount `json:"inputs,omitempty"`
	// Files counts those that outputs which rotate have written, nil without any.
	Files *uint64 `json:"files,omitempty"`

	// SuggestedMemory is what would have kept EvictedLive near 0, in bytes.
	SuggestedMemory int `json:"-"`
	// Late says more of LateForgotten.
	Late engine.LateStats `json:"-"`
	// SharedPoints counts packets whose capture point shares its number with others, since
	// there are too many.
	SharedPoints uint64 `json:"-"`
	// SkippedBlocks counts pcapng blocks that could not be carried over into a
	// file of merged inputs.
	SkippedBlocks uint64 `json:"-"`
	// InTunnels is the share of packets in tunnels that identity l3 leaves closed, and
	// Tunnels which these are, the most frequent one first.
	InTunnels float64       `json:"-"`
	Tunnels   []flow.Tunnel `json:"-"`
}

// books keeps the running counts of a Summary.
type books struct {
	Summary
	tally      tally
	removed    uint64 // captured bytes of the duplicates
	duplicates [flow.Protocols]uint64
}

func newBooks() *books { return &books{tally: newTally()} }

// batch enters the next packets of the stream, and of which drop says that they are
// duplicates.
func (k *books) batch(t *tally, frames []capture.Frame, protocols []flow.Protocol, drop []uint64) {
	k.tally.add(t)
	for w, word := range drop {
		for ; word != 0; word &= word - 1 {
			i := w*64 + bits.TrailingZeros64(word)
			k.Duplicates++
			k.removed += uint64(frames[i].CapLen)
			k.duplicates[protocols[i]]++
		}
	}
}

// close returns the finished summary.
func (k *books) close(elapsed time.Duration) Summary {
	s, t := k.Summary, &k.tally
	s.PacketsIn, s.PacketsOut = t.count, t.count-s.Duplicates
	s.BytesIn, s.BytesOut = t.bytes, t.bytes-k.removed
	s.NonIP, s.Snapped, s.OutOfOrder, s.NoTimestamp = t.nonIP, t.snapped, t.outOfOrder, t.untimed
	s.FirstTimestamp, s.LastTimestamp = stamp.Format(t.first, time.UTC), stamp.Format(t.last, time.UTC)
	s.DuplicatesByProtocol = map[string]uint64{}
	for p, n := range k.duplicates {
		if n > 0 {
			s.DuplicatesByProtocol[flow.Protocol(p).String()] = n
		}
	}
	s.Seconds = elapsed.Seconds()
	if s.Seconds > 0 {
		s.PacketsPerSecond = float64(s.PacketsIn) / s.Seconds
	}
	return s
}
