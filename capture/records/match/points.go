// SPDX-License-Identifier: Apache-2.0

package match

import (
	"errors"
	"slices"
	"time"

	"github.com/flowdedup/flowdedup/capture/records"
)

// PointKind says what distinguishes points within an exporter and its observation domain.
type PointKind uint8

// The kinds of points.
const (
	Exporter    PointKind = iota
	Direction             // its flowDirection
	Interface             // the interface that the flow came in by
	Same                  // the input: one exporter, stored by several collectors
	Observation           // its observationPointId
)

var pointNames = []string{"exporter", "direction", "interface", "same", "observation"}

// ParsePointKind reads the name of a kind.
func ParsePointKind(s string) (PointKind, error) {
	if i := slices.Index(pointNames, s); i >= 0 {
		return PointKind(i), nil
	}
	return 0, errors.New("must be exporter, direction, interface, same or observation")
}

func (k PointKind) String() string { return pointNames[k] }

// of returns the part that distinguishes a record's point from others of its exporter.
func (k PointKind) of(r *records.Record) uint32 {
	switch k {
	case Direction:
		return uint32(r.Direction)
	case Interface:
		return r.Ingress
	case Same:
		return r.Input
	case Observation:
		return r.Observation
	}
	return 0
}

// PointName names a point. Part is 0, the direction, the interface, the observation point, or the input.
type PointName struct {
	records.Point
	Part uint32
}

// Point describes a point, with its counts.
type Point struct {
	PointName
	PointCounts
	First     int64 // when its first record came
	Last      int64 // when its last record came
	precision time.Duration
	delay     time.Duration // the longest from the end of a record to its arrival
	clock     *clock
}

// PointCounts are the records of a point, and what they show of it. "flowdedup flows --json" gives
// them these names.
type PointCounts struct {
	Records   uint64 `json:"records_in"`
	Copies    uint64 `json:"duplicates"`
	Unchecked uint64 `json:"unchecked"`
	// Packets and Bytes are sums of all records, in both directions, CopiedBytes the bytes of
	// copies.
	Packets     uint64 `json:"packets_in"`
	Bytes       uint64 `json:"bytes_in"`
	CopiedBytes uint64 `json:"duplicate_bytes"`
	// Offset is the correction of its times, 0 while unknown.
	Offset time.Duration `json:"offset_ns"`
	// Longest is the duration of the longest record: about its active timeout.
	Longest time.Duration `json:"longest_ns"`
	// Sampling is the largest interval of its sampled packets, 1 or 0 where it saw all.
	Sampling uint32 `json:"sampling"`
}

// silent is for how long the point reports nothing about a flow that it sees: until its longest
// record would have come, twice over.
func (p *Point) silent() time.Duration { return max(2*(p.Longest+p.delay), shortestAlive) }

// points are numbered from 1.
type points struct {
	kind   PointKind
	most   int
	number map[PointName]uint32
	all    []Point // point n is element n-1
	clocks map[records.Point]*clock
	// last is the point that was looked up last.
	last       PointName
	lastNumber uint32
}

// newPoints has room for the given number of points, and for a few in any case.
func newPoints(kind PointKind, most int) points {
	most = min(max(most, leastPoints), maxPoint)
	return points{kind: kind, most: most, number: map[PointName]uint32{}, clocks: map[records.Point]*clock{}}
}

// find returns the number of a record's point, or 0 where there are too many.
func (p *points) find(r *records.Record) uint32 {
	name := PointName{r.Point, p.kind.of(r)}
	if p.lastNumber != 0 && name == p.last {
		return p.lastNumber
	}
	n, ok := p.number[name]
	if !ok {
		if !p.add(name) {
			return 0
		}
		n = uint32(len(p.all))
	}
	p.last, p.lastNumber = name, n
	return n
}

// add gives a new point the next number. It returns false if the point has a number, or if there
// are too many points.
func (p *points) add(name PointName) bool {
	if _, there := p.number[name]; there || len(p.all) >= p.most {
		return false
	}
	c := p.clocks[name.Point]
	if c == nil {
		c = new(clock)
		p.clocks[name.Point] = c
	}
	p.all = append(p.all, Point{PointName: name, clock: c})
	p.number[name] = uint32(len(p.all))
	return true
}

// at returns a point by its number.
func (p *points) at(n uint32) *Point { return &p.all[n-1] }
