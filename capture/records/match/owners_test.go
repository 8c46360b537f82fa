// SPDX-License-Identifier: Apache-2.0

package match

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/engine/secret"
	"github.com/flowdedup/flowdedup/engine/snapshot"
)

func ownersOf(t testing.TB, memory int) *owners {
	o, err := newOwners(memory)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = o.Close() })
	return o
}

// tell returns a report from one second to another.
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
	o.setRank(2, 7)
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
// then all twelve places of a flow are taken by others that are.
func TestWeekOld(t *testing.T) {
	const week, seconds, delay = 7 * 86400, 40_000, 20
	o, rng := ownersOf(t, 1<<14), rand.New(rand.NewPCG(11, 12))
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
	if copies := 3 * (seconds - delay); kept > copies/400 {
		t.Errorf("%d of %d copies are kept", kept, copies)
	}
}

// TestCrowd floods a table: flows that it knows stay, and others find no room until these
// are no longer alive.
func TestCrowd(t *testing.T) {
	o, rng := ownersOf(t, 1<<12), rand.New(rand.NewPCG(1, 2))
	known := make([]uint64, 200)
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
	for range 300 {
		if _, got := o.report(tell(rng.Uint64(), 9, 500, 501)); got == ownerFull {
			late++
		}
	}
	if late > 30 {
		t.Errorf("%d of 300 found no room among dead flows", late)
	}
}

// TestRoom holds 50,000 flows in a megabyte, as ten million in 200, except a few.
func TestRoom(t *testing.T) {
	o, rng := ownersOf(t, 1_000_000), rand.New(rand.NewPCG(3, 4))
	crowd := 0
	for range 50_000 {
		if _, got := o.report(tell(rng.Uint64(), 1, 0, 1)); got == ownerFull {
			crowd++
		}
	}
	if crowd > 500 { // 0.4 % are expected
		t.Errorf("%d of 50000 flows found no room", crowd)
	}
}

// TestCompress rounds lengths down by less than a sixteenth.
func TestCompress(t *testing.T) {
	for n := uint32(0); n < 1<<18; n++ {
		code := compress(n)
		if got := expand(code); got > n || n < 400_000 && float64(n-got) > float64(n)/16 || code > 255 {
			t.Fatalf("%d: %d", n, got)
		}
	}
	for _, n := range []uint32{1 << 20, 1 << 31, 1<<32 - 1} {
		if got := expand(compress(n)); got > n {
			t.Errorf("%d: %d", n, got)
		}
	}
}

// plainOwner is what a map remembers.
type plainOwner struct {
	point     uint32
	from, end int64
}

// TestOwnersModel asks about random reports, and compares with a map of times that are not
// cut. Reports at which the rounding of times decides are left out.
func TestOwnersModel(t *testing.T) {
	o, rng := ownersOf(t, 1<<20), rand.New(rand.NewPCG(5, 6))
	model := map[uint64]*plainOwner{}
	now := float64(0)
	for i := range 100_000 {
		now += rng.Float64() / 10
		flow := (1 + rng.Uint64N(200)) * 0x9e3779b97f4a7c15
		length := []float64{0, 1, 10, 60}[rng.IntN(4)]
		r := tell(flow, 1+rng.Uint32N(3), now-length-rng.Float64()*10, now)
		r.Start = r.Start >> 26 << 26 // as the table has it
		r.End = max(r.Start, r.End>>26<<26)
		r.Within = r.Within >> 26 << 26
		_, got := o.report(r)
		if want := tellPlain(model, r); got != want {
			t.Fatalf("report %d: %d, want %d", i, got, want)
		}
		if p := model[flow]; p != nil { // lengths are rounded
			p.from = p.end - int64(expand(compress(uint32((p.end-p.from)>>26))))<<26
		}
	}
}

func tellPlain(model map[uint64]*plainOwner, r ownerReport) ownerAnswer {
	p := model[r.Flow]
	if p == nil || r.Now-p.end > int64(r.Alive) && r.End-p.end > int64(r.Alive) {
		model[r.Flow] = &plainOwner{r.Point, r.Start, r.End}
		return ownerNew
	}
	within := int64(r.Within)
	if p.point != r.Point {
		begins := min(r.End-r.Start, 2*within) - within
		switch {
		case r.Start+begins <= p.end && p.from+begins <= r.End:
			return ownerCopy
		case r.End < p.from:
			return ownerNew
		}
		*p = plainOwner{r.Point, r.Start, r.End}
		return ownerNew
	}
	switch {
	case r.Start > p.end+within:
		p.from, p.end = r.Start, r.End
	case p.from > r.End+within:
	default:
		p.from, p.end = min(p.from, r.Start), max(p.end, r.End)
	}
	return ownerNew
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
	key := secret.Secret{7}
	if err := o.Snapshot(&saved, key, "label"); err != nil {
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
