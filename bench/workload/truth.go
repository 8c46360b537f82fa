// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"math/bits"
	"time"
)

// relation is the relation of a packet to an earlier one.
type relation uint8

// The kinds of packets. Those from exact to marked are copies within the window after
// their original.
const (
	original relation = iota
	repeat            // the same frame again, seconds later: no copy
	exact             // the same frame
	routed            // other link addresses and one hop less
	tagged            // with a VLAN tag
	marked            // with another DSCP
	kinds
)

// String returns the kind's name in the truth file.
func (k relation) String() string {
	return [kinds]string{"original", "repeat", "exact", "routed", "vlan", "dscp"}[k]
}

// Truth is the content of a workload, counted while it was written.
type Truth struct {
	Packets    int64            `json:"packets"`
	Bytes      int64            `json:"bytes"` // captured
	Duplicates int64            `json:"duplicates"`
	Kinds      map[string]int64 `json:"kinds"` // packets of each, originals included
	First      time.Time        `json:"first_timestamp"`
	Last       time.Time        `json:"last_timestamp"`
	Hours      []Hour           `json:"hours"` // those with packets, by time
	Whole      Families         `json:"whole"` // over all hours
}

// Hour counts one hour of UTC.
type Hour struct {
	Start   time.Time `json:"window_start"`
	Packets int64     `json:"packets"` // copies included
	Families
}

// Families counts by IP version.
type Families struct {
	IPv4 Distinct `json:"ipv4"`
	IPv6 Distinct `json:"ipv6"`
}

// Distinct counts different source addresses, destination addresses and
// five-tuples.
type Distinct struct {
	Src  int64 `json:"src"`
	Dst  int64 `json:"dst"`
	Flow int64 `json:"flow"`
}

// tally counts a workload while it is written.
type tally struct {
	truth   Truth
	kinds   [kinds]int64
	hour    int64 // since 1970
	last    int64 // nanoseconds
	current seen
	whole   seen
}

// seen marks the numbers that appeared, by family.
type seen struct {
	src, dst, flow [2][]uint64
}

func newSeen(flows *population, count int) seen {
	var s seen
	for family := range 2 {
		s.src[family] = make([]uint64, flows.sources/64+1)
		s.dst[family] = make([]uint64, flows.targets/64+1)
		s.flow[family] = make([]uint64, count/64+1)
	}
	return s
}

func (t *tally) add(now int64, size int, p packet, fl flow) {
	if hour := now / int64(time.Hour); hour != t.hour {
		t.closeHour()
		t.hour = hour
	}
	if t.truth.Packets == 0 {
		t.truth.First = time.Unix(0, now).UTC()
	}
	t.truth.Packets++
	t.truth.Bytes += int64(size)
	t.kinds[p.kind]++
	t.last = now
	family := 0
	if fl.v6 {
		family = 1
	}
	mark(t.current.src[family], fl.src)
	mark(t.current.dst[family], fl.dst)
	mark(t.current.flow[family], p.flow)
}

func mark(set []uint64, number uint32) {
	set[number/64] |= 1 << (number % 64)
}

// closeHour counts the current hour's numbers and starts the next one.
func (t *tally) closeHour() {
	before := int64(0)
	for _, hour := range t.truth.Hours {
		before += hour.Packets
	}
	if t.truth.Packets == before {
		return
	}
	t.truth.Hours = append(t.truth.Hours, Hour{
		Start:    time.Unix(t.hour*3600, 0).UTC(),
		Packets:  t.truth.Packets - before,
		Families: t.current.count(),
	})
	t.whole.merge(&t.current)
}

// finish returns the whole count.
func (t *tally) finish() Truth {
	t.closeHour()
	t.truth.Whole = t.whole.count()
	t.truth.Last = time.Unix(0, t.last).UTC()
	t.truth.Kinds = make(map[string]int64, kinds)
	for kind, count := range t.kinds {
		t.truth.Kinds[relation(kind).String()] = count
		if relation(kind) >= exact {
			t.truth.Duplicates += count
		}
	}
	return t.truth
}

func (s *seen) count() Families {
	by := func(family int) Distinct {
		return Distinct{Src: ones(s.src[family]), Dst: ones(s.dst[family]), Flow: ones(s.flow[family])}
	}
	return Families{IPv4: by(0), IPv6: by(1)}
}

func ones(set []uint64) (count int64) {
	for _, word := range set {
		count += int64(bits.OnesCount64(word))
	}
	return count
}

// merge adds other's numbers and empties it.
func (s *seen) merge(other *seen) {
	for family := range 2 {
		move(s.src[family], other.src[family])
		move(s.dst[family], other.dst[family])
		move(s.flow[family], other.flow[family])
	}
}

func move(to, from []uint64) {
	for i, word := range from {
		to[i] |= word
	}
	clear(from)
}
