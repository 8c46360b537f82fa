// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"cmp"
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

func newSummary(cfg *config, j *match.Judge, n *names, read records.Counts, took time.Duration) summary {
	c := j.Counts()
	s := summary{
		Heading:   version.HeadingOf("flows"),
		RecordsIn: c.Records, RecordsOut: c.Records - c.Copies, Copies: c.Copies, Unchecked: c.Unchecked + read.Untemplated, NoRoom: c.NoRoom,
		Undecodable: read.Undecodable, BytesIn: c.Bytes, CopiedBytes: c.CopiedBytes, Counts: read,
		Other: read.Other, Foreign: read.Foreign, Sampled: c.Sampled, Archived: c.Archived, Policy: cfg.Policy, Key: j.Key().String(), Point: cfg.Match.Points.String(),
		Points: []pointSummary{}, Matrix: []pairSummary{}, Took: took, Rate: float64(c.Records) / took.Seconds(),
	}
	if cfg.Policy == mark {
		s.RecordsOut = c.Records
	}
	for i := range j.Points() {
		s.Points = append(s.Points, pointSummary{n.of(uint32(i + 1)), j.Points()[i].PointCounts})
	}
	j.EachPair(func(original, copied uint32, copies uint64) {
		s.Matrix = append(s.Matrix, pairSummary{n.of(original), n.of(copied), copies})
	})
	slices.SortStableFunc(s.Matrix, func(a, b pairSummary) int {
		return cmp.Or(cmp.Compare(b.Copies, a.Copies), cmp.Compare(a.Original, b.Original), cmp.Compare(a.Copy, b.Copy))
	})
	s.Matrix = s.Matrix[:min(len(s.Matrix), maxPairs)]
	return s
}

// add returns the sum of two readers' counts.
func add(a, b records.Counts) records.Counts {
	a.Messages += b.Messages
	a.Records += b.Records
	a.Undecodable += b.Undecodable
	a.Waiting += b.Waiting
	a.Untemplated += b.Untemplated
	a.Lost += b.Lost
	a.Replayed += b.Replayed
	a.Restarts += b.Restarts
	a.Reassembled += b.Reassembled
	a.Fragments += b.Fragments
	a.Remembered = max(a.Remembered, b.Remembered) // one reader has messages
	a.Templates += b.Templates
	a.Unread += b.Unread
	a.Misdated += b.Misdated
	a.MisdatedAt = cmp.Or(a.MisdatedAt, b.MisdatedAt)
	a.Other += b.Other
	a.Foreign += b.Foreign
	return a
}
