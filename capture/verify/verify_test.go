// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/capture/traits"
)

// packet is a packet of a test. Those of equal content are equal as whole frames.
type packet struct {
	time    int64
	point   uint32
	content byte
	removed bool // only in the input
}

// batchOf returns a batch of packets that were seen at two points.
func batchOf(packets []packet) *capture.Batch {
	b := new(capture.Batch)
	b.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet, Name: "a"})
	b.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet, Name: "b"})
	for _, p := range packets {
		b.Append(capture.Frame{Time: p.time, Interface: p.point}, []byte{p.content, 60: 0})
	}
	return b
}

// source delivers one batch.
type source struct {
	capture.Source
	batch *capture.Batch
	err   error
}

func (s *source) Next(b *capture.Batch) error {
	if s.batch == nil {
		return s.err
	}
	*b, s.batch = *s.batch, nil
	return nil
}

func sourceOf(packets []packet) *source { return &source{batch: batchOf(packets), err: io.EOF} }

// verifyAs checks in, in batches of a few packets, against outputs, given what makes batches.
func verifyAs(t *testing.T, batch func([]packet) *capture.Batch, cfg Config, in, out, dup []packet) Report {
	t.Helper()
	v := newVerifier(cfg, &source{batch: batch(out), err: io.EOF}, &source{batch: batch(dup), err: io.EOF})
	for part := range slices.Chunk(in, 7) {
		v.Add(batch(part))
	}
	r, err := v.Report()
	if err != nil {
		t.Fatal(err)
	}
	return *r
}

// split returns the kept and the removed packets.
func split(in []packet) (out, dup []packet) {
	for _, p := range in {
		if p.removed {
			dup = append(dup, p)
		} else {
			out = append(out, p)
		}
	}
	return out, dup
}

// verify is verifyAs with named interfaces.
func verify(t *testing.T, cfg Config, in, out, dup []packet) Report {
	t.Helper()
	return verifyAs(t, batchOf, cfg, in, out, dup)
}

// model returns the numbers of the removed packets that are copies of no kept packet.
func model(cfg *Config, in []packet) (lost []uint64) {
	seen := make([]bool, len(in)) // kept, or with Refresh copies of what was seen
	copied := make([]bool, len(in))
	for i := range in {
		seen[i] = !in[i].removed
	}
	near := func(i, k int) bool {
		switch {
		case in[i].content != in[k].content, cfg.Across && in[i].point == in[k].point, cfg.Within != 0 && in[i].point != in[k].point:
			return false
		case cfg.Landmark && cfg.Packets > 0:
			return i/int(cfg.Packets) == k/int(cfg.Packets)
		case cfg.Landmark: // they begin at Monday 1970-01-05, a multiple of each length here
			return in[i].time/int64(cfg.Window) == in[k].time/int64(cfg.Window)
		case cfg.Packets > 0:
			return uint64(max(i, k)-min(i, k)) <= cfg.Packets
		}
		return cfg.Window == 0 || max(in[i].time, in[k].time)-min(in[i].time, in[k].time) <= int64(cfg.Window+cfg.Tolerance)
	}
	for again := true; again; {
		again = false
		for i := range in {
			for k := range in {
				if !copied[i] && in[i].removed && seen[k] && near(i, k) {
					copied[i] = true
					seen[i] = cfg.Refresh
					again = cfg.Refresh
				}
			}
		}
	}
	if cfg.Window > 0 && !cfg.Landmark && !cfg.Refresh {
		copied = modelMoved(in, near)
	}
	for i := range in {
		if in[i].removed && !copied[i] {
			lost = append(lost, uint64(i+1))
		}
	}
	return lost
}

// modelMoved says of removed packets whether they are copies of a kept packet, or of one that was
// removed for a later one and lies between both in time. The latest such packet counts.
func modelMoved(in []packet, near func(i, k int) bool) (copied []bool) {
	copied = make([]bool, len(in))
	moved := map[byte][2]int{} // the first packet that waited for a kept one, and this one
	isMoved := func(i int) bool {
		m, ok := moved[in[i].content]
		if !ok || m[0] > i || !near(i, m[0]) {
			return false
		}
		before, after := in[i].time-in[m[0]].time, in[m[1]].time-in[m[0]].time
		return before < 0 && after > 0 || before > 0 && after < 0
	}
	for k := range in {
		if in[k].removed {
			for i := range k {
				copied[k] = copied[k] || !in[i].removed && near(i, k)
			}
			copied[k] = copied[k] || isMoved(k)
			continue
		}
		first := -1
		for i := range k {
			if in[i].removed && !copied[i] && near(i, k) {
				if copied[i] = true; first < 0 {
					first = i
				}
			}
		}
		if first < 0 {
			continue
		}
		moved[in[k].content] = [2]int{first, k}
		for i := range k {
			copied[i] = copied[i] || in[i].removed && isMoved(i)
		}
	}
	return copied
}

// TestMoved accepts an output of --keep flow where the first of three equal packets lies between the
// others in time, and nothing else that is as far from the kept one.
func TestMoved(t *testing.T) {
	cfg := Config{Identity: identity.Config{Kind: identity.Frame}, Window: 10, Memory: 1 << 20}
	for name, c := range map[string]struct {
		in   []packet
		lost uint64
	}{
		"after":           {[]packet{{time: 100, removed: true}, {time: 108}, {time: 91, removed: true}}, 0},
		"before":          {[]packet{{time: 100, removed: true}, {time: 91, removed: true}, {time: 108}}, 0},
		"kept is earlier": {[]packet{{time: 100, removed: true}, {time: 92}, {time: 109, removed: true}}, 0},
		"too far":         {[]packet{{time: 100, removed: true}, {time: 108}, {time: 89, removed: true}}, 1},
		"in order":        {[]packet{{time: 100, removed: true}, {time: 108}, {time: 119, removed: true}}, 1},
		"window slides":   {[]packet{{time: 100}, {time: 108, removed: true}, {time: 116, removed: true}}, 1},
		"none was moved":  {[]packet{{time: 108}, {time: 100, removed: true}, {time: 91, removed: true}}, 1},
		"another content": {[]packet{{time: 100, removed: true}, {time: 108}, {time: 91, content: 1, removed: true}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			out, dup := split(c.in)
			if r := verify(t, cfg, c.in, out, dup); r.Lost != c.lost || r.Unknown != 0 {
				t.Errorf("%+v, want lost %d", r, c.lost)
			}
		})
	}
}

var configs = []Config{
	{Window: 10},
	{Window: 10, Tolerance: 3},
	{Packets: 4},
	{}, // any distance
	{Window: 10, Across: true},
	{Window: 12, Within: traits.PointInterface},
	{Window: 6, Refresh: true},
	{Packets: 3, Refresh: true},
	{Window: 12, Landmark: true},
	{Window: 10, Landmark: true, Across: true},
	{Packets: 5, Landmark: true},
}

// TestModel compares the losses with a plain model: packets in and out of time order, kept and
// removed at random.
func TestModel(t *testing.T) {
	for _, cfg := range configs {
		cfg.Identity.Kind, cfg.Memory = identity.Frame, 1<<20
		t.Run(fmt.Sprintf("%+v", cfg), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			for range 100 {
				in := random(rng, 60)
				out, dup := split(in)
				want := model(&cfg, in)
				r := verify(t, cfg, in, out, dup)
				if r.Lost != uint64(len(want)) || r.Kept != uint64(len(out)) || r.Removed != uint64(len(dup)) || r.Foreign+r.Unlisted+r.Misplaced+r.Unknown != 0 {
					t.Fatalf("%+v, want lost %d of %+v", r, want, in)
				}
				if len(want) > 0 && (r.First.Kind != Lost || r.First.Packet != want[0]) {
					t.Fatalf("first %+v, want %d", r.First, want[0])
				}
			}
		})
	}
}

// random returns packets of which some are out of order, and some removed. No two are the
// same, since an output does not show which of them it has.
func random(rng *rand.Rand, n int) []packet {
	packets, now, has := make([]packet, n), int64(1e18), map[packet]bool{}
	for i := range packets {
		now += rng.Int64N(4)
		p := packet{time: now, point: rng.Uint32N(2), content: byte(rng.IntN(5))}
		if rng.IntN(6) == 0 {
			p.time -= rng.Int64N(40)
		}
		for has[p] {
			p.time++
		}
		has[p] = true
		packets[i] = p
		packets[i].removed = rng.IntN(2) == 0
	}
	return packets
}

// TestMemory shows that what was forgotten makes packets unknown, and never lost or right.
func TestMemory(t *testing.T) {
	for _, cfg := range configs {
		cfg.Identity.Kind = identity.Frame
		rng := rand.New(rand.NewPCG(3, 4))
		unknown := uint64(0)
		for range 100 {
			in := random(rng, 60)
			out, dup := split(in)
			cfg.Memory = sightingBytes * (1 + rng.IntN(12))
			r := verify(t, cfg, in, out, dup)
			unknown += r.Unknown
			if want := uint64(len(model(&cfg, in))); r.Lost > want || r.Lost+r.Unknown < want {
				t.Fatalf("%+v: %d lost and %d unknown, want %d lost", cfg, r.Lost, r.Unknown, want)
			}
		}
		if unknown == 0 {
			t.Errorf("%+v: nothing was forgotten", cfg)
		}
	}
}

// TestChanges finds each way in which files can be wrong.
func TestChanges(t *testing.T) {
	in := []packet{
		{time: 1, content: 1}, {time: 2, content: 1, removed: true}, {time: 3, content: 2},
		{time: 3, content: 1, removed: true}, {time: 5, content: 3}, {time: 5, content: 3, removed: true},
	}
	for i := range in {
		in[i].time += int64(time.Hour)
	}
	change := func(list []packet, f func([]packet) []packet) []packet { return f(slices.Clone(list)) }
	out, dup := split(in)
	first := func(l []packet) []packet { return l[1:] }
	swap := func(l []packet) []packet { l[0], l[1] = l[1], l[0]; return l }
	for _, c := range []struct {
		name     string
		out, dup []packet
		want     Kind
		packet   uint64
	}{
		{"right", out, dup, "", 0},
		{"a kept packet is missing", change(out, first), dup, Lost, 1},
		{"a kept packet of its own is missing", change(out, func(l []packet) []packet { return slices.Delete(l, 1, 2) }), dup, Lost, 3},
		{"another order", change(out, swap), dup, Foreign, 2},
		{"other bytes", change(out, func(l []packet) []packet { l[1].content = 9; return l }), dup, Foreign, 2},
		{"another time", change(out, func(l []packet) []packet { l[2].time++; return l }), dup, Foreign, 3},
		{"twice", append(slices.Clone(out), out[2]), dup, "", 0}, // the input has it twice
		{"three times", append(slices.Clone(out), out[2], out[2]), dup, Foreign, 5},
		{"a removed packet is missing", out, change(dup, first), Unlisted, 2},
		{"the removed packets in another order", out, change(dup, swap), Unlisted, 2},
		{"a kept packet among the removed ones", out, append([]packet{out[0]}, dup...), Misplaced, 1},
		{"one more", out, append(slices.Clone(dup), packet{time: 9, content: 9}), Misplaced, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "twice" {
				c.dup = dup[:2]
			}
			r := verify(t, Config{Identity: identity.Config{Kind: identity.Frame}, Window: 10, Memory: 1 << 20}, in, c.out, c.dup)
			switch {
			case c.want == "" && (r.Differences() != 0 || r.First != nil):
				t.Errorf("%+v %+v", r, r.First)
			case c.want != "" && (r.First == nil || r.First.Kind != c.want || r.First.Packet != c.packet):
				t.Errorf("%+v %+v, want %v of packet %d", r, r.First, c.want, c.packet)
			}
		})
	}
}

// TestUntimed has packets without a time among equal ones that have one. An output that kept them
// without a time is right, whether the next of the removed packets equals them or not.
func TestUntimed(t *testing.T) {
	in := []packet{
		{time: 1, content: 1}, {time: 2, content: 1, removed: true}, {time: capture.NoTime, content: 1},
		{time: 3, content: 1, removed: true}, {time: 4, content: 2}, {time: capture.NoTime, content: 2},
	}
	out, dup := split(in)
	cfg := Config{Identity: identity.Config{Kind: identity.Frame}, Window: 10, Memory: 1 << 20}
	if r := verify(t, cfg, in, out, dup); r.Differences() != 0 || r.First != nil {
		t.Errorf("%+v %+v", r, r.First)
	}
	lost := slices.Clone(out)
	lost[0].time = capture.NoTime
	if r := verify(t, cfg, in, lost, dup); r.Differences() == 0 {
		t.Errorf("a packet lost its time: %+v", r)
	}
}

// TestOtherDuplicates bounds the memory for a file that lacks the removed packets.
func TestOtherDuplicates(t *testing.T) {
	const most, n = 50, 200
	in := make([]packet, n)
	for i := range in {
		in[i] = packet{time: int64(i), content: byte(i), removed: true}
	}
	v := newVerifier(Config{Identity: identity.Config{Kind: identity.Frame}, Window: 10, Memory: most * sightingBytes}, sourceOf(nil), sourceOf(nil))
	v.Add(batchOf(in))
	r, err := v.Report()
	if err != nil || len(v.balance) != most || r.Unlisted != most || r.Unknown != n-most || r.Lost != n {
		t.Errorf("%d remembered, %+v, %v", len(v.balance), r, err)
	}
}

// TestDamagedOutput returns the error of an output, and what was lost behind it.
func TestDamagedOutput(t *testing.T) {
	in := []packet{{time: 1, content: 1}, {time: 2, content: 2}}
	broken := sourceOf(in[:1])
	broken.err = &capture.InputError{Input: "out", Offset: 100, Err: capture.ErrTruncated}
	v := newVerifier(Config{Window: 10, Memory: 1 << 20}, broken, nil)
	v.Add(batchOf(in))
	if r, err := v.Report(); !capture.IsDamage(err) || r.Lost != 1 || r.Kept != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestManyEqual has equal packets of which none was kept, all within a window. Comparing each with
// all before it would take hours.
func TestManyEqual(t *testing.T) {
	const n = 1_000_000
	ended := 0
	c := newCopies(&Config{Window: time.Second, Memory: n * sightingBytes}, func(*inputPacket, bool) { ended++ })
	for i := range uint64(n) {
		c.add(inputPacket{time: int64(i), number: i + 1, judged: i + 1, state: pending})
	}
	c.finish()
	if ended != n {
		t.Errorf("%d of %d packets matched nothing", ended, n)
	}
}

// TestManyEqualKept has equal packets of one place, which are no copies of each other with
// Config.Across. Comparing each with all before it would take hours.
func TestManyEqualKept(t *testing.T) {
	const n = 1_000_000
	c := newCopies(&Config{Across: true, Memory: 2 * n * sightingBytes}, nil)
	for i := range uint64(n) {
		s := inputPacket{time: int64(i), number: i + 1, judged: i + 1, state: kept}
		if c.isCopy(&s) {
			t.Fatalf("packet %d is a copy", s.number)
		}
		c.push(s)
	}
	s := inputPacket{time: n, point: place{iface: 1}}
	if !c.isCopy(&s) {
		t.Error("a packet of another place is no copy")
	}
	c.push(s)
	if s.point = (place{}); !c.isCopy(&s) {
		t.Error("nor is one of the first place then")
	}
}
