// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"cmp"
	"errors"
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

// source delivers a batch.
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

// TestForgets shows that packets out of reach are forgotten long before memory ends, and that this
// changes nothing where times go back no further than before.
func TestForgets(t *testing.T) {
	const n, held, disorder = 150, 50, 8
	for _, cfg := range configs {
		if cfg.Window == 0 && cfg.Packets == 0 {
			continue
		}
		t.Run(fmt.Sprintf("%+v", cfg), func(t *testing.T) {
			cfg.Identity.Kind, cfg.Memory = identity.Frame, n*sightingBytes
			in := random(rand.New(rand.NewPCG(11, 12)), n)
			late := func(p packet) int64 { return p.time + disorder*(p.time%7/6) }
			slices.SortFunc(in, func(a, b packet) int { return cmp.Compare(late(a), late(b)) })
			remove(&cfg, in)
			out, dup := split(in)
			v := newVerifier(cfg, sourceOf(out), sourceOf(dup))
			v.copies.disorder = disorder
			most := uint64(0)
			for part := range slices.Chunk(in, 7) {
				v.Add(batchOf(part))
				most = max(most, v.copies.len())
			}
			if r, err := v.Report(); err != nil || r.Differences()+r.Unknown != 0 || most > held {
				t.Errorf("%+v, %v; %d packets were remembered", r, err, most)
			}
		})
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

// TestUntimed has packets without a time among equal packets with a time. An output that kept them
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
	if err != nil || len(v.balance) != most/2 || r.Unlisted != most/2 || r.Unknown != n-most/2 || r.Lost != n {
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
		c.add(&inputPacket{time: int64(i), number: i + 1, judged: i + 1, state: pending})
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
		c.push(&s)
	}
	s := inputPacket{time: n, point: place{iface: 1}}
	if !c.isCopy(&s) {
		t.Error("a packet of another place is no copy")
	}
	c.push(&s)
	if s.point = (place{}); !c.isCopy(&s) {
		t.Error("nor is one of the first place then")
	}
}

// newVerifier makes a Verifier of a possible configuration.
func newVerifier(cfg Config, output, duplicates capture.Source) *Verifier {
	var removed []capture.Source
	if duplicates != nil {
		removed = append(removed, duplicates)
	}
	made, err := New(cfg, []capture.Source{output}, removed)
	if err != nil {
		panic(err)
	}
	return made
}

func TestConfigErrors(t *testing.T) {
	for _, cfg := range []Config{
		{Identity: identity.Config{Kind: identity.Inner + 1}},
		{Within: traits.PointOrigin << 1},
		{Window: -1},
		{Tolerance: -1},
		{Sort: Sort{Span: -1}},
		{Window: 1, Packets: 1},
		{Landmark: true},
		{Memory: -1},
		{Sort: Sort{Memory: -1}},
	} {
		if made, err := New(cfg, []capture.Source{sourceOf(nil)}, nil); !errors.Is(err, ErrConfig) || made != nil {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
}
