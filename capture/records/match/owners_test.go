// SPDX-License-Identifier: Apache-2.0

package match

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/snapshot"
	"github.com/flowdedup/flowdedup/layout"
)

func ownersOf(t testing.TB, memory int) *owners {
	o, err := newOwners(memory)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = o.Close() })
	for point := range o.silent {
		o.setSilent(uint32(point), 2*time.Minute)
	}
	return o
}

// tell returns a report of the time from a second to a second.
func tell(flow uint64, point uint32, from, to float64) ownerReport {
	return ownerReport{
		Flow: flow, Point: point, Start: 1e18 + int64(from*1e9), End: 1e18 + int64(to*1e9), Now: 1e18 + int64(to*1e9),
		Alive: 2 * time.Minute, Within: 500 * time.Millisecond,
	}
}

// TestTell states the rules one by one.
func TestTell(t *testing.T) {
	const a, b, c = 1, 2, 3
	for name, reports := range map[string][]struct {
		point    uint32
		from, to float64
		want     ownerAnswer
	}{
		"one point repeats a flow":        {{a, 0, 1, ownerNew}, {a, 0, 1, ownerNew}, {a, 1, 1, ownerNew}},
		"another tells the same":          {{a, 0, 60, ownerNew}, {b, 0, 60, ownerCopy}, {c, 0, 60, ownerCopy}},
		"a packet":                        {{a, 5, 5, ownerNew}, {b, 5.3, 5.3, ownerCopy}, {b, 4.7, 4.7, ownerCopy}},
		"the next packet":                 {{a, 5, 5, ownerNew}, {b, 5.9, 5.9, ownerNew}},
		"what comes next":                 {{a, 0, 60, ownerNew}, {b, 60, 120, ownerNew}, {a, 60, 120, ownerCopy}, {a, 120, 180, ownerNew}, {b, 120, 180, ownerCopy}},
		"what begins in what was told":    {{a, 0, 60, ownerNew}, {b, 30, 90, ownerCopy}, {a, 60, 120, ownerNew}, {b, 90, 150, ownerCopy}},
		"a minute in seconds":             {{a, 0, 1, ownerNew}, {a, 1, 2, ownerNew}, {a, 2, 3, ownerNew}, {b, 0, 3, ownerCopy}},
		"seconds in a minute":             {{a, 0, 60, ownerNew}, {b, 2, 3, ownerCopy}, {b, 60, 61, ownerNew}, {a, 60, 120, ownerCopy}},
		"from before a pause":             {{a, 0, 10, ownerNew}, {a, 50, 60, ownerNew}, {b, 20, 30, ownerNew}, {b, 50, 60, ownerCopy}},
		"late, of what the owner told":    {{a, 0, 10, ownerNew}, {a, 10, 20, ownerNew}, {b, 0, 9, ownerCopy}},
		"the owner is late":               {{a, 50, 60, ownerNew}, {a, 0, 10, ownerNew}, {b, 50, 60, ownerCopy}},
		"long ago":                        {{a, 0, 10, ownerNew}, {b, 1000, 1010, ownerNew}, {a, 1000, 1010, ownerCopy}},
		"the same a week ago":             {{a, 1e6, 1e6, ownerNew}, {a, 0, 1, ownerNew}, {b, 1e6, 1e6, ownerCopy}, {b, 0, 1, ownerCopy}},
		"a clock that was years ahead":    {{a, 1e8, 1e8, ownerNew}, {b, 0, 1, ownerNew}, {a, 0, 1, ownerCopy}},
		"a report that ends before start": {{a, 5, 3, ownerNew}, {b, 5, 5, ownerCopy}},
		"packets, and a minute":           {{a, 0, 0, ownerNew}, {a, 20, 20, ownerNew}, {a, 40, 40, ownerNew}, {b, 0, 40, ownerCopy}},
		"in a pause":                      {{a, 0, 10, ownerNew}, {a, 60, 70, ownerNew}, {b, 20, 30, ownerNew}, {a, 71, 80, ownerNew}, {b, 20, 30, ownerNew}, {b, 5, 65, ownerCopy}},
		"in the longest pause":            {{a, 0, 10, ownerNew}, {a, 60, 70, ownerNew}, {a, 80, 90, ownerNew}, {b, 30, 85, ownerNew}, {b, 75, 85, ownerCopy}},
		"relieved, and back":              {{a, 0, 10, ownerNew}, {b, 30, 40, ownerNew}, {a, 11, 29, ownerNew}, {a, 35, 45, ownerCopy}, {c, 5, 45, ownerCopy}},
		"the owner is gone":               {{a, 0, 10, ownerNew}, {b, 5, 300, ownerNew}, {a, 20, 30, ownerCopy}},
		"it began before the owner":       {{a, 30, 40, ownerNew}, {b, 0, 40, ownerNew}, {a, 40, 50, ownerNew}, {b, 40, 50, ownerCopy}},
	} {
		t.Run(name, func(t *testing.T) {
			o := ownersOf(t, 128)
			for i, r := range reports {
				if _, got := o.report(tell(77, r.point, r.from, r.to)); got != r.want {
					t.Errorf("report %d: %d, want %d", i, got, r.want)
				}
			}
		})
	}
}

// TestRanks has a better point take a flow over.
func TestRanks(t *testing.T) {
	o := ownersOf(t, 128)
	o.rank(2, 7)
	for i, r := range []struct {
		point    uint32
		from, to float64
		want     ownerAnswer
	}{
		{1, 0, 60, ownerNew}, {2, 0, 60, ownerCopy}, // but from now on it is the owner
		{1, 60, 120, ownerCopy}, {2, 60, 120, ownerNew}, {1, 170, 230, ownerCopy}, {1, 300, 360, ownerNew}, {2, 300, 360, ownerCopy}, {2, 360, 420, ownerNew},
	} {
		if _, got := o.report(tell(77, r.point, r.from, r.to)); got != r.want {
			t.Errorf("report %d: %d, want %d", i, got, r.want)
		}
	}
}

// TestLateReports has three points report a few flows an hour late, as exporters do that read a
// capture: no flow takes the place of another.
func TestLateReports(t *testing.T) {
	o := ownersOf(t, 128)
	for i, want := range []ownerAnswer{ownerNew, ownerCopy, ownerCopy} {
		for flow := range uint64(5) {
			r := tell(flow, uint32(1+i), 0, 1)
			r.Now += int64(time.Hour)
			if _, got := o.report(r); got != want {
				t.Errorf("flow %d of point %d: %d, want %d", flow, 1+i, got, want)
			}
		}
	}
}

// TestWeekOld has two points report flows of now and of a week ago in turn, half of them the
// same flows, until they filled the table 80 times. A quarter of its cells is alive, so now and
// then all ten places of a flow are taken by others that are.
func TestWeekOld(t *testing.T) {
	const week, seconds, delay = 7 * 86400, 40_000, 20
	o, rng := ownersOf(t, 6<<14/5), rand.New(rand.NewPCG(11, 12))
	var waiting []ownerReport
	kept := 0
	for i := range seconds {
		at := float64(i)
		flow := rng.Uint64()
		for _, r := range []ownerReport{tell(flow, 1, at, at+1), tell(flow, 1, at-week, at+1-week), tell(rng.Uint64(), 1, at-week, at+1-week)} {
			if _, got := o.report(r); got != ownerNew {
				t.Fatalf("second %d: %d", i, got)
			}
			r.Point = 2
			waiting = append(waiting, r)
		}
		for len(waiting) > 3*delay {
			if _, got := o.report(waiting[0]); got != ownerCopy {
				kept++
			}
			waiting = waiting[1:]
		}
	}
	if copies := 3 * (seconds - delay); kept > copies/300 {
		t.Errorf("%d of %d copies are kept", kept, copies)
	}
}

// TestCrowd floods a table: flows that it knows stay, and others find no room until these
// are no longer alive.
func TestCrowd(t *testing.T) {
	o, rng := ownersOf(t, 1<<12), rand.New(rand.NewPCG(1, 2))
	known := make([]uint64, 150)
	for i := range known {
		known[i] = rng.Uint64()
		if _, got := o.report(tell(known[i], 1, 0, 1)); got != ownerNew {
			t.Fatal(got)
		}
	}
	crowd := 0
	for range 10_000 {
		if _, got := o.report(tell(rng.Uint64(), 9, 1, 2)); got == ownerFull {
			crowd++
		}
	}
	if crowd < 9000 {
		t.Errorf("%d found no room", crowd)
	}
	for _, flow := range known {
		if owner, got := o.report(tell(flow, 2, 0, 1)); got != ownerCopy || owner != 1 {
			t.Fatalf("%d by %d", got, owner)
		}
	}
	late := 0
	for range 250 {
		if _, got := o.report(tell(rng.Uint64(), 9, 500, 501)); got == ownerFull {
			late++
		}
	}
	if late > 30 {
		t.Errorf("%d of 250 found no room among dead flows", late)
	}
}

// TestRoom holds 40,000 flows in a megabyte, as eight million in 200, except a few.
func TestRoom(t *testing.T) {
	o, rng := ownersOf(t, 1_000_000), rand.New(rand.NewPCG(3, 4))
	crowd := 0
	for range 40_000 {
		if _, got := o.report(tell(rng.Uint64(), 1, 0, 1)); got == ownerFull {
			crowd++
		}
	}
	if crowd > 500 { // 0.4 % are expected
		t.Errorf("%d of 40000 flows found no room", crowd)
	}
}

// TestDistance codes times before an end that moves on: they are rounded by less than a hundredth
// of their distance, whichever way they were coded before.
func TestDistance(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 2000 {
		from := rng.Uint32()
		down, near := from, from
		for end := from; end-from < 200_000; end += 1 + rng.Uint32N(1+(end-from)/4) {
			down, near = atDistance(end, distanceTo(end, down, 0)), atDistance(end, distanceTo(end, near, 1))
			most := int32((end - from) / 100)
			if d := int32(down - from); d > 0 || -d > most {
				t.Fatalf("%d after %d, rounded down: %d away", end-from, from, d)
			}
			if d := int32(near - from); d > most || -d > most {
				t.Fatalf("%d after %d: %d away", end-from, from, d)
			}
		}
	}
	for _, long := range []uint32{1 << 20, 1 << 31, math.MaxUint32} {
		if got := atDistance(7, distanceTo(7, 7-long, 0)); uint64(7-got) > uint64(long)*101/100 {
			t.Errorf("%d before: %d", long, 7-got)
		}
	}
}

// TestCell fills the cells of a line, in any order, and reads what they hold.
func TestCell(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 9))
	var line layout.Line
	var want [layout.OwnerCells]reported
	var owner [layout.OwnerCells]uint32
	for range 10_000 {
		at := rng.IntN(layout.OwnerCells)
		end := 1e9 + rng.Uint32N(1<<20)
		want[at], owner[at] = reported{end - rng.Uint32N(mantissa), end - rng.Uint32N(mantissa), end - rng.Uint32N(mantissa), end}, 1+rng.Uint32N(maxPoint)
		ownerCell{&line, uint(at)}.set(uint64(at)<<40|uint64(at), owner[at], want[at])
		for i := range want {
			c := ownerCell{&line, uint(i)}
			if owner[i] != 0 && (c.owner() != owner[i] || c.reported(1e9) != want[i] || c.tag() != uint64(i)) {
				t.Fatalf("cell %d: %+v of %d, want %+v of %d", i, c.reported(1e9), c.owner(), want[i], owner[i])
			}
		}
	}
}

// TestOwnersSnapshot goes on with what was saved, and rejects damage and other settings.
func TestOwnersSnapshot(t *testing.T) {
	o, rng := ownersOf(t, 1<<14), rand.New(rand.NewPCG(7, 8))
	reports := func(point uint32) (all []ownerReport) {
		r := rand.New(rand.NewPCG(9, 9))
		for range 500 {
			all = append(all, tell(r.Uint64(), point, 0, 5))
		}
		return all
	}
	for _, r := range reports(1) {
		o.report(r)
	}
	var saved bytes.Buffer
	key := engine.Secret{7}
	if err := o.snapshot(&saved, key, "label"); err != nil {
		t.Fatal(err)
	}
	config := snapshot.RestoreConfig{Secret: key, Label: "label", Memory: 1 << 14}
	restored, err := restoreOwners(bytes.NewReader(saved.Bytes()), config)
	if err != nil {
		t.Fatal(err)
	}
	defer restored.Close()
	for i, r := range reports(2) {
		one, want := restored.report(r)
		if other, got := o.report(r); one != other || want != got {
			t.Fatalf("report %d: %d by %d, want %d by %d", i, want, one, got, other)
		}
	}
	for name, c := range map[string]snapshot.RestoreConfig{
		"secret": {Label: "label", Memory: 1 << 14}, "label": {Secret: key, Memory: 1 << 14}, "memory": {Secret: key, Label: "label", Memory: 1 << 10},
	} {
		if _, err := restoreOwners(bytes.NewReader(saved.Bytes()), c); err == nil {
			t.Errorf("another %s is taken", name)
		}
	}
	for range 200 {
		damaged := bytes.Clone(saved.Bytes())
		damaged[rng.IntN(len(damaged))] ^= 1 << rng.IntN(8)
		if o, err := restoreOwners(bytes.NewReader(damaged), config); err == nil {
			o.Close()
			t.Fatal("damage is taken")
		}
	}
}

// BenchmarkTell reports many flows.
func BenchmarkTell(b *testing.B) {
	o, rng := ownersOf(b, 200e6), rand.New(rand.NewPCG(7, 8))
	flows := make([]uint64, 1<<20)
	for i := range flows {
		flows[i] = rng.Uint64()
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		group := flows[i*30%(1<<20-30):][:30]
		o.fetch(group)
		for n, flow := range group {
			o.report(tell(flow, 1+uint32(n&3), float64(i)/1e6, float64(i)/1e6+1))
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/30, "ns/record")
}

// TestOwnersGrow fills a table while it grows to all its memory, in the end from a snapshot: it
// forgets no flow, and takes no more memory than flows need.
func TestOwnersGrow(t *testing.T) {
	const memory = 64 << 20
	o, rng := ownersOf(t, memory), rand.New(rand.NewPCG(13, 14))
	var flows []uint64
	owner := func(i int) uint32 { return 1 + uint32(i)%3 }
	check := func() {
		t.Helper()
		for i, flow := range flows {
			if got, answer := o.report(tell(flow, 4, float64(i%7), float64(i%7))); answer != ownerCopy || got != owner(i) {
				t.Fatalf("flow %d of %d: %d by %d", i, len(flows), answer, got)
			}
		}
	}
	for grown := uint(0); grown < maxOwnersGrown; {
		flow := rng.Uint64()
		flows = append(flows, flow)
		i := len(flows) - 1
		if _, answer := o.report(tell(flow, owner(i), float64(i%7), float64(i%7))); answer != ownerNew {
			t.Fatalf("flow %d: %d", i, answer)
		}
		if o.grown == grown {
			continue
		}
		grown = o.grown
		if bytes := o.Bytes() / 2; bytes > 30*len(flows) {
			t.Errorf("%d flows filled %d bytes", len(flows), bytes)
		}
		check()
		if grown == 2 {
			o = resaved(t, o, memory)
			check()
		}
	}
	if o.Bytes() != memory {
		t.Errorf("%d bytes of %d", o.Bytes(), memory)
	}
}

// resaved returns the table that was saved.
func resaved(t *testing.T, o *owners, memory int) *owners {
	t.Helper()
	var saved bytes.Buffer
	if err := o.snapshot(&saved, engine.Secret{7}, ""); err != nil {
		t.Fatal(err)
	}
	if saved.Len() > o.Bytes()+1000 {
		t.Errorf("%d bytes are saved of a table of %d", saved.Len(), o.Bytes())
	}
	restored, err := restoreOwners(&saved, snapshot.RestoreConfig{Secret: engine.Secret{7}, Memory: memory})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = restored.Close() })
	return restored
}
