// SPDX-License-Identifier: Apache-2.0

package count

import (
	"encoding/binary"
	"slices"

	"github.com/flowdedup/flowdedup/capture/keys"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/version"
	"github.com/flowdedup/flowdedup/engine/distinct/windows"
)

// Top is one of the elements of a window with the most packets or bytes; its JSON form is part of the
// command line's contract.
type Top struct {
	version.Heading
	Kind string `json:"kind"` // KindTop or KindTopTotal
	Counted
	Rank  int    `json:"rank"` // from 1
	Value string `json:"value"`
	// CommunityID is as in Sighting.
	CommunityID string `json:"community_id,omitempty"`
	// Packets and Bytes are never too low. PacketsLow and BytesLow are lower bounds, equal to them where
	// all elements had room.
	Packets      uint64  `json:"packets_in"`
	PacketsLow   uint64  `json:"packets_low"`
	PacketsShare float64 `json:"packets_share"` // of the packets that have such an element
	Bytes        uint64  `json:"bytes_in"`      // as long as packets were on the wire
	BytesLow     uint64  `json:"bytes_low"`
	BytesShare   float64 `json:"bytes_share"`
}

// KindTop and KindTopTotal are the kinds of lines of elements, of a window and of the whole input.
const (
	KindTop      = "top"
	KindTopTotal = "top_total"
)

// rank gives rows the elements with the most packets or bytes.
func (c *Config) rank(rows []Row, counts []windows.Count) {
	for i := range counts {
		n, row := &counts[i], &rows[i]
		if n.Top4 == nil && n.Top6 == nil {
			continue
		}
		key := c.Keys[slices.IndexFunc(c.Keys, func(k keys.Config) bool { return k.Kind.String() == n.Key })]
		add := func(family, value, id string, counts, over [2]uint64) {
			t := Top{
				Kind: KindTop, Counted: row.Counted, Value: value, CommunityID: id,
				Packets: counts[0], PacketsLow: counts[0] - over[0], PacketsShare: show.Rounded(float64(counts[0]) / float64(max(1, n.Packets))),
				Bytes: counts[1], BytesLow: counts[1] - over[1], BytesShare: show.Rounded(float64(counts[1]) / float64(max(1, n.Bytes))),
			}
			if t.Family = family; row.Kind == KindTotal {
				t.Kind = KindTopTotal
			}
			row.Top = append(row.Top, t)
		}
		of4 := "ipv4"
		if key.Kind == keys.MACs {
			of4 = "all"
		}
		for _, e := range n.Top4 {
			add(of4, key.Format16(e.Key), key.CommunityID16(e.Key), e.Count, e.Over)
		}
		for _, e := range n.Top6 {
			add("ipv6", key.Format48(e.Key), key.CommunityID48(e.Key), e.Count, e.Over)
		}
		slices.SortStableFunc(row.Top, func(a, b Top) int {
			return c.TopBy.Compare([2]uint64{a.Packets, a.Bytes}, [2]uint64{b.Packets, b.Bytes})
		})
		row.Top = row.Top[:min(len(row.Top), c.Top)]
		for i := range row.Top {
			row.Top[i].Rank = i + 1
		}
	}
}

// ranked returns the keys behind n elements of a batch, as windows.Batch.Keys says.
func (p *Packets) ranked(key int, id windows.SeriesID, from, n int) (four [][16]byte, six [][48]byte) {
	k := &p.keys[key]
	switch id {
	case windows.V4:
		return k.v4[from:][:n], nil
	case windows.V6:
		return nil, k.v6[from:][:n]
	case windows.MAC:
		return k.mac[from:][:n], nil
	}
	p.wide = slices.Grow(p.wide[:0], n)[:n]
	for i, addr := range k.addr4[from:][:n] {
		p.wide[i] = [16]byte{}
		binary.BigEndian.PutUint32(p.wide[i][:], addr)
	}
	return p.wide, nil
}
