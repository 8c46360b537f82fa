// SPDX-License-Identifier: Apache-2.0

package match

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture/records"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/snapshot"
	"github.com/flowdedup/flowdedup/layout"
)

// TestPairsRestoreInvalid refuses sizes and numbers of records that pairs never have.
func TestPairsRestoreInvalid(t *testing.T) {
	key := engine.Secret{7}
	for _, c := range []struct{ lines, first, next uint64 }{
		{leastPairLines - 1, 1, 1}, {leastPairLines, 0, 0}, {leastPairLines, 2, 1}, {leastPairLines, 1, leastPairLines + 2},
	} {
		var saved bytes.Buffer
		arena, err := layout.NewArena(int(c.lines))
		if err != nil {
			t.Fatal(err)
		}
		out := snapshot.NewWriter(&saved, snapshot.Pairs, key, "label", snapshot.Fields{&c.lines, &c.first, &c.next})
		out.Lines(arena, 0, int(c.lines))
		if err := errors.Join(out.End(), arena.Close()); err != nil {
			t.Fatal(err)
		}
		if err := new(pairs).restore(&saved, snapshot.RestoreConfig{Secret: key, Label: "label", Memory: 1 << 20}, 0); !errors.Is(err, snapshot.ErrInvalid) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestAsked turns answers into what they answer, and nothing else.
func TestAsked(t *testing.T) {
	for _, c := range []struct {
		protocol      uint8
		of, questions uint16 // type and code
	}{
		{1, 0, 8 << 8}, {1, 14 << 8, 13 << 8}, {1, 16 << 8, 15 << 8}, {1, 18 << 8, 17 << 8}, {58, 129 << 8, 128 << 8},
		{1, 3<<8 | 1, 3<<8 | 1}, {1, 8 << 8, 8 << 8}, {17, 53, 53}, {17, 14 << 8, 14 << 8}, {6, 129 << 8, 129 << 8}, {58, 1 << 8, 1 << 8},
	} {
		if got := asked(c.protocol, c.of); got != c.questions {
			t.Errorf("protocol %d: %#x is %#x, want %#x", c.protocol, c.of, got, c.questions)
		}
	}
}

// TestPointsFull gives numbers up to the bound.
func TestPointsFull(t *testing.T) {
	p := newPoints(0, 0)
	for id := range uint32(leastPoints + 1) {
		if got := p.add(PointName{Point: records.Point{Domain: id}}); got != (id < leastPoints) {
			t.Errorf("point %d: %v", id+1, got)
		}
	}
}

// TestSetClocks takes clocks in whole seconds for set up to the borders of their delay: few messages may be
// two seconds late, eight no longer.
func TestSetClocks(t *testing.T) {
	const few, late = setAlike + delayedFew, setAlike + delayed
	for c, want := range map[clock]int64{
		{n: fewSamples - 1, low: few, high: few + 2}: 0, {n: fewSamples - 1, low: few + 1, high: few + 3}: few + 2, {n: fewSamples, low: late, high: late + 2}: 0,
		{n: fewSamples, low: late + 1, high: late + 3}: late + 2, {low: -setAlike - 2, high: -setAlike}: 0, {low: -setAlike - 3, high: -setAlike - 1}: -setAlike - 2,
	} {
		if got := c.ofSeconds(); got != want {
			t.Errorf("%d messages, from %d to %d: an offset of %d, want %d", c.n, c.low, c.high, got, want)
		}
	}
}

// TestAliveBorder has a point of a lower rank report a packet as long after its owner as that lives, or
// before it, and a unit more.
func TestAliveBorder(t *testing.T) {
	const shift = layout.OwnerUnitShift
	r := tell(77, 2, 60, 60)
	alive := int64(r.Alive) >> shift
	for units, want := range map[int64]ownerAnswer{alive: ownerCopy, alive + 1: ownerNew, -alive: ownerCopy, -alive - 1: ownerNew} {
		o, r := ownersOf(t, 128), r
		o.rank(2, 7)
		o.report(r)
		r.Point, r.Start = 1, (r.End>>shift+units)<<shift
		r.End, r.Now = r.Start, r.Start
		if _, got := o.report(r); got != want {
			t.Errorf("%d units later: %d, want %d", units, got, want)
		}
	}
}

// TestPairsApart matches records that begin up to a difference before and after each other.
func TestPairsApart(t *testing.T) {
	for seconds := -6; seconds <= 6; seconds++ {
		j := newJudge(t, Config{Pairs: &Deltas{Start: 5 * time.Second, Duration: -1, Packets: -1, Bytes: -1}})
		at := float64(100 + seconds)
		j.Judge(&records.Batch{Records: []records.Record{rec(1, client, server, 17, 100, 100), rec(2, client, server, 17, at, at)}})
		if got, want := j.Counts().Copies == 1, max(seconds, -seconds) <= 5; got != want {
			t.Errorf("%d seconds after each other: a copy is %v", seconds, got)
		}
	}
}

// TestNoRoom counts records whose flows find no room.
func TestNoRoom(t *testing.T) {
	j := newJudge(t, Config{Memory: 1})
	var all []records.Record
	for port := range 2000 {
		all = append(all, rec(1, fmt.Sprint("10.0.0.1:", port), server, 17, 0, 1))
	}
	j.Judge(&records.Batch{Records: all})
	if c := j.Counts(); c.NoRoom == 0 || c.NoRoom != c.Unchecked {
		t.Errorf("%+v", c)
	}
}

// TestContainsApart takes packets before a pause for the others' only if packets come further apart
// than times differ.
func TestContainsApart(t *testing.T) {
	const within = 10
	r := reported{begin: 0, left: 100, back: 110, end: 200}
	for gap, want := range map[uint32]bool{within: false, within + 1: true} {
		if got := r.contains(99, 199, gap, within); got != want {
			t.Errorf("packets %d apart: %v", gap, got)
		}
	}
}

// TestLongDistances has codes that grow up to the longest.
func TestLongDistances(t *testing.T) {
	before := uint64(0)
	for long := uint64(1); long < 1<<32; long += 1 + long/9 {
		code := distanceTo(7, 7-uint32(long), 0)
		if code < before || code > mostDistance {
			t.Fatalf("%d before: code %d after %d", long, code, before)
		}
		before = code
	}
	if before != mostDistance {
		t.Errorf("the longest code is %d", before)
	}
}
