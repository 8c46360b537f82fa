// SPDX-License-Identifier: Apache-2.0

package monitor

import (
	"time"

	"github.com/flowdedup/flowdedup/capture/afpacket"
	"github.com/flowdedup/flowdedup/capture/certs"
	"github.com/flowdedup/flowdedup/capture/dedup"
	"github.com/flowdedup/flowdedup/capture/pcapoverip"
	"github.com/flowdedup/flowdedup/capture/reassemble"
	"github.com/flowdedup/flowdedup/capture/traits"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/sink"
)

// Status describes a run at one moment. Counts are since the run began. Only processed packets
// count, with their captured bytes.
type Status struct {
	Started, Now time.Time
	// Stopping is true in the last status of a run.
	Stopping bool

	Rings                []afpacket.Stats // one for each ring
	Networks             []Network        // one for each input, if one is on a network
	PacketsIn, BytesIn   uint64
	Duplicates           uint64
	BytesOut             uint64  // of the packets kept
	Unjudged, Protected  *uint64 // as in dedup.Summary
	Undecidable          uint64
	ChecksumOnly         uint64
	WholePreferred       *uint64 // the same
	ChecksumPreferred    *uint64
	DuplicatesByProtocol map[string]uint64
	Unopened             map[string]uint64 // as in dedup.Summary
	Fragments            *reassemble.Stats // of tunnels; nil where these are not opened
	Diffs                traits.Counts     // of the duplicates sampled
	Matrix               []traits.Cell
	Conversations        show.Conversations

	Filter   Filter
	Held     *dedup.HoldStats // nil if no packet waits for better copies
	Hub      *Hub             // nil without
	Distinct []Distinct       // by key and family, in the order of the command line
	Outputs  []sink.Output
	Forwards []sink.Forward
	State    *State       // nil without
	Learned  *Learned     // nil without Config.Learn
	TLS      *certs.Files // nil without
}

// Filter describes the filter of duplicates.
type Filter struct {
	Window, Identity, Method string
	MemoryBytes              int
	Fill                     float64 // share of its cells that are taken, 0 to 1
	PredictedFPR             float64
	EvictedLive              uint64
	Unverified               *uint64 // as in dedup.Summary
	SuggestedMemory          int     // bytes; 0 where EvictedLive gives no reason for more
}

// Hub describes the hub as this site sees it.
type Hub struct {
	Copies, Unchecked uint64 // packets
	Failing           string // why it does not answer, or ""
	DelayP50          time.Duration
	DelayP99          time.Duration
}

// Distinct is the count of one key and family.
type Distinct struct {
	Of, Family string
	// The begin of the open landmark window, and its count.
	WindowStart time.Time
	Window      uint64
	// The count over the Span before Now, with its bounds of 95 % confidence. Span is 0
	// if no such count is kept.
	Span               time.Duration
	Sliding, Low, High uint64
}

// State describes the file that the run can be resumed from.
type State struct {
	Name   string
	Saved  time.Time // zero before the first time
	Bytes  int64
	Failed string // why it could not be saved the last time, or ""
}

// Network counts the packets of one input of a run whose inputs are merged, or come over a
// network.
type Network struct {
	Name string `json:"-"`
	// The peers of an address; nil for other inputs.
	*pcapoverip.ReceiverStats
	// The datagrams of a mirror target; nil for other inputs.
	*Mirrored
	// LatePackets counts packets that came after later ones of other inputs.
	LatePackets uint64 `json:"late_packets"`
}

// Mirrored counts datagrams to a mirror target.
type Mirrored struct {
	Malformed map[string]uint64 `json:"malformed"` // without a packet, by reason
	Control   uint64            `json:"control"`   // that talk of the tunnel
	Unwanted  uint64            `json:"unwanted"`  // with other identifiers
	Points    int               `json:"points"`    // capture points so far
}

// AllMalformed returns how many datagrams have no packet.
func (m *Mirrored) AllMalformed() (n uint64) {
	for _, count := range m.Malformed {
		n += count
	}
	return n
}

// Learned is the result of --learn.
type Learned struct {
	// Decided is when the last decision was made, "" before the first.
	Decided   string `json:"decided"`
	Decisions uint64 `json:"decisions"`
	Verdict   string `json:"verdict"`
	// Conclusion is the verdict in a word.
	Conclusion string `json:"conclusion"`
	// Dedup says that copies are removed. Otherwise all packets are kept.
	Dedup    bool     `json:"dedup"`
	Identity string   `json:"identity"`
	Window   string   `json:"window"`
	Ignore   []string `json:"ignore"`
	Across   bool     `json:"across"`
	// Keep is Dedup.Choice.Flow in the words of the flag.
	Keep string `json:"keep"`
	// Advice are flags that would help and that are left to the user.
	Advice []string `json:"advice"`
	// Passed counts packets that were kept without being judged.
	Passed uint64 `json:"unjudged"`
	// Inspecting says that packets are being inspected.
	Inspecting bool `json:"inspecting"`
}
