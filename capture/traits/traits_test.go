// SPDX-License-Identifier: Apache-2.0

package traits

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
)

// tapped is a UDP packet as a capture point saw it.
type tapped struct {
	at      uint32 // 0 and 1 are Ethernet, 2 has cooked headers
	index   byte   // of the interface in a cooked header
	unused  byte   // behind the address in a cooked header
	src     byte   // the last byte of the source's hardware address
	tags    []uint32
	ipv6    bool
	hops    byte
	dscp    byte
	payload byte
	padding int
	arp     bool // without IP
}

const (
	tag100   = 0x8100_0064
	tag200   = 0x8100_00C8
	outer300 = 0x88A8_012C
)

func (p *tapped) bytes() []byte {
	be := binary.BigEndian
	kind := uint16(0x0800)
	switch {
	case p.ipv6:
		kind = 0x86DD
	case p.arp:
		kind = 0x0806
	}
	tags := []byte{}
	for _, tag := range p.tags {
		tags = be.AppendUint32(tags, tag)
	}
	tags = be.AppendUint16(tags, kind)
	b := []byte{2, 0, 0, 0, 0, 99, 2, 0, 0, 0, 0, p.src}
	if p.at == 2 {
		// The first type is in the header, behind which the rest follows.
		b = append([]byte{tags[0], tags[1], 0, 0, 0, 0, 0, p.index, 0, 1, p.index % 5, 6}, b[6:]...)
		b = append(b, p.unused, 0)
		tags = tags[2:]
	}
	b = append(b, tags...)
	return append(append(b, p.datagram()...), make([]byte, p.padding)...)
}

func (p *tapped) datagram() []byte {
	udp := []byte{0, 53, 0, 54, 0, 9, 0, 0, p.payload}
	if p.arp {
		return udp
	}
	if p.ipv6 {
		b := append([]byte{0x60 | p.dscp>>4, p.dscp << 4, 0, 0, 0, byte(len(udp)), 17, p.hops}, make([]byte, 32)...)
		b[8], b[24], b[39] = 0xFD, 0xFD, 1
		return append(b, udp...)
	}
	b := []byte{0x45, p.dscp, 0, byte(20 + len(udp)), 0, 1, 0, 0, p.hops, 17, 0x12, p.hops, 10, 0, 0, 1, 10, 0, 0, 2}
	return append(b, udp...)
}

// frame appends a frame that was seen at an interface to a batch.
func frame(b *capture.Batch, at uint32, data []byte) {
	b.Frames = append(b.Frames, capture.Frame{Data: uint32(len(b.Buf)), CapLen: uint32(len(data)), WireLen: uint32(len(data)), Interface: at})
	b.Buf = append(b.Buf, data...)
}

func threeInterfaces() *capture.Batch {
	return &capture.Batch{Sections: make([]capture.Section, 1), Interfaces: []capture.Interface{
		{LinkType: capture.LinkEthernet}, {LinkType: capture.LinkEthernet, CapturePoint: 1}, {LinkType: capture.LinkLinuxSLL2, CapturePoint: 2},
	}}
}

// allTraits returns the traits of every packet of a batch.
func allTraits(r *reader, b *capture.Batch) (all []traits) {
	for i := range b.Frames {
		all = append(all, r.read(b, i))
	}
	return all
}

// diffsOf returns how a copy differs from the packet that was kept.
func diffsOf(b *capture.Batch) Counts {
	both := allTraits(newReader(headers.NewDecoder(headers.DecoderConfig{})), b)
	var r Counts
	r.compare(both[0], both[1])
	return r
}

// TestTraits compares two sightings of a packet.
func TestTraits(t *testing.T) {
	for _, c := range []struct {
		name   string
		a      tapped
		change func(p *tapped)
		want   Counts
	}{
		{"the same", tapped{}, func(*tapped) {}, Counts{Exact: 1}},
		{"the same, IPv6", tapped{ipv6: true}, func(*tapped) {}, Counts{Exact: 1}},
		{"the same, tagged", tapped{tags: []uint32{outer300, tag100}}, func(*tapped) {}, Counts{Exact: 1}},
		{"tagged", tapped{}, func(p *tapped) { p.tags = []uint32{tag100} }, Counts{VLAN: 1}},
		{"tagged twice", tapped{}, func(p *tapped) { p.tags = []uint32{outer300, tag100} }, Counts{VLAN: 1}},
		{"another VLAN", tapped{tags: []uint32{tag100}}, func(p *tapped) { p.tags = []uint32{tag200} }, Counts{VLAN: 1}},
		{"another priority", tapped{tags: []uint32{tag100}}, func(p *tapped) { p.tags = []uint32{tag100 | 0xE000} }, Counts{VLAN: 1}},
		{"another type of tag", tapped{tags: []uint32{0x8100_012C}}, func(p *tapped) { p.tags = []uint32{outer300} }, Counts{VLAN: 1}},
		{"untagged, IPv6", tapped{ipv6: true, tags: []uint32{tag100}}, func(p *tapped) { p.tags = nil }, Counts{VLAN: 1}},
		{"hops", tapped{hops: 64}, func(p *tapped) { p.hops = 63 }, Counts{TTL: 1}},
		{"hops, IPv6", tapped{ipv6: true, hops: 64}, func(p *tapped) { p.hops = 60 }, Counts{TTL: 1}},
		{"hops, tagged", tapped{tags: []uint32{tag100}}, func(p *tapped) { p.hops++ }, Counts{TTL: 1}},
		{"addresses", tapped{}, func(p *tapped) { p.src++ }, Counts{MAC: 1}},
		{"interface", tapped{}, func(p *tapped) { p.at = 1 }, Counts{Interface: 1}},
		{"class", tapped{}, func(p *tapped) { p.dscp = 4 << 2 }, Counts{Other: 1}},
		{"class, IPv6", tapped{ipv6: true}, func(p *tapped) { p.dscp = 4 << 2 }, Counts{Other: 1}},
		{"padding", tapped{}, func(p *tapped) { p.padding = 9 }, Counts{Other: 1}},
		{"payload", tapped{}, func(p *tapped) { p.payload++ }, Counts{Other: 1}},
		{"routed", tapped{hops: 64}, func(p *tapped) { p.at, p.src, p.hops = 1, 7, 63 }, Counts{TTL: 1, MAC: 1, Interface: 1}},
		{"routed between VLANs", tapped{tags: []uint32{tag100}}, func(p *tapped) { p.tags, p.src, p.hops = []uint32{tag200}, 7, 63 }, Counts{VLAN: 1, TTL: 1, MAC: 1}},
		{"all", tapped{}, func(p *tapped) { *p = tapped{1, 0, 0, 7, []uint32{tag100}, false, 9, 8, 0, 0, false} },
			Counts{VLAN: 1, TTL: 1, MAC: 1, Interface: 1, Other: 1}},

		{"cooked, the same", tapped{at: 2, index: 3}, func(*tapped) {}, Counts{Exact: 1}},
		{"cooked, the same, tagged", tapped{at: 2, index: 3, tags: []uint32{tag100}}, func(*tapped) {}, Counts{Exact: 1}},
		{"cooked, other bytes behind the address", tapped{at: 2, index: 3}, func(p *tapped) { p.unused = 8 }, Counts{Exact: 1}},
		{"cooked, another interface", tapped{at: 2, index: 3}, func(p *tapped) { p.index = 4 }, Counts{Interface: 1}},
		{"cooked, tagged", tapped{at: 2, index: 3}, func(p *tapped) { p.tags = []uint32{tag100} }, Counts{VLAN: 1}},
		{"cooked, tagged, IPv6", tapped{at: 2, index: 3, ipv6: true}, func(p *tapped) { p.tags = []uint32{outer300} }, Counts{VLAN: 1}},
		{"cooked, tagged twice", tapped{at: 2, index: 3}, func(p *tapped) { p.tags = []uint32{outer300, tag100} }, Counts{VLAN: 1}},
		{"cooked, trunk and VLAN", tapped{at: 2, index: 3, tags: []uint32{tag100}}, func(p *tapped) { p.index, p.tags = 4, nil }, Counts{VLAN: 1, Interface: 1}},
		{"cooked, another VLAN", tapped{at: 2, index: 3, tags: []uint32{tag100}}, func(p *tapped) { p.tags = []uint32{tag200} }, Counts{VLAN: 1}},
		{"cooked, routed", tapped{at: 2, index: 3, hops: 64}, func(p *tapped) { p.index, p.src, p.hops = 4, 7, 63 }, Counts{TTL: 1, MAC: 1, Interface: 1}},
		{"cooked, class", tapped{at: 2, index: 3}, func(p *tapped) { p.dscp = 8 }, Counts{Other: 1}},

		{"without IP, the same", tapped{arp: true}, func(*tapped) {}, Counts{Exact: 1}},
		{"without IP, interface", tapped{arp: true}, func(p *tapped) { p.at = 1 }, Counts{Interface: 1}},
		{"without IP, trunk and VLAN", tapped{arp: true, tags: []uint32{tag100}}, func(p *tapped) { p.at, p.tags = 1, nil }, Counts{VLAN: 1, Interface: 1}},
		{"without IP, padding", tapped{arp: true}, func(p *tapped) { p.padding = 9 }, Counts{Other: 1}},
		{"without IP, cooked, another interface", tapped{arp: true, at: 2, index: 3}, func(p *tapped) { p.index = 4 }, Counts{Interface: 1}},
		{"without IP, cooked, tagged", tapped{arp: true, at: 2, index: 3}, func(p *tapped) { p.tags = []uint32{tag100} }, Counts{VLAN: 1}},
	} {
		b, p := threeInterfaces(), c.a
		frame(b, p.at, p.bytes())
		c.change(&p)
		frame(b, p.at, p.bytes())
		c.want.Sampled = 1
		if got := diffsOf(b); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// TestTraitsTruncated checks that nothing beyond the captured bytes is read, and that the
// frame is not modified.
func TestTraitsTruncated(t *testing.T) {
	for _, p := range []tapped{{}, {ipv6: true}, {tags: []uint32{outer300, tag100}}, {at: 2, index: 3, tags: []uint32{tag100}}} {
		b, whole := threeInterfaces(), p.bytes()
		for n := range len(whole) + 1 {
			frame(b, p.at, whole[:n])
		}
		before := slices.Clone(b.Buf)
		allTraits(newReader(headers.NewDecoder(headers.DecoderConfig{})), b)
		if !slices.Equal(b.Buf, before) {
			t.Errorf("%+v: frames were changed", p)
		}
	}
}

// TestTraitsOfRadios checks that the header of a capture makes no difference, though the
// traits distinguish the bytes.
func TestTraitsOfRadios(t *testing.T) {
	b := threeInterfaces()
	b.Interfaces[0].LinkType = capture.LinkRadiotap
	beacon := append([]byte{0x80, 0, 0, 0}, make([]byte, 40)...)
	for _, head := range []string{"\x00\x00\x09\x00\x20\x00\x00\x00\x01", "\x00\x00\x09\x00\x20\x00\x00\x00\x02", "\x00\x00\x08\x00\x00\x00\x00\x00"} {
		frame(b, 0, append([]byte(head), beacon...))
	}
	all := allTraits(newReader(headers.NewDecoder(headers.DecoderConfig{})), b)
	for i := 1; i < len(all); i++ {
		var r Counts
		r.compare(all[0], all[i])
		if want := (Counts{Sampled: 1, Exact: 1}); r != want || all[i] == all[0] {
			t.Errorf("%+v, want %+v: %+v and %+v", r, want, all[0], all[i])
		}
	}
}

// TestTraitsInner checks that the headers around a tunnel count as link header.
func TestTraitsInner(t *testing.T) {
	b := threeInterfaces()
	inner := tapped{hops: 64}
	for _, outerHops := range []byte{64, 63} {
		outer := tapped{hops: outerHops}
		head := outer.bytes()[:34]
		head[17], head[23] = byte(20+len(inner.datagram())), 4 // IP in IP
		frame(b, 0, append(head, inner.datagram()...))
	}
	both := allTraits(newReader(headers.NewDecoder(headers.DecoderConfig{Inner: true})), b)
	var r Counts
	r.compare(both[0], both[1])
	if want := (Counts{Sampled: 1, Other: 1}); r != want {
		t.Errorf("%+v, want %+v", r, want)
	}
}

// TestCounter compares each copy with the packet of the same digest that was kept last,
// unless another packet has overwritten its original.
func TestCounter(t *testing.T) {
	r := NewCounter(nil)
	b := threeInterfaces()
	for at := range uint32(3) {
		b.Interfaces[at].Name = string(rune('a' + at))
		p := tapped{at: at}
		frame(b, at, p.bytes())
	}
	digest := func(low, high uint64) digest.Digest { return digest.Digest{low, high} }
	kept := sample{digest: digest(5, 16), time: 1000, place: 1, traits: traits{Routed: Routed{Hops: 64}}}
	routed := sample{digest: digest(5, 16), time: 3000, place: 2, frame: 1, traits: traits{Routed: Routed{Hops: 63}}}
	other := sample{digest: digest(5+rememberedSamples, 16), frame: 2, traits: traits{Routed: Routed{Hops: 63}}}
	enter := func(drop uint64, samples ...sample) { r.Add(&Sampler{samples: samples}, b, []uint64{drop}) }

	enter(0b010, kept, routed)
	if want := (Counts{Sampled: 1, TTL: 1}); r.Counts != want {
		t.Errorf("a copy in the same batch: %+v, want %+v", r.Counts, want)
	}
	enter(0b010, routed)
	if want := (Counts{Sampled: 2, TTL: 2}); r.Counts != want {
		t.Errorf("a copy in a later batch: %+v, want %+v", r.Counts, want)
	}
	enter(0b000, routed)
	enter(0b010, routed)
	if want := (Counts{Sampled: 3, TTL: 2, Exact: 1}); r.Counts != want {
		t.Errorf("a copy of the packet kept last: %+v, want %+v", r.Counts, want)
	}
	enter(0b010, other, routed)
	if want := (Counts{Sampled: 3, TTL: 2, Exact: 1}); r.Counts != want {
		t.Errorf("a copy of what has lost its place: %+v, want %+v", r.Counts, want)
	}
	cells := r.Matrix()
	if len(cells) != 2 || cells[0].Count != 2 || cells[0].Delay.Max < 1980 || cells[0].Delay.Max > 2020 || cells[1].Count != 1 || cells[1].Delay.Max != 0 {
		t.Errorf("matrix %+v", cells)
	}
}

// TestWildDelay has a copy come as long after what it copies as times can lie apart: that is no
// delay of a nanosecond.
func TestWildDelay(t *testing.T) {
	r := NewCounter(nil)
	b := threeInterfaces()
	for at := range uint32(2) {
		p := tapped{at: at}
		frame(b, at, p.bytes())
	}
	d := digest.Digest{5, 16}
	first, last := sample{digest: d, time: math.MinInt64 + 1, place: 1}, sample{digest: d, time: math.MaxInt64, place: 2, frame: 1}
	r.Add(&Sampler{samples: []sample{first, last}}, b, []uint64{0b10})
	if cells := r.Matrix(); len(cells) != 1 || cells[0].Delay.Max < 1e10 {
		t.Errorf("matrix %+v", cells)
	}
}

// TestMix checks that each bit of either word matters.
func TestMix(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		a, b := random.Uint64(), random.Uint64()
		seen := map[uint64]bool{Mix(a, b): true}
		for bit := range 64 {
			for _, sum := range []uint64{Mix(a^1<<bit, b), Mix(a, b^1<<bit)} {
				if seen[sum] {
					t.Fatalf("words %x and %x: bit %d makes no difference", a, b, bit)
				}
				seen[sum] = true
			}
		}
	}
}
