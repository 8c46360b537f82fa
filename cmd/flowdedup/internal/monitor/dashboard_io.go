// SPDX-License-Identifier: Apache-2.0

package monitor

import (
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize/english"

	"github.com/flowdedup/flowdedup/capture/afpacket"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
)

// ringsOf returns the packets that each ring received and dropped.
func ringsOf(s *Status) table {
	p := table{
		Columns: []show.Column{{Name: "capture", Left: true}, {Name: "received"}, {Name: "dropped"}, {Name: "freezes"}, {Name: "", Left: true}},
		Least:   1,
	}
	for i := range s.Rings {
		r := &s.Rings[i]
		name := r.Interface
		if slices.ContainsFunc(s.Rings, func(other afpacket.Stats) bool { return other.Interface == name && other.Ring != r.Ring }) {
			name += "/" + strconv.Itoa(r.Ring)
		}
		p.Rows = append(p.Rows, row(name, countCell(r.Received), alertCell(r.Dropped, bad), alertCell(r.Freezes, bad), ringNotes(s, r)))
	}
	return p
}

// ringNotes names the host's changes to packets, and outages, the current one first.
func ringNotes(s *Status, r *afpacket.Stats) cell {
	c := cell{Severity: faint, Text: show.Notes(append(networkNotes(s, r),
		show.Note{Count: r.Outages, What: english.PluralWord(int(r.Outages), "outage", "")}, show.Note{Count: r.Coalesced, What: "merged by the host"},
		show.Note{Count: r.Truncated, What: "truncated"}, show.Note{Count: r.ChecksumOffloaded, What: "without checksum"})...)}
	if lost := r.Card.Lost(); lost > 0 {
		c = cell{Severity: bad, Text: strings.TrimSuffix("card lost "+show.Count(lost)+", "+c.Text, ", ")}
	}
	if r.Down {
		c = cell{Severity: bad, Text: strings.TrimSuffix("down or away, "+c.Text, ", ")}
	}
	return c
}

// networkNotes describes an input on a network further, at its first ring.
func networkNotes(s *Status, r *afpacket.Stats) (notes []show.Note) {
	i := slices.IndexFunc(s.Networks, func(n Network) bool { return n.Name == r.Interface })
	if i < 0 || r.Ring > 0 {
		return nil
	}
	n := &s.Networks[i]
	if p := n.ReceiverStats; p != nil {
		notes = append(notes, show.Note{Count: uint64(p.Connected), What: "connected"}, show.Note{Count: p.PeersDropped, What: english.PluralWord(int(p.PeersDropped), "peer", "") + " dropped"})
	}
	if m := n.Mirrored; m != nil {
		notes = append(notes, show.Note{Count: uint64(m.Points), What: english.PluralWord(m.Points, "point", "")}, show.Note{Count: m.AllMalformed(), What: "malformed"})
	}
	return append(notes, show.Note{Count: n.LatePackets, What: "late"})
}

// outputsOf returns where packets go, and the state file.
func outputsOf(s *Status) table {
	p := table{Columns: []show.Column{{Name: "output", Left: true}, {Name: "packets"}, {Name: "bytes"}, {Name: "", Left: true}}, Least: 1}
	for i := range s.Outputs {
		o := &s.Outputs[i]
		state := outputState(cell{Text: show.Notes(show.Note{Count: o.Files, What: english.PluralWord(int(o.Files), "file", "")})},
			show.Notes(show.Note{Count: o.Lost, What: "lost"}), o.Failed)
		p.Rows = append(p.Rows, row(o.Name, countCell(o.Packets), textCell(show.Bytes(o.Bytes)), state))
	}
	for i := range s.Forwards {
		f := &s.Forwards[i]
		lost := show.Notes(show.Note{Count: f.Lost, What: "lost"}, show.Note{Count: f.Refused, What: "refused"}, show.Note{Count: f.TooLong, What: "too long"}, show.Note{Count: f.Truncated, What: "truncated"},
			show.Note{Count: f.NotEthernet, What: "without Ethernet"})
		if lost != "" {
			lost = "not sent: " + lost
		}
		state := outputState(cell{Text: "forwarded"}, lost, f.Failed)
		p.Rows = append(p.Rows, row(f.Interface, countCell(f.Sent), textCell(show.Bytes(f.Bytes)), state))
	}
	if f := s.State; f != nil {
		p.Rows = append(p.Rows, row(f.Name, textCell(""), textCell(show.Bytes(f.Bytes)), stateCell(f, s)))
	}
	return p
}

// outputState replaces the state of an output by its losses and its failure, if it has
// any.
func outputState(state cell, lost, failed string) cell {
	if lost != "" {
		state = cell{Text: lost, Severity: warn}
	}
	if failed != "" {
		state = cell{Text: strings.TrimPrefix(lost+", failed: "+show.Printable(failed), ", "), Severity: bad}
	}
	return state
}

// stateCell says how old the saved state is.
func stateCell(f *State, s *Status) cell {
	state := cell{Text: "state, not saved yet"}
	if !f.Saved.IsZero() {
		state.Text = "state, saved " + age(f.Saved, s.Now).String() + " ago"
	}
	if f.Failed != "" {
		state = cell{Text: state.Text + ", then failed: " + show.Printable(f.Failed), Severity: bad}
	}
	return state
}
