// SPDX-License-Identifier: Apache-2.0

// Package records describes flow records: reports of routers, firewalls and probes on flows
// (NetFlow, IPFIX, sFlow, or lines of text).
//
// A [Reader] reads batches of records. A Judge of package match finds the copies among them:
// records of a flow that another [Point] reported before. The example of package match uses both.
//
//	question                                        folder
//	messages of exporters; their records            export
//	which records are copies; merging them          match
//	messages without copies, for a collector        relay
package records

import (
	"net/netip"
	"time"
)

// Point is where a record was made: one exporter process. Records of one point are never
// copies of each other.
type Point struct {
	// Exporter is the address that the exporter sends from, or that a record or an sFlow
	// datagram names in its place. It is the zero Addr of text and files that name none.
	Exporter netip.Addr
	// Domain is IPFIX's observation domain, NetFlow v9's source ID, NetFlow v5's engine
	// (type << 8 | ID), sFlow's sub-agent.
	Domain uint32
	// Input is the number of the input, from 0, where nothing names an exporter. Else it
	// is 0, as one exporter may come through several inputs.
	Input uint32
}

// Direction is the value of flowDirection (IANA information element 61).
type Direction uint8

// Directions. Many exporters do not send them.
const (
	DirectionUnknown Direction = iota
	DirectionIngress
	DirectionEgress
)

// Record is one flow record. Fields that the exporter does not send are zero. Numbers are as
// the exporter sent them: counters are not multiplied by the sampling interval, times stand on
// the exporter's clock.
type Record struct {
	Point Point

	Source, Destination         netip.Addr // IPv4 never as IPv4 in IPv6
	SourcePort, DestinationPort uint16     // of ICMP 0 and type << 8 | code
	Protocol                    uint8
	TOS                         uint8
	TCPFlags                    uint8
	VLAN                        uint16
	VRF                         uint32

	// After translation of addresses (information elements 225 to 228).
	NATSource, NATDestination         netip.Addr
	NATSourcePort, NATDestinationPort uint16

	Ingress, Egress uint32 // interfaces (ifIndex)
	Direction       Direction
	Observation     uint32 // observationPointId (IANA information element 138)

	// Start and End are nanoseconds since 1970 on the exporter's clock, 0 if unknown. Precision
	// is by how much they may be wrong because of their unit: 1 s for a time in seconds.
	Start, End int64
	Precision  time.Duration
	// Exported is when the exporter sent the record (its clock), Received when we did.
	Exported, Received int64

	// Packets and Bytes count what Source sent.
	Packets, Bytes uint64
	// Both says that Destination sent packets, too. ReversePackets and ReverseBytes count them
	// (RFC 5103). Where both are 0, Packets and Bytes count the packets of both ends.
	Both                         bool
	ReversePackets, ReverseBytes uint64
	// Sampling is the interval of sampled packets, 1 where all are seen, 0 if unknown.
	Sampling uint32

	// Where the bytes of the record stand in Batch.Raw: of a message its bytes in a set (a
	// flow sample of sFlow), of text its line.
	Offset, Length int
	// Unmatched says that no key can be made: it has no addresses. It passes as unchecked.
	Unmatched bool
	// Unread are the parts that are there and could not be read. Records whose verdict needs
	// an unread part pass as unchecked.
	Unread Parts
	// Input is the number of the input, from 0, whoever the exporter is.
	Input uint32
}

// TotalPackets returns the packets of both directions.
func (r *Record) TotalPackets() uint64 { return r.Packets + r.ReversePackets }

// TotalBytes returns the bytes of both directions.
func (r *Record) TotalBytes() uint64 { return r.Bytes + r.ReverseBytes }

// earliest is 1980 in nanoseconds since 1970. Clocks that nobody set are before it, and times whose
// unit the reader takes for a smaller unit.
const earliest = 3652 * 24 * int64(time.Hour)

// IsTime reports whether a record may be of that time, in nanoseconds since 1970: of 1980 or later.
func IsTime(at int64) bool { return at >= earliest }

// HasAddress reports whether a record names an end of its flow. Zeros fill the place of a missing address.
func (r *Record) HasAddress() bool {
	named := func(a netip.Addr) bool { return a.IsValid() && !a.IsUnspecified() }
	return named(r.Source) || named(r.Destination)
}

// EndsBeforeStart reports whether a record ends before its start, by more than its precision and
// the second that a clock may be set by. Then start or end is wrong.
func (r *Record) EndsBeforeStart() bool {
	return r.End != 0 && r.End < r.Start && uint64(r.Start-r.End) > uint64(time.Second+r.Precision)
}

// Parts is a set of the parts of records.
type Parts uint8

// The parts of a record.
const (
	PartFlow Parts = 1 << iota // addresses, ports, protocol, type and code of ICMP
	PartTime                   // Start and End
	PartVLAN
	PartVRF
	PartTOS
	PartNAT      // translated addresses and ports
	PartPoint    // Point.Domain, Direction, Ingress, Egress and Observation
	PartCounters // Packets, Bytes, ReversePackets and ReverseBytes
)

// Batch has the records of one message or one piece of text. A reader fills it again and
// again.
type Batch struct {
	Records []Record
	// Raw is the message (from its version on) or the lines that Records point into. It is
	// valid until the next batch is read.
	Raw []byte
	// From is who sent the message; the zero AddrPort for files and text.
	From netip.AddrPort
	// Kind is the kind of Raw; 0 with neither Raw nor Records: time has passed.
	Kind Kind
	// Replayed says that the same bytes came before. Records are not read then.
	Replayed bool
	// Restarted says that this is the first message since the exporter has restarted.
	Restarted bool
	// PerRecord says that sequence numbers of the sender count records, and not messages. WithOwn
	// says that the records of the message itself are among them.
	PerRecord, WithOwn bool
}

// Kind is a format of records.
type Kind uint8

// The formats.
const (
	NetFlow5 Kind = iota + 1
	NetFlow9
	IPFIX
	SFlow
	JSON
	CSV
	NetFlow1
	NetFlow7
)

// Reader reads batches of records in the order in which they came.
type Reader interface {
	// ReadBatch fills batch and keeps what memory it has. It returns io.EOF behind the last
	// batch. Damaged input is counted, and an error only where nothing more can be read.
	ReadBatch(batch *Batch) error
	// Counts returns the counts so far.
	Counts() Counts
}

// Counts are the counts of a reader. Counts of messages have the names that "flowdedup flows --json"
// gives them.
type Counts struct {
	Messages  uint64 `json:"messages"`  // lines of text among them
	Templates uint64 `json:"templates"` // templates that were learned or changed
	// Waiting counts the messages that are kept now because a template is missing, Untemplated the
	// sets that passed without a template.
	Waiting     uint64 `json:"waiting"`
	Untemplated uint64 `json:"untemplated"`
	// Lost counts gaps in sequence numbers: records, or messages where the exporter counts
	// these. While an exporter may count something else, gaps which that explains are not in.
	Lost     uint64 `json:"lost"`
	Replayed uint64 `json:"replayed"` // messages that came again, byte for byte
	Restarts uint64 `json:"restarts"` // of exporters
	// Reassembled counts UDP datagrams that were reassembled from IP fragments. Fragments
	// counts fragments of UDP that could not be: others never came, or they contradict each
	// other.
	Reassembled uint64 `json:"reassembled"`
	Fragments   uint64 `json:"fragments"`
	// Remembered is the shortest time that messages of a source were remembered to recognize
	// repeats. It is 0 if memory sufficed for an hour.
	Remembered  time.Duration `json:"remembered_ns"`
	Records     uint64        `json:"-"`
	Undecodable uint64        `json:"-"` // records, or sets and messages with an unknown number of records
	Forgotten   uint64        `json:"-"` // exporters whose templates were evicted for others'
	Foreign     uint64        `json:"-"` // packets without a message of flow records
	// Misdated counts records whose times cannot be: before 1980, or an end before the start.
	// The time when they came counts instead. MisdatedAt is the first such time.
	Misdated   uint64 `json:"-"`
	MisdatedAt int64  `json:"-"`
	// Unread counts values of text that could not be read, Other records of text that are not
	// about flows: other events of the same log.
	Unread uint64 `json:"-"`
	Other  uint64 `json:"-"`
}

// Verdict is a judge's verdict on a record.
type Verdict uint8

// The verdicts.
const (
	Keep      Verdict = iota
	Copy              // another point reported the flow
	Unchecked         // kept, since nothing could be said
)
