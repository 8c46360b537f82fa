// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"encoding/binary"
	"net/netip"

	"github.com/flowdedup/flowdedup/capture/keys"
	"github.com/flowdedup/flowdedup/capture/records"
	"github.com/flowdedup/flowdedup/capture/records/match"
	"github.com/flowdedup/flowdedup/engine/distinct/windows"
)

// take counts the keys of records: live records at their time on our clock, records of files at their
// own time.
func (c *keyCounts) take(b *records.Batch, verdicts []records.Verdict, judgments []match.Judgment, judge *match.Judge) error {
	for i := range b.Records {
		r, offset := &b.Records[i], int64(0)
		if n := judgments[i].Point; n != 0 && r.Start != 0 && (c.live || !records.IsTime(r.Start)) {
			offset = int64(judge.Points()[n-1].Offset)
		}
		start, end := r.Start, r.End
		if start == 0 {
			start, end = r.Received, r.Received
		}
		if start == 0 || r.Unread&records.PartTime != 0 {
			c.untimed++
			continue
		}
		if err := c.add(r, start+offset, max(start, end)+offset, verdicts[i] == records.Copy); err != nil {
			return err
		}
		if err := c.advance(match.Moment(r), judge.Alive()); err != nil {
			return err
		}
	}
	return nil
}

// ends adds the elements of a record: for each end that sent packets, the elements of a packet.
func (c *keyCounts) ends(to *windows.Elements, key *keys.Config, r *records.Record, n []uint32) {
	one := !r.Both || key.Kind == keys.IP || key.Kind == keys.Biflow
	if one || r.Packets|r.Bytes != 0 {
		c.keys(to, key, r, n)
	}
	if one {
		return
	}
	back := *r
	back.Source, back.Destination = r.Destination, r.Source
	back.SourcePort, back.DestinationPort = r.DestinationPort, r.SourcePort
	c.keys(to, key, &back, n)
}

// keys adds the elements that a record has of a key.
func (c *keyCounts) keys(to *windows.Elements, key *keys.Config, r *records.Record, n []uint32) {
	from, other := masked(key, r.Source), masked(key, r.Destination)
	switch key.Kind {
	case keys.Src:
		c.element(to, key, r, from, netip.Addr{}, n)
	case keys.Dst:
		c.element(to, key, r, other, netip.Addr{}, n)
	case keys.IP:
		c.element(to, key, r, from, netip.Addr{}, n)
		c.element(to, key, r, other, netip.Addr{}, n)
	default:
		if r.Unread&records.PartFlow == 0 { // else it would count as a wrong flow
			c.element(to, key, r, from, other, n)
		}
	}
}

// masked returns the prefix of an address.
func masked(key *keys.Config, a netip.Addr) netip.Addr {
	width := key.Mask6
	if a.Is4() {
		width = key.Mask4
	}
	if width == 0 || width >= a.BitLen() {
		return a
	}
	prefix, err := a.Prefix(width)
	if err != nil { // of a zone, which records have none of
		return a
	}
	return prefix.Addr()
}

// element adds an address, or the element of two addresses and the rest of a key.
func (c *keyCounts) element(to *windows.Elements, key *keys.Config, r *records.Record, from, other netip.Addr, n []uint32) {
	if !from.IsValid() {
		return
	}
	if from.Is4() && !other.IsValid() && !key.VLAN {
		four := from.As4()
		to.Addr4.Add(n, 0)[0] = binary.BigEndian.Uint32(four[:])
		return
	}
	var whole [48]byte
	a, b := from.As16(), [16]byte{}
	if other.IsValid() {
		b = other.As16()
	}
	ports := uint32(r.SourcePort)<<16 | uint32(r.DestinationPort)
	if key.Kind == keys.Biflow && (other.Less(from) || other == from && r.DestinationPort < r.SourcePort) {
		a, b, ports = b, a, ports<<16|ports>>16
	}
	copy(whole[:], a[:])
	copy(whole[16:], b[:])
	if key.Kind == keys.Flow || key.Kind == keys.Biflow {
		binary.BigEndian.PutUint32(whole[32:], portsOf(r, ports))
		whole[36] = r.Protocol
	}
	if key.VLAN {
		binary.BigEndian.PutUint16(whole[40:], r.VLAN)
	}
	if from.Is4() {
		c.v4.Sum48(to.V4.Add(n, 0), [][48]byte{whole})
		return
	}
	c.v6.Sum48(to.V6.Add(n, 0), [][48]byte{whole})
}

// portsOf returns 0 for protocols without ports, ICMP among them, as for packets.
func portsOf(r *records.Record, ports uint32) uint32 {
	if r.Protocol == 1 || r.Protocol == 58 {
		return 0
	}
	return ports
}
