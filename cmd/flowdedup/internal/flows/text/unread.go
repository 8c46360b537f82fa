// SPDX-License-Identifier: Apache-2.0

package text

import (
	"math/bits"

	"github.com/flowdedup/flowdedup/capture/records"
)

// Unread is a field with values that could not be read.
type Unread struct {
	Field   string // as a mapping names it
	Part    records.Parts
	Values  uint64 // at most one for a record
	Example string // the first one, its beginning
}

// maxExample is how many bytes an example has.
const maxExample = 64

// unreadValues are the unreadable values, by target.
type unreadValues [kind + 1]struct {
	values  uint64
	example string
}

// enter enters a value, unless it says that there is none.
func (r *Reader) enter(t target, v []byte) {
	if len(v) != 0 && string(v) != r.unset && string(v) != r.empty && !r.set(t, v) {
		r.cannot(t, v)
	}
}

// cannot says that a value of the record at hand could not be read. It is counted, so that it does not
// pass for absent.
func (r *Reader) cannot(t target, v []byte) {
	if t > kind {
		t = implied[t].is
	}
	r.rec.Unread |= parts[t]
	r.values.lost |= 1 << t
	if u := &r.unread[t]; u.values == 0 {
		u.example = string(v[:min(len(v), maxExample)])
	}
}

// countUnread counts the unreadable values of the current record, which is one of a flow.
func (r *Reader) countUnread() {
	for lost := r.values.lost; lost != 0; lost &= lost - 1 {
		r.unread[bits.TrailingZeros64(lost)].values++
		r.counts.Unread++
	}
}

// AppendUnread appends all fields with values that could not be read.
func (r *Reader) AppendUnread(to []Unread) []Unread {
	for t, u := range r.unread {
		if u.values > 0 {
			to = append(to, Unread{Field: target(t).String(), Part: parts[t], Values: u.values, Example: u.example})
		}
	}
	return to
}

// parts maps targets to parts of a record. Targets with 0 decide nothing.
var parts = [kind + 1]records.Parts{
	source: records.PartFlow, destination: records.PartFlow, sourcePort: records.PartFlow, destinationPort: records.PartFlow,
	protocol: records.PartFlow, icmpType: records.PartFlow, icmpCode: records.PartFlow,
	tos: records.PartTOS, dscp: records.PartTOS, vlan: records.PartVLAN, vrf: records.PartVRF,
	start: records.PartTime, end: records.PartTime, duration: records.PartTime, durationMS: records.PartTime,
	ingress: records.PartPoint, egress: records.PartPoint, direction: records.PartPoint, domain: records.PartPoint, observation: records.PartPoint,
	natSource: records.PartNAT, natDestination: records.PartNAT, natSourcePort: records.PartNAT, natDestinationPort: records.PartNAT,
	packets: records.PartCounters, octets: records.PartCounters, reversePackets: records.PartCounters, reverseOctets: records.PartCounters,
	totalPackets: records.PartCounters, totalOctets: records.PartCounters,
}
