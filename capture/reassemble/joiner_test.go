// SPDX-License-Identifier: Apache-2.0

package reassemble

import (
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture"
)

// result is what a Source makes of a stream: its packets, and all with the parts of each.
type result struct {
	packets, parts []seen
	stats          Stats
	waited         int // the most bytes that waited
}

// join takes packets through a Source, in batches of a size.
func join(t testing.TB, frames []seen, size int) (r result) {
	t.Helper()
	return joinStream(t, &stream{frames: frames, size: size})
}

func joinStream(t testing.TB, from *stream) (r result) {
	t.Helper()
	src, whole := NewSource(from, false, nil)
	var b capture.Batch
	for {
		err := src.Next(&b)
		if errors.Is(err, io.EOF) {
			r.stats = whole.Stats()
			return r
		}
		for i := range b.Frames {
			f := &b.Frames[i]
			r.packets = append(r.packets, seen{f.Time, string(b.Data(i))})
			parts := Parts(&b, i)
			if parts == nil {
				parts = []capture.Frame{*f}
			}
			for _, p := range parts {
				r.parts = append(r.parts, seen{p.Time, string(b.Buf[p.Data : p.Data+p.CapLen])})
				if rec := b.Buf[p.Record : p.Record+p.RecordLen]; binary.LittleEndian.Uint32(rec[4:]) != p.RecordLen || binary.LittleEndian.Uint32(rec[20:]) != p.CapLen {
					t.Fatalf("a record of %d bytes says %x", p.RecordLen, rec[:28])
				}
			}
		}
		r.waited = max(r.waited, len(whole.joiner.waiting.Buf))
	}
}

func sorted(s []seen) []seen {
	return slices.SortedFunc(slices.Values(s), func(a, b seen) int { return int(a.time - b.time) })
}

// check checks that packets and counts are as expected, for batches of several sizes, and that
// no packet is lost.
func check(t *testing.T, frames []seen, want []string, stats Stats) {
	t.Helper()
	for _, size := range []int{1, 2, 3, 7, 1000} {
		r := join(t, frames, size)
		var got []string
		for _, p := range r.packets {
			got = append(got, p.data)
		}
		if !slices.Equal(got, want) {
			t.Errorf("batches of %d: %d packets, want %d: %x", size, len(got), len(want), got)
		}
		if r.stats != stats {
			t.Errorf("batches of %d: %+v, want %+v", size, r.stats, stats)
		}
		if !slices.Equal(sorted(r.parts), frames) {
			t.Errorf("batches of %d: other packets came out", size)
		}
	}
}

func texts(packets ...[]byte) (all []string) {
	for _, p := range packets {
		all = append(all, string(p))
	}
	return all
}

func TestJoin(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	plain, other := packet(rng, 200), packet(rng, 100)
	for _, version := range []int{4, 6} {
		inner := packet(rng, 1514)
		for name, d := range map[string]tunnelled{"vxlan": vxlan(version, 1, 77, inner), "gre": gre(version, 1, 77, inner)} {
			f := d.fragments(1500)
			whole := d.whole()
			twin := d
			twin.host = 2
			g := twin.fragments(1500)
			long := vxlan(version, 3, 77, packet(rng, 8000))
			l := long.fragments(1300)
			// Fragments of the same datagram whose bytes differ.
			forged := slices.Clone(f[1])
			forged[len(forged)-1] ^= 1
			overlap := d.fragment(1400, len(d.payload))
			both, three := Stats{Datagrams: 1, Joined: 2}, Stats{Datagrams: 2, Joined: 4}
			for _, c := range []struct {
				name   string
				frames [][]byte
				want   []string
				stats  Stats
			}{
				{"in order", [][]byte{plain, f[0], f[1], other}, texts(plain, whole, other), both},
				{"the other way round", [][]byte{f[1], plain, f[0], other}, texts(plain, whole, other), both},
				{"packets in between", [][]byte{f[0], plain, other, f[1], plain}, texts(plain, other, whole, plain), both},
				{"the first is missing", [][]byte{plain, f[1], other}, texts(plain, f[1], other), Stats{Left: uint64(d.proto) / 47}},
				{"the last is missing", [][]byte{plain, f[0], other}, texts(plain, f[0], other), Stats{Left: 1}},
				{"each twice", [][]byte{f[0], f[0], f[1], f[1]}, texts(whole, whole), three},
				{"all twice", [][]byte{f[0], f[1], f[0], f[1]}, texts(whole, whole), three},
				{"one twice", [][]byte{f[0], f[0], f[1], plain}, texts(f[0], whole, plain), Stats{1, 2, 1, 0}},
				{"equal numbers of two hosts", [][]byte{f[0], g[0], f[1], g[1]}, texts(whole, twin.whole()), three},
				{"nested", [][]byte{f[0], g[0], plain, g[1], f[1]}, texts(plain, twin.whole(), whole), three},
				{"a contradiction", [][]byte{f[1], forged, f[0], plain}, texts(f[1], forged, f[0], plain), Stats{Left: uint64(1 + d.proto/47*2)}},
				{"an overlap with equal bytes", [][]byte{f[0], overlap, f[1]}, texts(overlap, whole), Stats{1, 2, 1, 0}},
				{"many fragments, mixed", [][]byte{l[3], l[0], f[0], l[6], l[1], l[5], f[1], l[4], l[2], plain}, texts(whole, long.whole(), plain), Stats{2, uint64(len(l) + 2), 0, 0}},
			} {
				t.Run(name, func(t *testing.T) {
					t.Run(c.name, func(t *testing.T) { check(t, at(c.frames...), c.want, c.stats) })
				})
			}
		}
	}
}

// TestOrdinary leaves fragments as they are that are no tunnel.
func TestOrdinary(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	for _, version := range []int{4, 6} {
		d := vxlan(version, 1, 5, packet(rng, 3000))
		binary.BigEndian.PutUint16(d.payload[2:], 53) // a port
		dns := d.fragments(1500)
		d.proto = 1
		icmp := d.fragments(1500)
		secret := gre(version, 1, 6, make([]byte, 3000))
		secret.payload[2] = 0xff // no packet is in it
		closed := secret.fragments(1500)
		wrong := vxlan(version, 1, 7, packet(rng, 1514)).sums()
		frames := slices.Concat(dns, [][]byte{dns[2], dns[0]}, icmp, closed)
		if version == 4 {
			frames = append(frames, wrong...)
		}
		check(t, at(frames...), texts(frames...), Stats{})
	}
}

// sums returns fragments whose IPv4 checksums are wrong.
func (d tunnelled) sums() [][]byte {
	f := d.fragments(1500)
	for _, p := range f {
		p[24] ^= 1
	}
	return f
}

// TestTruncated joins fragments that were captured in part: the whole is truncated too.
func TestTruncated(t *testing.T) {
	d := vxlan(4, 1, 5, packet(rand.New(rand.NewPCG(3, 1)), 3000))
	var frames []seen
	for i, p := range d.fragments(1500) {
		frames = append(frames, seen{int64(i), string(p[:min(200, len(p))])})
	}
	src, _ := NewSource(&stream{frames: frames, size: 10, wire: 1500}, false, nil)
	var b capture.Batch
	if err := src.Next(&b); err != nil || len(b.Frames) != 1 || string(b.Data(0)) != string(d.whole()[:200]) || b.Frames[0].WireLen != uint32(len(d.whole())) {
		t.Errorf("%v: %+v", err, b.Frames)
	}
}

// TestTimeout gives datagrams up whose fragments come too late, in time or in bytes.
func TestTimeout(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	d := vxlan(4, 1, 5, packet(rng, 1514))
	f := d.fragments(1500)
	late := []seen{{0, string(f[0])}, {int64(2 * time.Second), string(f[1])}, {int64(2*time.Second) + 1, string(f[0])}}
	check(t, late, texts(f[0], d.whole()), Stats{1, 2, 1, 0})
	far := [][]byte{f[0]}
	for range mostBytes/1000 + 1 {
		far = append(far, packet(rng, 1000))
	}
	far = append(far, f[1])
	check(t, at(far...), texts(far...), Stats{0, 0, 1, 1})
}

// TestFlood shows that fragments whose others never come take no more memory than a bound, and
// constant time.
func TestFlood(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	var frames []seen
	inner := packet(rng, 1514)
	for i := range 50_000 {
		d := vxlan(4, byte(i>>16), uint32(i), inner)
		frames = append(frames, seen{int64(i), string(d.fragment(0, 64))})
	}
	begin := time.Now()
	r := join(t, frames, 1000)
	if r.stats != (Stats{Left: 50_000, Early: 50_000 - r.stats.Left + r.stats.Early}) || r.stats.Early < 48_000 || r.waited > 2*mostBytes || !slices.Equal(r.packets, frames) {
		t.Errorf("%+v, %d bytes waited, %d packets", r.stats, r.waited, len(r.packets))
	}
	t.Log(time.Since(begin), r.waited)
	// Copies of which the oldest is given up for the next.
	d := vxlan(4, 200, 1, inner)
	for _, i := range []int{0, 1, 2, mostDatagrams, mostDatagrams + 1, 2 * mostDatagrams, 2*mostDatagrams + 1, 2*mostDatagrams + 2} {
		frames[i].data = string(d.fragment(0, 64))
	}
	if r := join(t, frames, 1000); !slices.Equal(r.packets, frames) || r.stats.Left != 50_000 {
		t.Errorf("%+v", r.stats)
	}
	// Small pieces of one datagram, and copies of a piece.
	d = vxlan(4, 1, 1, packet(rng, 60000))
	for i := range frames {
		frames[i].data = string(d.fragment(8*(i%7000), 8*(i%7000)+8))
	}
	if r := join(t, frames, 1000); !slices.Equal(r.packets, frames) || r.stats.Datagrams != 0 {
		t.Errorf("%+v", r.stats)
	}
}

// FuzzJoin takes damaged fragments in any order. Each packet comes out once, alone or in a
// datagram, and batches of any size make the same of a stream.
func FuzzJoin(f *testing.F) {
	for i := range byte(6) {
		f.Add([]byte{i, 1, 2, 3, 250, 4, i, 77, 1, 0}, uint64(i))
	}
	f.Fuzz(func(t *testing.T, choices []byte, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var pool [][]byte
		for id := range uint32(3) {
			for _, version := range []int{4, 6} {
				a, b := vxlan(version, 1, id, packet(rng, 400)), gre(version, 1, id, packet(rng, 300))
				pool = slices.Concat(pool, a.fragments(200), b.fragments(200), [][]byte{a.whole()})
			}
		}
		var frames []seen
		for i := 0; i+1 < min(len(choices), 400); i += 2 {
			p := slices.Clone(pool[int(choices[i])%len(pool)])
			if n := choices[i+1]; n > 200 { // damage in the headers
				p[14+rng.IntN(40)] ^= byte(1 << rng.IntN(8))
			} else if n > 180 {
				p = p[:rng.IntN(len(p))]
			}
			frames = append(frames, seen{int64(i), string(p)})
		}
		want := join(t, frames, 1000)
		if !slices.Equal(sorted(want.parts), frames) {
			t.Fatal("packets were lost or made")
		}
		if n := uint64(len(frames)) - want.stats.Joined + want.stats.Datagrams; n != uint64(len(want.packets)) {
			t.Fatalf("%d packets, %+v of %d", len(want.packets), want.stats, len(frames))
		}
		for _, size := range []int{1, 3} {
			if got := join(t, frames, size); !slices.Equal(got.packets, want.packets) || got.stats != want.stats {
				t.Fatalf("batches of %d: %+v, want %+v", size, got.stats, want.stats)
			}
		}
	})
}

// TestSplitWithoutRecords splits a batch that lies in the block of a capture ring.
func TestSplitWithoutRecords(t *testing.T) {
	var b capture.Batch
	face := b.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet})
	b.Buf = make([]byte, 4096)
	for at := uint32(0); at < 4096; at += 128 {
		b.Frames = append(b.Frames, capture.Frame{Data: at, CapLen: 100, WireLen: 100, Interface: face})
	}
	drop := []uint64{5}
	if got, dropped := new(Splitter).Split(&b, drop, false); got != &b || &dropped[0] != &drop[0] {
		t.Errorf("%d packets became %d", len(b.Frames), len(got.Frames))
	}
}

// pausing gives an empty batch before each batch of a stream.
type pausing struct {
	*stream
	paused bool
}

func (p *pausing) Next(b *capture.Batch) error {
	if p.paused = !p.paused; p.paused {
		b.Reset()
		return nil
	}
	return p.stream.Next(b)
}

// TestLiveSilence joins fragments between which a live capture gives empty batches, as it does many
// times a second, and gives up a datagram after a longer silence.
func TestLiveSilence(t *testing.T) {
	d := vxlan(4, 1, 7, packet(rand.New(rand.NewPCG(1, 2)), 1200))
	frames := at(append(d.fragments(600), d.fragments(600)[0])...)
	src, whole := NewSource(&pausing{stream: &stream{frames: frames, size: 1}}, true, nil)
	var b capture.Batch
	for whole.Stats().Datagrams == 0 {
		if err := src.Next(&b); err != nil {
			t.Fatalf("%v, %+v", err, whole.Stats())
		}
	}
	for range 2 {
		if err := src.Next(&b); err != nil || len(b.Frames) > 0 {
			t.Fatalf("%v, a fragment did not wait", err)
		}
	}
	time.Sleep(liveTimeout)
	if err := src.Next(&b); err != nil || len(b.Frames) != 1 {
		t.Errorf("%v, %d packets after a long silence", err, len(b.Frames))
	}
}
