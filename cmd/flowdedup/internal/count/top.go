// SPDX-License-Identifier: Apache-2.0

package count

import (
	"encoding/binary"
	"slices"

	"github.com/flowdedup/flowdedup/capture/keys"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/version"
	"github.com/flowdedup/flowdedup/engine/distinct/top"
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
		for at, e := range n.Top {
			t := Top{
				Kind: KindTop, Counted: row.Counted, Rank: at + 1,
				Packets: e.Count[top.Packets], PacketsLow: e.Count[top.Packets] - e.Over[top.Packets],
				Bytes: e.Count[top.Bytes], BytesLow: e.Count[top.Bytes] - e.Over[top.Bytes],
			}
			t.PacketsShare, t.BytesShare = share(t.Packets, n.Packets), share(t.Bytes, n.Bytes)
			if row.Kind == KindTotal {
				t.Kind = KindTopTotal
			}
			c.name(&t, e.Key)
			row.Top = append(row.Top, t)
		}
	}
}

// share returns the share of a count. Where both are 0, or a count too high, it is 1 at most.
func share(part, whole uint64) float64 {
	return show.Rounded(min(1, float64(part)/float64(max(1, whole))))
}

// name writes an element as --list does.
func (c *Config) name(t *Top, key top.Key) {
	k := c.Keys[slices.IndexFunc(c.Keys, func(k keys.Config) bool { return k.Kind.String() == t.Of })]
	series := windows.SeriesID(key[seriesAt])
	if key[seriesAt] = 0; series == windows.V6 {
		t.Family, t.Value, t.CommunityID = "ipv6", k.Format48(key), k.CommunityID48(key)
		return
	}
	four := [16]byte(key[:])
	if t.Value, t.CommunityID = k.Format16(four), k.CommunityID16(four); series == windows.V4 {
		t.Family = "ipv4"
	}
}

// seriesAt is where the series of an element is in a top.Key: keys end with zeros.
const seriesAt = len(top.Key{}) - 1

// ranked returns the key behind an element of a batch, as windows.Batch.Key says.
func (p *Packets) ranked(key int, id windows.SeriesID, number int) (k top.Key) {
	all := &p.keys[key]
	switch id {
	case windows.V6:
		k = all.v6[number]
	case windows.V4:
		copy(k[:], all.v4[number][:])
	case windows.MAC:
		copy(k[:], all.mac[number][:])
	default:
		binary.BigEndian.PutUint32(k[:], all.addr4[number])
		id = windows.V4
	}
	k[seriesAt] = byte(id)
	return k
}
