package dedup

import (
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/flow"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/stamp"
)

// Summary is what a run found; its JSON form is part of the command line's
// contract.
type Summary struct {
	PacketsIn  uint64 `json:"packets_in"`
	PacketsOut uint64 `json:"packets_out"`
	Duplicates uint64 `json:"duplicates"`
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
	Seconds              float64           `json:"seconds"`
	PacketsPerSecond     float64           `json:"packets_per_second"`

	// SuggestedMemory is what would have kept EvictedLive near 0, in bytes.
	SuggestedMemory int `json:"-"`
	// SkippedBlocks counts pcapng blocks that could not be carried over into a
	// file of merged inputs.
	SkippedBlocks uint64 `json:"-"`
}

// books keeps the running counts of a Summary.
type books struct {
	Summary
	removed     uint64 // captured bytes of the duplicates
	first, last int64  // times of the first and the last packet that had one
	// duplicates by IP protocol number, and those without an IP header
	protocols [256]uint64
	others    uint64
}

func newBooks() *books {
	return &books{first: capture.NoTime, last: capture.NoTime}
}

// packets enters a run of decoded frames. Its one branch is on what holds for all
// frames of a capture or for none.
func (k *books) packets(frames []capture.Frame, headers []flow.Header) {
	var bytes, snapped, timeless, outOfOrder, nonIP uint64
	last := k.last
	for i := range frames {
		f := &frames[i]
		t, captured := f.Time, uint64(f.CapLen)
		bytes += captured
		snapped += (captured - uint64(f.WireLen)) >> 63
		if t == capture.NoTime {
			timeless++
			continue
		}
		older := uint64(0)
		if t < last {
			older = 1
		}
		outOfOrder += older
		last = t
	}
	for i := range headers {
		nonIP += (uint64(headers[i].Version) - 1) >> 63
	}
	if k.last == capture.NoTime {
		k.first = firstTime(frames)
	}
	k.last = last
	k.PacketsIn += uint64(len(frames))
	k.BytesIn += bytes
	k.Snapped += snapped
	k.NoTimestamp += timeless
	k.OutOfOrder += outOfOrder
	k.NonIP += nonIP
}

// firstTime returns the time of the first frame that has one.
func firstTime(frames []capture.Frame) int64 {
	for i := range frames {
		if t := frames[i].Time; t != capture.NoTime {
			return t
		}
	}
	return capture.NoTime
}

// duplicate enters one removed packet.
func (k *books) duplicate(f *capture.Frame, h *flow.Header) {
	k.Duplicates++
	k.removed += uint64(f.CapLen)
	if h.Version == 0 {
		k.others++
		return
	}
	k.protocols[h.Proto]++
}

// duplicatesByProtocol returns the numbers of removed packets by the names of their
// protocols.
func (k *books) duplicatesByProtocol() map[string]uint64 {
	byName := map[string]uint64{}
	if k.others > 0 {
		byName[flow.ProtocolName(&flow.Header{})] = k.others
	}
	for proto, n := range k.protocols {
		if n > 0 {
			byName[flow.ProtocolName(&flow.Header{Version: 4, Proto: uint8(proto)})] = n
		}
	}
	return byName
}

// close returns the finished summary.
func (k *books) close(elapsed time.Duration) Summary {
	s := k.Summary
	s.DuplicatesByProtocol = k.duplicatesByProtocol()
	s.PacketsOut = s.PacketsIn - s.Duplicates
	s.BytesOut = s.BytesIn - k.removed
	s.FirstTimestamp, s.LastTimestamp = stamp.Format(k.first, time.UTC), stamp.Format(k.last, time.UTC)
	s.Seconds = elapsed.Seconds()
	if s.Seconds > 0 {
		s.PacketsPerSecond = float64(s.PacketsIn) / s.Seconds
	}
	return s
}
