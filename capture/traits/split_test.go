// SPDX-License-Identifier: Apache-2.0

package traits

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
)

// talking is a packet of a conversation, and what became of it.
type talking struct {
	conversation uint32
	answer       bool // of the other direction
	vlan         uint16
	at           uint32 // the interface
	dropped      bool
	arp          bool
}

// bytes returns the frame.
func (p *talking) bytes() []byte {
	be := binary.BigEndian
	b := make([]byte, 12, 64)
	if p.vlan != 0 {
		b = be.AppendUint16(be.AppendUint16(b, 0x8100), p.vlan)
	}
	if p.arp {
		return append(be.AppendUint16(b, 0x0806), make([]byte, 28)...)
	}
	b = append(b, 8, 0, 0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0)
	ends := [2]uint32{0x0a000000 | p.conversation, 0xac100001}
	ports := [2]uint16{1000, 53}
	if p.answer {
		ends[0], ends[1], ports[0], ports[1] = ends[1], ends[0], ports[1], ports[0]
	}
	b = be.AppendUint32(be.AppendUint32(b, ends[0]), ends[1])
	b = be.AppendUint16(be.AppendUint16(b, ports[0]), ports[1])
	return append(b, 0, 8, 0, 0)
}

// batchOf returns a batch of packets and their verdicts.
func batchOf(packets []talking) (b *capture.Batch, drop []uint64) {
	b = new(capture.Batch)
	for range 2 {
		b.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet})
	}
	drop = make([]uint64, (len(packets)+63)/64)
	for i := range packets {
		p := &packets[i]
		b.Append(capture.Frame{Interface: p.at}, p.bytes())
		if p.dropped {
			drop[i/64] |= 1 << (i % 64)
		}
	}
	return b, drop
}

const bothTags = PointVLAN | PointVNI

func countsOf(cfg SightingConfig, packets []talking) SplitCounts {
	c := NewSplitCounter(cfg, SplitCounts{}, 0)
	c.Add(batchOf(packets))
	return c.Counts()
}

func TestCounts(t *testing.T) {
	for _, c := range []struct {
		name    string
		packets []talking
		want    SplitCounts
	}{
		{"one packet", []talking{{}}, SplitCounts{}},
		{"a packet and its copy", []talking{{vlan: 10}, {vlan: 20, dropped: true}}, SplitCounts{}},
		{"two packets", []talking{{vlan: 10}, {vlan: 10, answer: true}}, SplitCounts{Sampled: 1}},
		{"more packets", []talking{{}, {answer: true}, {}, {}}, SplitCounts{Sampled: 1}},
		{"a VLAN for each direction", []talking{{vlan: 10}, {vlan: 20, answer: true}, {vlan: 10}}, SplitCounts{Sampled: 1}},
		{"tagged and not", []talking{{vlan: 10}, {dropped: true}, {}}, SplitCounts{1, 1, 1}},
		{"a copy of another conversation", []talking{{vlan: 10}, {}, {conversation: 1, dropped: true}}, SplitCounts{Sampled: 1}},
		{"nothing removed", []talking{{vlan: 10}, {vlan: 20}, {vlan: 20, answer: true}, {vlan: 10, answer: true}}, SplitCounts{Sampled: 1}},
		{"a router", []talking{{vlan: 10}, {vlan: 20, dropped: true}, {vlan: 20, answer: true}, {vlan: 10, answer: true, dropped: true}}, SplitCounts{1, 1, 1}},
		{"kept from one VLAN", []talking{{vlan: 10}, {vlan: 20, dropped: true}, {vlan: 20, answer: true, dropped: true}, {vlan: 10, answer: true}}, SplitCounts{Sampled: 1}},
		{"a tap", []talking{{}, {at: 1, answer: true}, {}, {at: 1, answer: true}}, SplitCounts{Sampled: 1}},
		{"two interfaces", []talking{{}, {at: 1, dropped: true}, {at: 1, answer: true}, {answer: true, dropped: true}}, SplitCounts{1, 1, 0}},
		{"two interfaces, a copy first", []talking{{dropped: true}, {}, {at: 1, answer: true}}, SplitCounts{1, 1, 0}},
		{"interfaces and VLANs", []talking{{vlan: 10}, {vlan: 20, at: 1}, {dropped: true}}, SplitCounts{1, 1, 1}},
		{"two conversations", []talking{{vlan: 10}, {conversation: 1, vlan: 20}, {vlan: 10}, {conversation: 1, vlan: 30}, {conversation: 1, dropped: true}}, SplitCounts{2, 1, 1}},
		{"without IP", []talking{{arp: true, vlan: 10}, {arp: true, vlan: 20}}, SplitCounts{}},
	} {
		if got := countsOf(SightingConfig{Fields: bothTags}, c.packets); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
	vlans := []talking{{vlan: 10}, {vlan: 20, answer: true}, {dropped: true}}
	if got, want := countsOf(SightingConfig{}, vlans), (SplitCounts{Sampled: 1}); got != want {
		t.Errorf("tags that do not count: %+v, want %+v", got, want)
	}
}

// stream returns random packets of conversations, a third of which change their VLAN.
func stream(r *rand.Rand, n, conversations int) []talking {
	packets := make([]talking, n)
	for i := range packets {
		p := &packets[i]
		*p = talking{conversation: r.Uint32N(uint32(conversations)), answer: r.IntN(2) == 0, vlan: 10, dropped: r.IntN(3) == 0, arp: r.IntN(50) == 0}
		if p.conversation%3 == 0 && p.answer {
			p.vlan = 20
		}
		if p.conversation%5 == 1 && p.answer {
			p.at = 1
		}
	}
	return packets
}

// model counts plainly. Of the stream it looks at the packets that isSampled names.
func model(packets []talking) (want SplitCounts) {
	type known struct {
		kept, copies  int
		vlans, places map[uint32]bool
	}
	all := map[uint32]*known{}
	for i := range packets {
		p := &packets[i]
		if p.arp || !isSampled(uint64(i)) {
			continue
		}
		k := all[p.conversation]
		if k == nil {
			k = &known{vlans: map[uint32]bool{}, places: map[uint32]bool{}}
			all[p.conversation] = k
		}
		if p.dropped {
			k.copies++
			continue
		}
		k.kept++
		k.vlans[uint32(p.vlan)], k.places[p.at] = true, true
	}
	for _, k := range all {
		if k.kept < 2 {
			continue
		}
		want.Sampled++
		if k.copies > 0 && (len(k.vlans) > 1 || len(k.places) > 1) {
			want.Split++
		}
		if k.copies > 0 && len(k.vlans) > 1 {
			want.Tagged++
		}
	}
	return want
}

// TestAllKept counts packets without verdicts: all are kept, so nothing is in parts.
func TestAllKept(t *testing.T) {
	b, _ := batchOf([]talking{{vlan: 10}, {vlan: 20}, {vlan: 20, answer: true}, {vlan: 10, answer: true}})
	c := NewSplitCounter(SightingConfig{Fields: bothTags}, SplitCounts{}, 0)
	if c.Add(b, nil); c.Counts() != (SplitCounts{Sampled: 1}) {
		t.Errorf("%+v", c.Counts())
	}
}

// isSampled says plainly which packets are sampled.
func isSampled(number uint64) bool {
	in := number % (1 << 24)
	spacing := uint64(1)
	for end := uint64(1 << 14); in >= end && spacing < 128; end *= 2 {
		spacing *= 2
	}
	return in/512%spacing == 0
}

func TestBursts(t *testing.T) {
	for _, start := range []uint64{0, 1 << 24, 3<<24 - 100_000} {
		for at := start; at < start+1<<21; {
			from, to := nextBurst(at)
			if from < at || to <= from {
				t.Fatalf("from %d on: %d to %d", at, from, to)
			}
			for ; at < to; at++ {
				if isSampled(at) != (at >= from) {
					t.Fatalf("packet %d, next burst %d to %d", at, from, to)
				}
			}
		}
	}
}

// TestModel compares with the model, for batches of all lengths.
func TestModel(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, conversations := range []int{3, 500, 3000} {
		packets := stream(r, 100_000, conversations)
		want := model(packets)
		if want.Split == 0 || want.Tagged == want.Split && conversations > 10 || want.Sampled <= want.Split {
			t.Fatalf("the model counts %+v", want)
		}
		for _, most := range []int{len(packets), 5000, 130} {
			c := NewSplitCounter(SightingConfig{Fields: bothTags, Seed: uint64(most)}, SplitCounts{}, 0)
			for rest := packets; len(rest) > 0; {
				n := min(1+r.IntN(most), len(rest))
				c.Add(batchOf(rest[:n]))
				rest = rest[n:]
			}
			if got := c.Counts(); got != want {
				t.Errorf("%d conversations in batches of up to %d: %+v, want %+v", conversations, most, got, want)
			}
		}
	}
}

// TestFull checks that the share stays of use when there are too many conversations, some
// of which leave the sample before a second point is seen, and that it does not depend on
// batches.
func TestFull(t *testing.T) {
	packets := stream(rand.New(rand.NewPCG(3, 4)), 300_000, 20_000)
	want := model(packets)
	whole := countsOf(SightingConfig{Fields: bothTags, Seed: 5}, packets)
	if whole.Sampled < 1000 || whole.Sampled >= want.Sampled {
		t.Errorf("%d of %d conversations", whole.Sampled, want.Sampled)
	}
	share, exact := float64(whole.Tagged)/float64(whole.Sampled), float64(want.Tagged)/float64(want.Sampled)
	if share < exact*0.6 || share > exact*1.2 {
		t.Errorf("%.3f of the conversations are split, want %.3f", share, exact)
	}
	c := NewSplitCounter(SightingConfig{Fields: bothTags, Seed: 5}, SplitCounts{}, 0)
	for at := 0; at < len(packets); at += 777 {
		c.Add(batchOf(packets[at:min(at+777, len(packets))]))
	}
	if got := c.Counts(); got != whole {
		t.Errorf("in batches %+v, else %+v", got, whole)
	}
}

// TestPeriods checks that a conversation counts again in the next period, and that a
// counter goes on where a counter before it ended.
func TestPeriods(t *testing.T) {
	pair := []talking{{vlan: 10}, {vlan: 20, dropped: true}, {vlan: 20}}
	c := NewSplitCounter(SightingConfig{Fields: bothTags}, SplitCounts{7, 6, 5}, period-3)
	c.Add(batchOf(pair)) // between two bursts
	c.Add(batchOf(pair))
	c.Add(batchOf(pair))
	if got, want := c.Counts(), (SplitCounts{8, 7, 6}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	c = NewSplitCounter(SightingConfig{Fields: bothTags}, c.Counts(), period)
	c.Add(batchOf(pair))
	if got, want := c.Counts(), (SplitCounts{9, 8, 7}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestSample checks that a sample has the values of all hashes below a bound, and no others.
func TestSample(t *testing.T) {
	tab := NewSample[conversation](maxConversations)
	r := rand.New(rand.NewPCG(5, 6))
	known := map[uint64]bool{}
	for range 50_000 {
		id := max(r.Uint64(), 1)
		if k := tab.Find(id); k != nil {
			known[id] = true
			k.traits = parts(id)
		}
	}
	n := 0
	for id := range known {
		in := id>>(64-tab.level) == 0
		k := tab.Find(id)
		if (k != nil) != in || k != nil && k.traits != parts(id) {
			t.Fatalf("id %x, level %d: %+v", id, tab.level, k)
		}
		if in {
			n++
		}
	}
	if n != tab.n || n < maxConversations/4 || n > maxConversations {
		t.Errorf("%d conversations, %d known", tab.n, n)
	}
}

func TestSteadyState(t *testing.T) {
	b, drop := batchOf(stream(rand.New(rand.NewPCG(7, 8)), 4096, 2000))
	c := NewSplitCounter(SightingConfig{Fields: bothTags}, SplitCounts{}, 0)
	if n := testing.AllocsPerRun(100, func() { c.Add(b, drop) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkAdd counts a stream of 4 million packets.
func BenchmarkAdd(b *testing.B) {
	batch, drop := batchOf(stream(rand.New(rand.NewPCG(9, 10)), 16_384, 5000))
	const batches = 256
	for b.Loop() {
		c := NewSplitCounter(SightingConfig{Fields: bothTags}, SplitCounts{}, 0)
		for range batches {
			c.Add(batch, drop)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*batches*len(batch.Frames)), "ns/packet")
}
