// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// some returns n, or fewer in short mode.
func some(n int) int {
	if testing.Short() {
		return n / 4
	}
	return n
}

// steady returns n packets of some conversations, each a while after the one before.
func steady(r *rand.Rand, n int, each int64) []packet {
	all := make([]packet, n)
	now := int64(0)
	for i := range all {
		now += 1 + r.Int64N(2*each)
		all[i] = packet{time: now, id: uint32(i), flow: r.Uint32N(200), answer: r.IntN(2) == 0}
	}
	return all
}

// TestClocks removes 1,000 packets from a capture, shifts its clock, stretches it, and
// makes all packets late.
func TestClocks(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	a := steady(r, 30_000, 400*us)
	for i, c := range []struct {
		shift int64
		ppm   float64
		late  func() int64
		// middle is the median of late, and near how far off the offset may be.

		middle, near int64
		ppmNear      float64
	}{
		{3700 * ms, 20, func() int64 { return 0 }, 0, 2, 0.001},
		{3700 * ms, 20, func() int64 { return 50*us + r.Int64N(20*us) }, 60 * us, us, 0.1},
		{-3700 * ms, -20, func() int64 { return int64(r.ExpFloat64() * float64(100*us)) }, 69_315, 3 * us, 0.5},
		{5 * 3600 * 1000 * ms, 100, func() int64 { return r.Int64N(10 * us) }, 5 * us, us, 0.1},
		{-20 * 365 * 24 * 3600 * 1000 * ms, 0, func() int64 { return r.Int64N(10 * us) }, 5 * us, us, 0.1},
	} {
		if i == 3 && testing.Short() {
			break
		}
		removed := map[int]bool{}
		for len(removed) < 1000 {
			removed[r.IntN(len(a))] = true
		}
		var b []packet
		var delays []float64
		for i, p := range a {
			if !removed[i] {
				late := c.late()
				delays = append(delays, float64(late))
				p.time += c.shift + int64(c.ppm*1e-6*float64(p.time-a[0].time)) + late
				b = append(b, p)
			}
		}
		slices.SortStableFunc(b, func(x, y packet) int { return int(x.time - y.time) })
		slices.Sort(delays)
		got, missing := compared(Config{}, a, b, 5000)
		if len(missing[1]) > 0 || len(missing[0]) != 1000 || slices.ContainsFunc(missing[0], func(i int) bool { return !removed[i] }) {
			t.Fatalf("shift %d: %d and %d packets of one side alone", c.shift, len(missing[0]), len(missing[1]))
		}
		wrong := int64(got.Offset) - c.shift - c.middle - int64(c.ppm*1e-6*float64(got.At-start-a[0].time))
		if !got.Found || calendar.Distance(wrong, 0) > uint64(c.near) || math.Abs(got.Drift*1e6-c.ppm) > c.ppmNear || math.Abs(got.Drift*1e6-c.ppm) > 3*got.DriftError*1e6+0.001 {
			t.Errorf("shift %d, drift %v: offset is off by %d ns, drift %v ± %v ppm", c.shift, c.ppm, wrong, got.Drift*1e6, got.DriftError*1e6)
		}
		for i, share := range []float64{0.5, 0.9, 0.99, 0.999, 1} {
			want := delays[int(math.Ceil(share*float64(len(delays))))-1] - delays[0]
			d := []int64{got.Delays.P50, got.Delays.P90, got.Delays.P99, got.Delays.P999, got.Delays.Max}[i]
			if math.Abs(float64(d)-want) > 0.05*want+float64(us)/2 {
				t.Errorf("shift %d: quantile %v is %d, want %v", c.shift, share, d, want)
			}
		}
	}
}

// TestFarBegins starts one capture so late that the first packets of both have nothing in
// common, and a clock that is off.
func TestFarBegins(t *testing.T) {
	a := steady(rand.New(rand.NewPCG(3, 4)), some(30_000), 200*us)
	for _, begin := range []int{some(6_000), some(25_000)} {
		b := slices.Clone(a[begin:])
		for i := range b {
			b[i].time += 86_400_000*ms + int64(30e-6*float64(b[i].time))
		}
		for range 2 {
			for _, memory := range []int{0, 1 << 20} { // the first packets that fit, then too few
				r, _ := compared(Config{Memory: memory}, a, b, 1000)
				if r.Both != uint64(some(30_000)-begin) || r.OnlyA+r.OnlyB != 0 || r.Sides[0].Outside+r.Sides[1].Outside != uint64(begin) {
					t.Errorf("begin %d, memory %d: %+v, %+v, offset %v", begin, memory, r.Counts, r.Sides, r.Offset)
				}
			}
			a, b = b, a
		}
	}
}

// TestNothing compares sides that have nothing in common, or nothing at all.
func TestNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	a, b := steady(r, 5000, us), steady(r, 3000, us)
	for i := range b {
		b[i].id += 1 << 20
	}
	for _, c := range []struct{ a, b []packet }{{a, nil}, {nil, b}, {a, b}, {nil, nil}} {
		got, missing := compared(Config{}, c.a, c.b, 700)
		if got.Found || got.Both != 0 || len(missing[0]) != len(c.a) || len(missing[1]) != len(c.b) || got.Offset != 0 || got.HasDrift {
			t.Errorf("%+v", got)
		}
		checkSums(t, got)
	}
	// A side without any time cannot be compared.
	for i := range b {
		b[i].noTime = true
	}
	n := newComparer(Config{})
	if _, err := n.Search(n.stream(sideA, a, 100), n.stream(sideB, b, 100)); !errors.Is(err, ErrNoTime) {
		t.Error(err)
	}
	// Some packets without one can.
	b = slices.Clone(a)
	for i := range a {
		a[i].noTime, b[i].noTime = i%10 == 5, i%7 == 5
	}
	if got, _ := compared(Config{}, a, b, 700); got.Both != 5000 || got.Sides[0].NoTime != 500 || got.Delays.Max != 0 {
		t.Errorf("%+v", got)
	}
}

// TestSnapLengths compares sides of which one has the beginnings of packets.
func TestSnapLengths(t *testing.T) {
	a := steady(rand.New(rand.NewPCG(7, 8)), 9000, us)
	b := slices.Clone(a)
	for i := range b {
		b[i].snap = 60
	}
	for range 2 {
		r, _ := compared(Config{}, a, b, 700)
		if r.Both != 9000 || r.OnlyA+r.OnlyB != 0 || r.IdentityBytes != 46 || r.Sides[0].Truncated+r.Sides[1].Truncated != 9000 {
			t.Errorf("%+v", r)
		}
		a, b = b, a
	}
	r, _ := compared(Config{Identity: identity.Config{Bytes: 50}}, a, b, 700)
	if r.Both != 0 || r.IdentityBytes != 50 {
		t.Errorf("%+v", r.Counts)
	}
}

// TestNoIP compares frames without IP, which have no conversations.
func TestNoIP(t *testing.T) {
	a := steady(rand.New(rand.NewPCG(9, 10)), 500, ms)
	for i := range a {
		a[i] = packet{time: a[i].time, id: uint32(i), arp: true}
	}
	b := slices.Clone(a[:400])
	r, _ := compared(Config{}, a, b, 70)
	if r.Both != 400 || r.OnlyA != 0 || r.Sides[0].Outside != 100 || r.Sides[0].NonIP != 500 || len(r.Conversations) != 0 || r.Protocols["non_ip"] != r.Counts {
		t.Errorf("%+v", r)
	}
}

// TestCopies compares with a side that has every packet twice.
func TestCopies(t *testing.T) {
	a := steady(rand.New(rand.NewPCG(11, 12)), 9000, 20*us)
	var twice []packet
	for _, p := range a {
		twice = append(twice, p, p)
	}
	for side, sides := range [2][2][]packet{{twice, a}, {a, twice}} {
		r, _ := compared(Config{}, sides[0], sides[1], 700)
		if all := r.all(); r.Both != 9000 || all.OnlyA+all.OnlyB != 9000 || r.Sides[side].Repeats != 9000 || r.Sides[1-side].Repeats != 0 || !r.Found || r.Offset != 0 {
			t.Errorf("%+v", r)
		}
	}
	again := slices.Clone(a[:1000])
	for _, p := range a[:1000] {
		p.time += int64(50 * ms)
		again = append(again, p)
	}
	if r, _ := compared(Config{}, again, again, 700); r.Sides[sideA].Repeats != 1000 || r.Sides[sideB].Repeats != 1000 {
		t.Errorf("repeats of 1000 packets before: %+v", r.Sides)
	}
	r, _ := compared(Config{}, twice, twice, 700)
	if r.Both != 18000 || r.OnlyA+r.OnlyB != 0 || !r.Found {
		t.Errorf("%+v", r)
	}
}

// TestEqual compares sides all of whose packets are equal.
func TestEqual(t *testing.T) {
	a := make([]packet, 300)
	for i := range a {
		a[i] = packet{time: int64(i) * 1000 * ms, arp: true}
	}
	b := slices.Delete(slices.Clone(a), 100, 101)
	for i := range b {
		b[i].time += 50 * ms
	}
	r, missing := compared(Config{}, a, b, 70)
	if r.Both != 299 || !slices.Equal(missing[0], []int{100}) || r.Offset != 50*time.Millisecond {
		t.Errorf("%+v, %v", r, missing)
	}
}

// TestWrongTimes compares sides with times that are out of order, and far from all others.
func TestWrongTimes(t *testing.T) {
	n := some(20_000)
	a := steady(rand.New(rand.NewPCG(13, 14)), n, 50*us)
	b := slices.Clone(a)
	for i := 0; i+40 < len(a); i += 40 { // each run of 40 is turned around
		slices.Reverse(a[i : i+40])
	}
	r, _ := compared(Config{}, a, b, 700)
	if r.Both != uint64(n) || r.Sides[0].Disorder < uint64(n)*95/100 || r.Sides[1].Disorder != 0 {
		t.Errorf("%+v", r)
	}
	for _, wrong := range []int64{-start, 1 << 61, -(1 << 62), 5e18, -40 * 86400 * 1000 * ms} {
		odd := slices.Clone(b)
		for i := 1000; i < len(odd); i += 1000 {
			odd[i].time = wrong
		}
		r, missing := compared(Config{}, odd, b, 700)
		if r.Both < uint64(n)-30 || len(missing[0]) > 30 {
			t.Errorf("time %d: %+v", wrong, r.Counts)
		}
	}
	// A clock that is set back in the middle of both sides.
	for i := n / 2; i < len(b); i++ {
		b[i].time -= 3600 * 1000 * ms
	}
	if r, _ := compared(Config{}, b, b, 700); r.Both != uint64(n) {
		t.Errorf("set back: %+v", r.Counts)
	}
}

// TestReordering lets packets of one conversation overtake others.
func TestReordering(t *testing.T) {
	a := steady(rand.New(rand.NewPCG(15, 16)), 6000, 50*us)
	for i := range a {
		a[i].flow, a[i].answer = uint32(i%3), false
	}
	b := slices.Clone(a)
	for i := 0; i+3 < len(b); i += 60 {
		b[i], b[i+3] = b[i+3], b[i] // of one conversation
		b[i].time, b[i+3].time = b[i+3].time, b[i].time
		b[i+10], b[i+11] = b[i+11], b[i+10] // of two
		b[i+10].time, b[i+11].time = b[i+11].time, b[i+10].time
	}
	r, _ := compared(Config{}, a, b, 700)
	if r.Both != 6000 || r.Reordered != 100 {
		t.Errorf("%+v", r)
	}
}

// TestTranslated compares both sides of an address translation: pairs count for A's conversation, with the
// order in which B saw them.
func TestTranslated(t *testing.T) {
	ignore, err := identity.ParseIgnore("nat")
	if err != nil {
		t.Fatal(err)
	}
	var sides [2][]packet
	for i := range int64(100) {
		sides[sideA] = append(sides[sideA], packet{time: i * ms, id: uint32(i), flow: 1})
		sides[sideB] = append(sides[sideB], packet{time: i * ms, id: uint32(i ^ i/50), flow: 2})
	}
	r, _ := compared(Config{Identity: identity.Config{Ignore: ignore}}, sides[sideA], sides[sideB], 10)
	if len(r.Conversations) != 1 || r.Conversations[0].Both != 100 || r.Conversations[0].Reordered != 25 || r.Reordered != 25 {
		t.Errorf("%d reordered, %+v", r.Reordered, r.Conversations)
	}
}

// TestMemory compares more packets than are remembered.
func TestMemory(t *testing.T) {
	a := steady(rand.New(rand.NewPCG(17, 18)), some(200_000), us)
	b := slices.Clone(a)
	for i := range b {
		if b[i].flow >= 100 { // so there are always packets that wait for these
			b[i].time += 60 * ms
		}
	}
	slices.SortStableFunc(b, func(x, y packet) int { return int(x.time - y.time) })
	const memory = 4 << 20
	r, missing := compared(Config{Memory: memory}, a, b, 5000)
	if r.Forgotten == 0 || r.MemoryBytes > memory || uint64(len(missing[0])) != r.OnlyA+r.Sides[0].Outside || r.OnlyA < r.Forgotten/2 {
		t.Errorf("%+v", r)
	}
	checkSums(t, r)
	if r, _ = compared(Config{}, a, b, 5000); r.Forgotten != 0 || r.Both != uint64(some(200_000)) {
		t.Errorf("%+v", r)
	}
}

// TestManyConversations compares more conversations than are counted.
func TestManyConversations(t *testing.T) {
	r := rand.New(rand.NewPCG(19, 20))
	a := steady(r, some(240_000), us)
	for i := range a {
		a[i].flow = uint32(i) & 0xffffff
		if i%50 == 0 {
			a[i].flow = 1 << 22
		}
	}
	b := slices.DeleteFunc(slices.Clone(a), func(p packet) bool { return p.flow == 1<<22 && p.id%3 == 0 })
	got, _ := compared(Config{}, a, b, 5000)
	c := got.Conversations[0]
	if !got.Evicted || c.OnlyA != got.OnlyA || c.Both+c.OnlyA+got.Sides[0].Outside != uint64(some(240_000))/50 || c.Name != "udp 10.64.0.0:1000 <> 172.16.0.1:53" {
		t.Errorf("%+v, %+v", got.Counts, c)
	}
}

// TestWriteError ends a run whose output fails.
func TestWriteError(t *testing.T) {
	a := steady(rand.New(rand.NewPCG(21, 22)), 5000, ms)
	n := newComparer(Config{})
	if _, err := n.Search(n.stream(sideA, a, 100), n.stream(sideB, a, 100)); err != nil {
		t.Fatal(err)
	}
	failed := errors.New("no space")
	calls := 0
	if err := n.Run(func(int, *capture.Batch, []uint64) error { calls++; return failed }); !errors.Is(err, failed) || calls != 1 {
		t.Errorf("%d calls, %v", calls, err)
	}
}

// TestPauses compares sparse captures by clocks that drift, with pauses of up to an hour.
func TestPauses(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 24))
	var a, b []packet
	now := int64(0)
	for i := range 2000 {
		now += int64(r.ExpFloat64() * float64(20*ms))
		if r.IntN(20) == 0 {
			now += r.Int64N(3600 * 1000 * ms)
		}
		p := packet{time: now, id: uint32(i)}
		if r.IntN(5) > 0 {
			a = append(a, p)
		}
		p.time += -7200_000*ms - now/25_000 // -40 ppm
		if r.IntN(5) > 0 {
			b = append(b, p)
		}
	}
	got, missing := compared(Config{}, a, b, 50)
	_, want := model(a, b, 0, 7300_000*ms) // nothing is repeated
	if !slices.Equal(missing[0], want[0]) || !slices.Equal(missing[1], want[1]) || math.Abs(got.Drift*1e6+40) > 0.01 {
		t.Errorf("%+v, want %d and %d packets of one side alone", got.Counts, len(want[0]), len(want[1]))
	}
}

// TestUndecidableOfBothSides counts packets that equal others in the bytes that both sides have,
// however much of a side was read before the other showed how few these are.
func TestUndecidableOfBothSides(t *testing.T) {
	var a, b []packet
	for i := range 6000 {
		p := packet{time: int64(i) * ms, id: uint32(i), flow: uint32(i % 7)}
		if a = append(a, p); i%3 == 0 {
			p.snap = 14 + 34 // without the bytes that differ
			b = append(b, p)
		}
	}
	for _, most := range []int{1, 10, 500, 10_000} {
		got, _ := compared(Config{}, a, b, most)
		known := Config{}
		known.Identity.Bytes = got.IdentityBytes
		want, _ := compared(known, a, b, most)
		if got.IdentityBytes == 0 || want.Sides[0].Undecidable != uint64(len(a)) || want.Sides[1].Undecidable != uint64(len(b)) {
			t.Fatalf("%d bytes are compared, %d and %d packets undecidable", got.IdentityBytes, want.Sides[0].Undecidable, want.Sides[1].Undecidable)
		}
		for i := range got.Sides {
			if got.Sides[i].Undecidable != want.Sides[i].Undecidable {
				t.Errorf("batches of %d: %d packets of side %d are undecidable, want %d", most, got.Sides[i].Undecidable, i, want.Sides[i].Undecidable)
			}
		}
	}
}
