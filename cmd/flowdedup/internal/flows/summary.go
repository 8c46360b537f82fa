// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/flowdedup/flowdedup/capture/pcapoverip"
	"github.com/flowdedup/flowdedup/capture/records"
	"github.com/flowdedup/flowdedup/capture/records/match"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/version"
)

// summary is the JSON of "flowdedup flows --json".
type summary struct {
	version.Heading
	RecordsIn   uint64 `json:"records_in"`
	RecordsOut  uint64 `json:"records_out"`
	Copies      uint64 `json:"duplicates"`
	Unchecked   uint64 `json:"unchecked"`
	NoRoom      uint64 `json:"no_room"` // of Unchecked: for want of memory
	Undecodable uint64 `json:"undecodable"`
	// Unread are values of text that could not be read, Other counts records of text that are
	// no flows, Untimed records in no window of config.Distinct.
	Unread      []unreadSummary `json:"unread"`
	Other       uint64          `json:"other_events"`
	Untimed     uint64          `json:"untimed"`
	Foreign     uint64          `json:"foreign"`  // packets without a message of flow records
	BytesIn     uint64          `json:"bytes_in"` // that records report
	CopiedBytes uint64          `json:"duplicate_bytes"`

	records.Counts        // of messages; Remembered is 0 for an hour or more
	Sampled        uint64 `json:"sampled"`
	Dropped        uint64 `json:"dropped"`  // datagrams: by the kernel, or unread when the run ended
	Archived       uint64 `json:"archived"` // records whose messages were sent again more than a day later
	Late           uint64 `json:"late"`     // records that no count has: their windows were closed, or far ahead

	Policy policy `json:"policy"`
	Key    string `json:"flow_key"`
	Point  string `json:"point"`
	// MemoryBytes is the memory that grows with the input, MemoryLimit its limit.
	MemoryBytes int `json:"memory_bytes"`
	MemoryLimit int `json:"memory_limit_bytes"`
	// Early counts records that were written before they had waited for their copies, for want of
	// memory.
	Early uint64 `json:"held_early"`

	Points []pointSummary `json:"points"`
	Matrix []pairSummary  `json:"matrix"`

	// The peers of all addresses of config.Streams; nil without.
	*pcapoverip.ReceiverStats
	// Failing are the reasons why the run is not well now.
	Failing []string `json:"-"`

	Relayed    *relaySummary `json:"relayed,omitempty"`
	Inspection *inspection   `json:"inspection,omitempty"`
	// Elsewhere are files of a rotation whose folder takes no name for them, with commas between.
	Elsewhere string `json:"elsewhere,omitempty"`

	Damaged bool `json:"damaged"`
	// badLines are records of text that are damaged, among Undecodable.
	badLines uint64
	Took     time.Duration `json:"elapsed_ns"`
	Rate     float64       `json:"records_per_second"`
}

// relaySummary counts the messages sent to a collector.
type relaySummary struct {
	To       string `json:"to"`
	Messages uint64 `json:"messages"`
	Bytes    uint64 `json:"bytes"`
	Failed   uint64 `json:"failed"`
	// Own are messages from our address, as the exporter's could not be kept.
	Own uint64 `json:"own_address"`
}

// pointSummary describes a point.
type pointSummary struct {
	Name string `json:"point"`
	match.PointCounts
}

// pairSummary counts the records of a point that were copies of another's.
type pairSummary struct {
	Original string `json:"first"`
	Copy     string `json:"copy"`
	Copies   uint64 `json:"duplicates"`
}

// maxPairs is how many pairs of points are listed.
const maxPairs = 1000

// newSummary returns the summary of a run so far.
func newSummary(cfg *config, in *inputs, j *judging, took time.Duration) summary {
	c, read := j.match.Counts(), in.counts
	s := summary{
		Heading:   version.HeadingOf("flows"),
		RecordsIn: c.Records, RecordsOut: c.Records - c.Copies, Copies: c.Copies, Unchecked: c.Unchecked + read.Untemplated, NoRoom: c.NoRoom,
		Undecodable: read.Undecodable, Unread: unreadOf(in), BytesIn: c.Bytes, CopiedBytes: c.CopiedBytes, Counts: read,
		Other: read.Other, Foreign: read.Foreign, Sampled: c.Sampled, Dropped: in.dropped(), Archived: c.Archived,
		Policy: cfg.Policy, Key: j.match.Key().String(), Point: cfg.Match.Points.String(),
		MemoryLimit: cfg.Memory, MemoryBytes: j.match.Bytes() + j.match.PointBytes() + in.bytes,
		Points: []pointSummary{}, Matrix: []pairSummary{},
		Damaged: in.damaged.Load() || in.badLines > 0, badLines: in.badLines, Took: took, Rate: float64(c.Records) / took.Seconds(),
	}
	if cfg.Policy == mark {
		s.RecordsOut = c.Records
	}
	s.addPoints(j)
	if j.hold != nil {
		s.MemoryBytes += j.hold.Bytes()
		s.Early = j.hold.Early()
	}
	if d := j.distinct; d != nil {
		s.Late, s.Untimed = d.late, d.untimed
		s.MemoryLimit += cfg.Distinct.Budget
		s.MemoryBytes += d.bytes()
	}
	if j.relay != nil {
		sent := j.relay.sender.Stats()
		s.Relayed = &relaySummary{cfg.Relay, sent.Sent, sent.Bytes, sent.Failed, sent.Own}
	}
	if j.inspector != nil {
		s.Inspection = j.inspector.answer(cfg, &s)
	}
	s.addPeers(cfg, in)
	return s
}

// addPoints adds the points, and the pairs of them with the most copies.
func (s *summary) addPoints(j *judging) {
	points := j.match.Points()
	for i := range points {
		s.Points = append(s.Points, pointSummary{j.names.of(uint32(i + 1)), points[i].PointCounts})
	}
	j.match.EachPair(func(original, copied uint32, copies uint64) {
		s.Matrix = append(s.Matrix, pairSummary{j.names.of(original), j.names.of(copied), copies})
	})
	slices.SortStableFunc(s.Matrix, func(a, b pairSummary) int {
		return cmp.Or(cmp.Compare(b.Copies, a.Copies), cmp.Compare(a.Original, b.Original), cmp.Compare(a.Copy, b.Copy))
	})
	s.Matrix = s.Matrix[:min(len(s.Matrix), maxPairs)]
}

// addPeers adds the counts of peers of all addresses, and names the addresses that accept no peers.
func (s *summary) addPeers(cfg *config, in *inputs) {
	for i, receiver := range in.receivers {
		of := receiver.Stats()
		if s.ReceiverStats == nil {
			s.ReceiverStats = new(pcapoverip.ReceiverStats)
		}
		s.Peers += of.Peers
		s.Connected += of.Connected
		s.PeersDropped += of.PeersDropped
		if of.Full != "" {
			s.Failing = append(s.Failing, fmt.Sprintf("input %v accepts no peers: %s", cfg.Streams[i], of.Full))
		}
	}
}

// unreadSummary is a field with values that could not be read, or cannot be.
type unreadSummary struct {
	Field   string `json:"field"` // as --map names it
	Values  uint64 `json:"values"`
	Example string `json:"example"`
	// Time says that the field holds times.
	Time bool `json:"-"`
}

// unreadOf adds up the unread values of all inputs, and records of messages with impossible times.
func unreadOf(in *inputs) []unreadSummary {
	sum := []unreadSummary{}
	for _, u := range in.unread {
		i := slices.IndexFunc(sum, func(s unreadSummary) bool { return s.Field == u.Field })
		if i < 0 {
			sum = append(sum, unreadSummary{Field: u.Field, Example: u.Example, Time: u.Part == records.PartTime})
			i = len(sum) - 1
		}
		sum[i].Values += u.Values
	}
	if n := in.counts.Misdated; n > 0 {
		sum = append(sum, unreadSummary{Field: "time", Values: n, Example: time.Unix(0, in.counts.MisdatedAt).UTC().Format(time.RFC3339Nano), Time: true})
	}
	return sum
}
