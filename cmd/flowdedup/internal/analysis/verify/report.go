// SPDX-License-Identifier: Apache-2.0

package verify

// Kind is a kind of difference.
type Kind string

// The kinds of differences, the most telling first.
const (
	// Foreign is a packet of the output that is not in the input, or not in this order, or
	// that was changed.
	Foreign Kind = "foreign"
	// Lost is a packet of the input that is not in the output, though the output has no
	// copy of it.
	Lost Kind = "lost"
	// Unlisted is a removed packet that is not among the removed packets.
	Unlisted Kind = "unlisted"
	// Misplaced is a packet in the file of removed packets that was not removed, or is not in
	// the input.
	Misplaced Kind = "misplaced"
)

// rank orders kinds.
var rank = map[Kind]int{Foreign: 0, Lost: 1, Unlisted: 2, Misplaced: 3}

// Difference is where an output is not as it should be.
type Difference struct {
	Kind Kind
	// Packet is its number, from 1: in the output (Foreign), among the removed packets
	// (Misplaced), else in the input.
	Packet uint64
	File   int   // of the output or of the removed packets, 0 for others
	Time   int64 // nanoseconds since 1970, or capture.NoTime
}

// Report has the findings of a Verifier.
type Report struct {
	Packets uint64 `json:"packets_in"`  // of the input
	Kept    uint64 `json:"packets_out"` // of these, in the output
	Removed uint64 `json:"removed"`

	Foreign   uint64 `json:"foreign"`
	Lost      uint64 `json:"lost"`
	Unlisted  uint64 `json:"unlisted"`
	Misplaced uint64 `json:"misplaced"`
	// Unknown counts removed packets for which memory cannot decide whether the output has a
	// copy.
	Unknown uint64 `json:"unknown"`
	// First is the first difference of the kind that says most, nil if there is none.
	First *Difference `json:"-"`
}

// Differences returns how many there are.
func (r *Report) Differences() uint64 { return r.Foreign + r.Lost + r.Unlisted + r.Misplaced }

// note keeps d as First if it ranks before First.
func (r *Report) note(d Difference) {
	if f := r.First; f == nil || rank[d.Kind] < rank[f.Kind] || rank[d.Kind] == rank[f.Kind] && d.Packet < f.Packet {
		r.First = &d
	}
}
