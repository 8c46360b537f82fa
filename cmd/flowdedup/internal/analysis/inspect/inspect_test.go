// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/engine/window"
)

const us, ms = int64(time.Microsecond), int64(time.Millisecond)

// TestKinds looks at a packet and a copy of it.
func TestKinds(t *testing.T) {
	first := packet{id: 7, flow: 1, payload: 9}
	for _, c := range []struct {
		kind   string
		change func(*packet)
	}{
		{"identical", func(p *packet) {}},
		{"vlan", func(p *packet) { p.vlan = 10 }},
		{"mac", func(p *packet) { p.mac = 1 }},
		{"ttl", func(p *packet) { p.ttl = 1 }},
		{"class", func(p *packet) { p.tos = 0xb8 }},
		{"interface", func(p *packet) { p.device = 1 }},
		{"tunnel", func(p *packet) { p.vni = 7001 }},
		{"checksum", func(p *packet) { p.offload = true }},
		{"padding", func(p *packet) { p.padding = 6 }},
		{"df", func(p *packet) { p.df = true }},
		{"vlan+mac+ttl+interface", func(p *packet) { p.vlan, p.mac, p.ttl, p.device = 10, 1, 1, 1 }},
	} {
		packets := []packet{first, first}
		packets[1].time = 5 * us
		c.change(&packets[1])
		for range 2 {
			r := inspected(packets, 2)
			if !maps.Equal(r.Kinds, map[string]uint64{c.kind: 1}) || r.Copies != 1 || r.Equal != 1 || len(r.Matrix) != 1 || !r.Recommendation.Dedup {
				t.Errorf("%s: %v, %d copies, matrix %v, %+v", c.kind, r.Kinds, r.Copies, r.Matrix, r.Recommendation)
			}
			packets[0], packets[1] = packets[1], packets[0] // in the other order
			packets[0].time, packets[1].time = packets[1].time, packets[0].time
		}
	}
}

// TestClamped looks at connections through a router that lowers the maximum segment size, in the clear
// and behind a translation.
func TestClamped(t *testing.T) {
	for _, c := range []struct {
		name, kind string
		change     func(p *packet)
		ignore     []string
	}{
		{"clamped", "ttl+mss", func(*packet) {}, []string{"mss"}},
		{"and DF cleared", "ttl+df+mss", func(p *packet) { p.df = true }, []string{"mss"}},
		{"in a tunnel", "ttl+tunnel+mss", func(p *packet) { p.vni = 9 }, []string{"mss"}},
		{"translated", "ttl+nat+mss", func(p *packet) { p.flow = 200 }, []string{"mss", "nat"}},
	} {
		var packets []packet
		for i := range 400 {
			p := packet{id: uint16(i + 1), flow: uint32(i / 40), payload: uint32(i), tcp: true, time: int64(i) * ms}
			if i%4 < 2 {
				p.mss = 1460
			}
			copied := p
			copied.ttl, copied.time = 1, p.time+10*us
			if c.change(&copied); p.mss != 0 {
				copied.mss = 1452
			}
			packets = append(packets, p, copied)
		}
		r := inspected(packets, 7)
		if r.Copies != 400 || r.Kinds[c.kind] != 200 || !slices.Equal(r.Recommendation.Ignore, c.ignore) || r.Recommendation.Removes != 400 {
			t.Errorf("%s: %v, %+v", c.name, r.Kinds, r.Recommendation)
		}
	}
}

// TestNoCopies looks at packets that are alike, and none a copy.
func TestNoCopies(t *testing.T) {
	first := packet{id: 7, flow: 1, payload: 9}
	for name, change := range map[string]func(*packet){
		"payload":      func(p *packet) { p.payload = 10 },
		"id":           func(p *packet) { p.id = 8 },
		"late":         func(p *packet) { p.time = 2000 * ms },
		"no time":      func(p *packet) { p.noTime = true },
		"another flow": func(p *packet) { p.flow = 2 },
	} {
		packets := []packet{first, first}
		packets[1].time = 5 * us
		change(&packets[1])
		if r := inspected(packets, 2); r.Equal != 0 || r.Copies != 0 || r.Recommendation.Dedup {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// TestRepeats looks at packets that are sent again at one point, and copied from there.
func TestRepeats(t *testing.T) {
	var packets []packet
	for i := range 50 {
		at := int64(i) * 20 * ms
		packets = append(packets, packet{arp: true, time: at}, packet{arp: true, time: at + 3*us, device: 1})
	}
	r := inspected(packets, 7)
	if r.Copies != 50 || r.NotCopies["arp"] != 49 || r.Kinds["interface"] != 50 || r.Matrix[0].Delay.Max > 3100 {
		t.Errorf("%+v", r)
	}
	if e := r.Examples["arp"]; e.Packet != 3 || e.Earlier != 1 || e.Delay != 20*ms || e.What != "frame sent again" {
		t.Errorf("%+v", e)
	}
	c := &r.Recommendation
	if c.Window != time.Millisecond || c.Removes != 50 || c.Wrong != 0 || !c.Dedup {
		t.Errorf("%+v", c)
	}
	// Without the other interface, nothing is a copy.
	r = inspected(slices.DeleteFunc(packets, func(p packet) bool { return p.device == 1 }), 7)
	if r.Copies != 0 || r.NotCopies["arp"] != 49 || r.Recommendation.Dedup {
		t.Errorf("%+v", r)
	}
}

// TestRepeatsAtTheWindow looks at packets that are sent again a window apart, where a filter keeps
// some of the copies.
func TestRepeatsAtTheWindow(t *testing.T) {
	var packets []packet
	for i := range 50 {
		at := int64(i) * 1000 * ms
		packets = append(packets, packet{arp: true, time: at}, packet{arp: true, time: at + 3*us, device: 1})
	}
	r := inspected(packets, 7)
	if r.Copies != 50 || r.NotCopies["arp"] != 49 || r.Equal != 99 || r.Matrix[0].Delay.Max > 3100 {
		t.Errorf("%+v", r)
	}
	if c := &r.Recommendation; c.Window != time.Millisecond || c.Removes != 50 || c.Wrong != 0 || c.Left != 0 {
		t.Errorf("%+v", c)
	}
}

// stream returns random packets of all kinds, whose times go back and forth.
func stream(r *rand.Rand, n int) []packet {
	var all []packet
	now := int64(0)
	for len(all) < n {
		now += r.Int64N(200 * us)
		p := packet{time: now, id: uint16(r.IntN(3) * len(all)), flow: r.Uint32N(40), answer: r.IntN(2) == 0, payload: uint32(len(all)), tcp: r.IntN(4) == 0}
		if r.IntN(20) == 0 {
			p = packet{time: now, arp: true, payload: r.Uint32N(5)}
		}
		p.noTime = r.IntN(100) == 0
		all = append(all, p)
		for range r.IntN(4) {
			c := p
			c.time += r.Int64N(int64(1) << r.IntN(30))
			c.device, c.vlan, c.ttl = r.Uint32N(devices), uint16(r.IntN(2)*10), uint8(r.IntN(3))
			c.offload = r.IntN(30) == 0
			all = append(all, c)
		}
	}
	slices.SortStableFunc(all, func(a, b packet) int { return int(a.time/(5*ms) - b.time/(5*ms)) })
	return all
}

// TestWindows compares what filters would remove with the reference, and checks that
// nothing depends on batches.
func TestWindows(t *testing.T) {
	packets := stream(rand.New(rand.NewPCG(3, 4)), 20_000)
	for i := range packets {
		packets[i].offload = false // equal packets whose checksums differ belong to a different identity
	}
	b := batchOf(packets)
	n := New(Config{})
	defer n.Close()
	p := n.NewBatch()
	p.Prepare(b)
	n.Add(p, b)
	digests, times, points := make([]digest.Digest, len(packets)), make([]int64, len(packets)), make([]uint32, len(packets))
	identity.New(identity.Config{}).FromFrames(make([]headers.Protocol, len(packets)), b, 0).Sum(digests, digest.NewAES([16]byte{}))
	for i := range b.Frames {
		times[i], points[i] = b.Frames[i].Time, b.Frames[i].Interface
	}
	for w, span := range n.windows {
		for across := range 2 {
			exact, err := window.NewExact(window.ExactConfig{Window: window.Window{Duration: time.Duration(span)}, Across: across == 1})
			if err != nil {
				t.Fatal(err)
			}
			seen := make([]uint64, (len(packets)+63)/64)
			exact.TestAndSet(seen, digests, times, points)
			want := uint64(0)
			for i := range packets {
				want += seen[i/64] >> (i % 64) & 1
			}
			if got := n.whole.removed[w][across]; got != want || want == 0 {
				t.Errorf("window %v, across %d: %d removed, want %d", time.Duration(span), across, got, want)
			}
		}
	}
	r := n.Report()
	var sum uint64
	for _, c := range r.NotCopies {
		sum += c
	}
	if r.Copies+sum != r.Equal {
		t.Errorf("%d copies and %d others, of %d", r.Copies, sum, r.Equal)
	}
}

// TestCuts checks that a report does not depend on how the stream is cut into batches.
func TestCuts(t *testing.T) {
	packets := stream(rand.New(rand.NewPCG(5, 6)), 8000)
	for i := range packets {
		if i > 3001 && i%3 == 0 {
			packets[i].snap = 100
		}
	}
	want := inspected(packets, len(packets))
	for _, most := range []int{1, 40, 1500} {
		if got := inspected(packets, most); !reflect.DeepEqual(got, want) {
			t.Errorf("batches of %d:\n%+v\n%+v", most, got, want)
		}
	}
}

// TestSample checks that a sample of a long stream has the shares of the stream.
func TestSample(t *testing.T) {
	n := New(Config{})
	defer n.Close()
	p := n.NewBatch()
	number, packets := uint32(0), make([]packet, 0, 1<<14)
	for range 90 {
		packets = packets[:0]
		for len(packets) < 1<<14 {
			number++
			one := packet{id: uint16(number | 1), payload: number, flow: number % 1000, time: int64(number) * 10 * us}
			packets = append(packets, one)
			if number%4 == 0 {
				one.device, one.time = 1, one.time+us
				packets = append(packets, one)
			}
		}
		b := batchOf(packets)
		p.Prepare(b)
		n.Add(p, b)
	}
	r := n.Report()
	share := float64(r.Copies) / float64(r.Packets)
	const few = 5 // of 92,000 sampled packets find a set full, by chance
	if r.Sampled != 16 || share < 0.195 || share > 0.205 || r.Recommendation.Removes != r.Copies || r.Forgotten > few {
		t.Errorf("share %v, 1 in %d sampled, %d copies, %d forgotten, %+v", share, r.Sampled, r.Copies, r.Forgotten, r.Recommendation)
	}
	if points := r.Points["a"] + r.Points["b"]; float64(points) < 0.99*float64(r.Packets) || float64(points) > 1.01*float64(r.Packets) {
		t.Errorf("%d packets at points, of %d", points, r.Packets)
	}
}

// TestHostile checks that memory stays bounded where all packets are new, at the same
// time, and at points of their own.
func TestHostile(t *testing.T) {
	const memory = 4 << 20
	n := New(Config{Memory: memory})
	defer n.Close()
	p := n.NewBatch()
	number, packets := uint32(0), make([]packet, 1<<13)
	for range 24 {
		for i := range packets {
			number++
			packets[i] = packet{id: 1, payload: number / 2, flow: number / 2 % 1000, vlan: uint16(number/2%2000 + number%2*2000 + 1), mac: byte(number)}
		}
		b := batchOf(packets)
		p.Prepare(b)
		n.Add(p, b)
	}
	r := n.Report()
	if r.MemoryBytes > memory || r.Forgotten == 0 || len(r.Points) > 1024+1 || len(r.Matrix) > maxHistograms || r.Uncounted == 0 {
		t.Errorf("%d bytes, %d forgotten, %d points, %d cells, %d uncounted", r.MemoryBytes, r.Forgotten, len(r.Points), len(r.Matrix), r.Uncounted)
	}
}

// TestSides compares with a plain count: each direction has a VLAN of its own.
func TestSides(t *testing.T) {
	var packets []packet
	for i := range 400 {
		p := packet{id: uint16(i + 1), payload: uint32(i), flow: uint32(i / 4), answer: i%2 == 1, time: int64(i) * ms, vlan: 10}
		if p.answer {
			p.vlan = 20
		}
		packets = append(packets, p)
	}
	if s := inspected(packets, 30).Sides; s.Before != (Sides{100, 0}) || s.BeforeByTag != (Sides{200, 200}) || s.After != s.Before || s.AfterByTag != s.BeforeByTag {
		t.Errorf("%+v", s)
	}
	flows := newSides().whole
	for id := range uint64(100_000) {
		if seen := flows.Find((id + 1) * 0x9e3779b97f4a7c15); seen != nil {
			*seen = 3 | 3<<2
		}
	}
	if all, kept := countSides(&flows); all != kept || all.OneSided != 0 || all.Flows < maxFlows/4 || all.Flows > maxFlows {
		t.Errorf("%+v", all)
	}
}

func TestSteadyState(t *testing.T) {
	packets := stream(rand.New(rand.NewPCG(7, 8)), 4096)
	b := batchOf(packets)
	n := New(Config{})
	defer n.Close()
	p := n.NewBatch()
	work := func() {
		for i := range b.Frames { // the packets come again, later
			if b.Frames[i].Time != capture.NoTime {
				b.Frames[i].Time += 10 * int64(time.Second)
			}
		}
		p.Prepare(b)
		n.Add(p, b)
	}
	for range 5 {
		work()
	}
	if got := testing.AllocsPerRun(20, work); got > 1 {
		t.Errorf("%v allocations", got)
	}
}

// FuzzInspect checks that no bytes under any link type lead to a panic, and that a packet
// equals itself, unless too little of it was captured.
func FuzzInspect(f *testing.F) {
	for _, p := range stream(rand.New(rand.NewPCG(9, 10)), 40) {
		f.Add(uint32(capture.LinkEthernet), p.bytes(), uint16(10))
	}
	f.Add(uint32(capture.LinkEthernet), (&packet{vni: 7, id: 3}).bytes(), uint16(3))
	f.Add(uint32(24), []byte("0"), uint16(5))
	f.Fuzz(func(t *testing.T, link uint32, data []byte, missing uint16) {
		b := new(capture.Batch)
		it := b.AppendInterface(capture.Interface{LinkType: capture.LinkType(link % 65536)})
		for range 2 {
			b.Append(capture.Frame{Interface: it, Time: 1e18, WireLen: uint32(len(data)) + uint32(missing)}, data)
		}
		n := New(Config{Memory: 1 << 20, Translations: true})
		defer n.Close()
		p := n.NewBatch()
		p.Prepare(b)
		n.Add(p, b)
		if r := n.Report(); r.Equal != 1 && r.Undecidable+r.ChecksumOnly == 0 {
			t.Errorf("%d equal packets", r.Equal)
		}
	})
}

func BenchmarkInspect(b *testing.B) {
	for _, most := range []int{1, 2} {
		b.Run(map[int]string{1: "unique", 2: "twice"}[most], func(b *testing.B) {
			n := New(Config{})
			defer n.Close()
			p := n.NewBatch()
			var packets []packet
			for i := range 4096 {
				one := packet{id: uint16(i + 1), payload: uint32(i), flow: uint32(i % 500), time: int64(i) * 2 * us, tcp: true}
				for k := range most {
					one.vlan = uint16(k)
					packets = append(packets, one)
				}
			}
			batch := batchOf(packets)
			for b.Loop() {
				for i := range batch.Frames {
					batch.Frames[i].Time += 20 * ms
				}
				n.cfg.Key[0]++
				p.digester = digest.NewAES(n.cfg.Key) // so that packets are new
				p.Prepare(batch)
				n.Add(p, batch)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(batch.Frames)), "ns/packet")
		})
	}
}
