// SPDX-License-Identifier: Apache-2.0

package monitor

import (
	"time"

	"github.com/flowdedup/flowdedup/capture/afpacket"
	"github.com/flowdedup/flowdedup/capture/certs"
	"github.com/flowdedup/flowdedup/capture/pcapoverip"
	"github.com/flowdedup/flowdedup/capture/traits"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/dedup"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/sink"
)

// Status describes a run at one moment. Counts are since the run began. Only processed packets
// count, with their captured bytes.
type Status struct {
	Started, Now time.Time
	// Stopping is true in the last status of a run.
	Stopping bool

	Summary                     // of the run so far
	Rings      []afpacket.Stats // of each ring
	Networks   []Network        // of each input, if any input is on a network
	HubFailing string           // why the hub does not answer, or ""
	Distinct   []Distinct       // by key and family, in the order of the command line
	State      *State           // nil without
	TLS        *certs.Files     // nil without
}

// Summary is the result of a run; its JSON form is part of the command line's contract.
// Its seconds last from the start of the run, or of the first run of a resumed state, to
// the end of the capture. Its packets per second are the traffic over this time.
type Summary struct {
	dedup.Summary
	Interfaces []Interface   `json:"interfaces"`
	Diffs      traits.Counts `json:"differences"` // of the duplicates sampled
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
	// Incomplete says that some of these lost kept packets.
	Incomplete bool `json:"-"`
	// Learned is the result of --learn, nil without it.
	Learned *Learned `json:"learned,omitempty"`
}

// Interface holds the kernel's counters of one interface.
type Interface struct {
	Name              string `json:"interface"`
	Received          uint64 `json:"received"` // by the kernel, including dropped packets
	Dropped           uint64 `json:"dropped"`  // as a ring was full, or for the reasons of the next two
	TooLong           uint64 `json:"dropped_too_long,omitempty"`
	ToHost            uint64 `json:"dropped_to_host,omitempty"`
	Freezes           uint64 `json:"freezes"`   // how often a ring became full
	Outages           uint64 `json:"outages"`   // how often the interface went down or away
	Truncated         uint64 `json:"truncated"` // longer than the snap length or a block
	Coalesced         uint64 `json:"merged"`    // packets of several segments (GRO)
	ChecksumOffloaded uint64 `json:"no_checksum"`
	// CardDropped counts packets that were lost before the kernel had them, at least; CardCounters
	// has how much the counters of the interface and its driver grew.
	CardDropped  uint64            `json:"card_dropped"`
	CardCounters map[string]uint64 `json:"card_counters,omitempty"`
	Card         string            `json:"-"` // the counters in words
	*Network                       // nil if no input is on a network
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
	// LatePackets counts packets that came after later packets of other inputs.
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
