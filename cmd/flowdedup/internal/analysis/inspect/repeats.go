// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"encoding/binary"
	"fmt"

	"github.com/flowdedup/flowdedup/capture/headers"
)

// repeats count packets that do not differ from an earlier packet at the same point: copies, or
// packets that were sent again.
type repeats struct {
	counts    [sorts][windows]sameCounts
	protocols map[protocolKey]*protocol
	lost      uint64 // packets without a protocol of their own
}

// sameCounts count such packets.
type sameCounts struct {
	all       uint64
	rewrapped uint64             // packets that only identity inner finds equal
	removed   [windows][2]uint64 // packets that a filter removes, anywhere and across
}

// The sorts of packets. A packet that its sender numbers comes again only as a copy, or if a
// sender repeats a whole packet.
const (
	unnumberedPacket = iota
	numberedPacket
	timedSorts // sorts before it may be copies, so that their delays count
)

const (
	// alikePacket stands for packets that begin alike and end differently. They are found if only
	// the first bytes are compared.
	alikePacket = timedSorts + iota
	// renumberedPacket stands for frames of a redundant network that a sender repeated:
	// each has a number of its own there.
	renumberedPacket
	// addressedPacket stands for packets that differ only in addresses, and are not translated
	// copies.
	addressedPacket
	// loopedPacket stands for packets that go in circles.
	loopedPacket
	sorts
)

// sort returns the sort of a packet.
func (s *sighting) sort() int8 { return int8(count(s.flags&numbered != 0)) }

// protocolKey is a protocol, and for frames without IP the ethertype.
type protocolKey struct {
	proto headers.Protocol
	ether uint16
}

// maxProtocols bounds the number of protocols with counters of their own.
const maxProtocols = 512

// protocol counts the repeated packets of a protocol.
type protocol struct {
	counts   [sorts][windows]uint64
	examples [sorts][windows]Example
}

// Example is a packet that was seen again.
type Example struct {
	Packet  uint64 `json:"packet"` // its number in the stream, from 1 on
	Earlier uint64 `json:"earlier"`
	Delay   int64  `json:"delay_ns"`
	What    string `json:"what"`
}

func newRepeats() repeats { return repeats{protocols: map[protocolKey]*protocol{}} }

func (r *repeats) clone() repeats {
	c := *r
	c.protocols = map[protocolKey]*protocol{}
	for key, p := range r.protocols {
		one := *p
		c.protocols[key] = &one
	}
	return c
}

// add counts x as weight packets, of which each is what.
func (r *repeats) add(x *event, weight uint64, what string) {
	c := &r.counts[x.sort][x.span]
	c.all += weight
	if x.rewrapped {
		c.rewrapped += weight
	}
	x.verdicts.count(&c.removed, weight)
	r.note(x.proto, int(x.sort), int(x.span), weight, Example{Packet: x.number, Earlier: x.earlier, Delay: int64(x.delay), What: what})
}

// all counts the packets of a sort.
func (r *repeats) all(sort int) (sum uint64) {
	for span := range r.counts[sort] {
		sum += r.counts[sort][span].all
	}
	return sum
}

// note counts packets of a protocol. The first of them are the example.
func (r *repeats) note(key protocolKey, sort, span int, weight uint64, e Example) {
	p := r.protocols[key]
	if p == nil {
		if len(r.protocols) >= maxProtocols {
			r.lost += weight
			return
		}
		p = &protocol{}
		r.protocols[key] = p
	}
	if p.counts[sort][span] += weight; p.counts[sort][span] == weight {
		p.examples[sort][span] = e
	}
}

// etherType returns the type of an Ethernet frame behind its tags, 0 for a length.
func etherType(data []byte) uint16 {
	const tagLen = 4
	for at := 12; at+2 <= len(data); at += tagLen {
		switch t := binary.BigEndian.Uint16(data[at:]); {
		case t == 0x8100 || t == 0x88a8:
		case t == 0x892f:
			at += 2 // a ring's tag is so much longer
		case t < 0x600:
			return 0
		default:
			return t
		}
	}
	return 0
}

var etherNames = map[uint16]string{
	0: "llc", 0x0806: "arp", 0x88cc: "lldp", 0x8809: "lacp", 0x888e: "eapol", 0x8892: "profinet", 0x88b8: "goose",
	0x88ba: "sampled-values", 0x88f7: "ptp", 0x8902: "cfm", 0x9000: "loopback", 0x88e3: "mrp", 0x892f: "hsr", 0x88fb: "prp",
}

// String returns the name of the protocol.
func (k protocolKey) String() string {
	if k.proto != headers.NonIP {
		return k.proto.String()
	}
	return cmp.Or(etherNames[k.ether], fmt.Sprintf("ethertype-%04x", k.ether))
}

// whatIs names the kind of a repeated packet.
func whatIs(sort int8, s *sighting) string {
	switch {
	case sort == alikePacket:
		return "another packet that begins in the same way"
	case s.proto == protoTCP:
		return whatTCP(s)
	case s.proto == protoICMP || s.proto == protoICMPv6:
		return "message sent again"
	case s.proto == headers.NonIP:
		return "frame sent again"
	}
	return "datagram sent again"
}

// whatTCP names the purpose of a segment.
func whatTCP(s *sighting) string {
	const syn, fin, rst = 2, 1, 4
	switch flags := s.tcp; {
	case flags&rst != 0:
		return "reset sent again"
	case flags&syn != 0:
		return "SYN sent again"
	case flags&fin != 0:
		return "FIN sent again"
	case s.payload == 0:
		return "acknowledgment without data, sent again"
	case s.payload == 1:
		return "keepalive"
	}
	return "retransmission"
}
