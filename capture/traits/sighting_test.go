// SPDX-License-Identifier: Apache-2.0

package traits

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
	"github.com/google/gopacket"
)

const allPointFields = PointVLAN | PointVNI | pointTEID | PointInterface | PointInput

// sighting is the description of a frame.
type sighting struct{ conversation, fragment, point uint64 }

// sightingsOf returns the sightings of all frames of a batch.
func sightingsOf(cfg SightingConfig, b *capture.Batch) []sighting {
	s := NewSightingReader(cfg).Read(b, 0, len(b.Frames))
	out := make([]sighting, len(b.Frames))
	for i := range out {
		out[i] = sighting{s.Conversation[i], s.Fragment[i], s.Point[i]}
	}
	return out
}

func sightingOf(cfg SightingConfig, link capture.LinkType, data []byte) sighting {
	return sightingsOf(cfg, newBatch(link, data))[0]
}

// between4 and between6 are packets between the stations a and b.
func between4(a, b byte, proto int, payload []byte) []byte {
	return with(with(ip4(1, proto, payload), 12, string([]byte{10, 0, 0, a})), 16, string([]byte{10, 0, 0, b}))
}

func between6(a, b byte, next int, payload []byte) []byte {
	p := ip6(0, next, payload)
	return join(p[:8], p[8:23], []byte{a}, p[8:23], []byte{b}, p[40:])
}

// fragment4 and fragment6 are fragments of UDP between stations 1 and 2, with an
// identification.
func fragment4(id, place int) []byte {
	return with(with(between4(1, 2, iana.ProtoUDP, udp(1000, 53, make([]byte, 32))), 4, string(be16(id))), 6, string(be16(place)))
}

func fragment6(id uint32, place int) []byte {
	return between6(1, 2, iana.ProtoFragment, join([]byte{iana.ProtoUDP, 0}, be16(place), be32(id), udp(1000, 53, make([]byte, 32))))
}

// TestConversations compares the conversations of two packets.
func TestConversations(t *testing.T) {
	const more4, more6 = 0x2000, 1
	for _, c := range []struct {
		name string
		a, b []byte
		same bool
	}{
		{"both directions", between4(1, 2, iana.ProtoTCP, tcp(1000, 80, nil)), between4(2, 1, iana.ProtoTCP, tcp(80, 1000, nil)), true},
		{"both directions, IPv6", between6(1, 2, iana.ProtoTCP, tcp(1000, 80, nil)), between6(2, 1, iana.ProtoTCP, tcp(80, 1000, nil)), true},
		{"ports swapped", between4(1, 2, iana.ProtoTCP, tcp(1000, 80, nil)), between4(1, 2, iana.ProtoTCP, tcp(80, 1000, nil)), false},
		{"ports swapped, IPv6", between6(1, 2, iana.ProtoTCP, tcp(1000, 80, nil)), between6(1, 2, iana.ProtoTCP, tcp(80, 1000, nil)), false},
		{"with oneself", between4(1, 1, iana.ProtoTCP, tcp(1000, 80, nil)), between4(1, 1, iana.ProtoTCP, tcp(80, 1000, nil)), true},
		{"with oneself, IPv6", between6(1, 1, iana.ProtoTCP, tcp(1000, 80, nil)), between6(1, 1, iana.ProtoTCP, tcp(80, 1000, nil)), true},
		{"other port", between4(1, 2, iana.ProtoTCP, tcp(1000, 80, nil)), between4(1, 2, iana.ProtoTCP, tcp(1001, 80, nil)), false},
		{"other port, IPv6", between6(1, 2, iana.ProtoTCP, tcp(1000, 80, nil)), between6(1, 2, iana.ProtoTCP, tcp(1000, 81, nil)), false},
		{"other address", between4(1, 2, iana.ProtoTCP, tcp(1000, 80, nil)), between4(1, 3, iana.ProtoTCP, tcp(1000, 80, nil)), false},
		{"other address, IPv6", between6(1, 2, iana.ProtoTCP, tcp(1000, 80, nil)), between6(3, 2, iana.ProtoTCP, tcp(1000, 80, nil)), false},
		{"other protocol", between4(1, 2, iana.ProtoTCP, tcp(1000, 80, nil)), between4(1, 2, iana.ProtoSCTP, tcp(1000, 80, nil)), false},
		{"other protocol, IPv6", between6(1, 2, iana.ProtoTCP, tcp(1000, 80, nil)), between6(1, 2, iana.ProtoSCTP, tcp(1000, 80, nil)), false},
		{"other payload and TTL", ip4(1, iana.ProtoUDP, udp(7, 8, []byte("one"))), with(ip4(1, iana.ProtoUDP, udp(7, 8, []byte("others"))), 8, "\x09"), true},
		{"options", packet4, with(join(packet4[:20], "\x01\x01\x01\x00", packet4[20:]), 0, "\x46\x00"+string(be16(len(packet4)+4))), true},
		{"extension headers", between6(1, 2, iana.ProtoUDP, udp(7, 8, nil)), between6(2, 1, iana.ProtoDstOpts, join("\x11\x00\x01\x04\x00\x00\x00\x00", udp(8, 7, nil))), true},
		{"ping", between4(1, 2, iana.ProtoICMP, []byte("\x08\x00\x00\x00\x12\x34\x00\x01")), between4(2, 1, iana.ProtoICMP, []byte("\x00\x00\x00\x00\x12\x34\x00\x01")), true},
		{"ping, IPv6", between6(1, 2, iana.ProtoICMPv6, []byte("\x80\x00\x00\x00\x12\x34\x00\x01")), between6(2, 1, iana.ProtoICMPv6, []byte("\x81\x00\x00\x00\x12\x34\x00\x01")), true},
		{"no ports captured", packet4[:20], packet4[:22], true},
		{"no ports captured, IPv6", packet6[:40], packet6[:43], true},
		{"with ports and without", packet4, packet4[:22], false},

		{"first fragment", fragment4(5, more4), between4(1, 2, iana.ProtoUDP, udp(1000, 53, nil)), true},
		{"first fragment, IPv6", fragment6(5, more6), between6(1, 2, iana.ProtoUDP, udp(1000, 53, nil)), true},
		{"whole with fragment header", fragment6(5, 0), between6(1, 2, iana.ProtoUDP, udp(1000, 53, nil)), true},
		{"later fragments", fragment4(5, more4|10), fragment4(5, 20), true},
		{"later fragments, IPv6", fragment6(5, 10<<3|more6), fragment6(5, 20<<3), true},
		{"later fragments of other datagrams", fragment4(5, 20), fragment4(6, 20), false},
		{"later fragments of other datagrams, IPv6", fragment6(5, 20<<3), fragment6(1<<24+5, 20<<3), false},
		{"later fragments of other protocols", fragment4(5, 20), with(fragment4(5, 20), 9, "\x06"), false},
		{"later fragments behind others, IPv6", fragment6(5, 20<<3), with(fragment6(5, 20<<3), 40, "\x3c"), true},
		{"later fragment and ports", fragment4(5, 20), between4(1, 2, iana.ProtoUDP, udp(1000, 53, nil)), false},
		{"later fragment behind an atomic one", between6(1, 2, iana.ProtoFragment, join("\x2c\x00\x00\x00\x00\x00\x00\x09", "\x11\x00", be16(20<<3), be32(5), make([]byte, 16))), fragment6(5, 20<<3), true},
		{"later fragment behind AH", between6(1, 2, iana.ProtoAH, join("\x2c\x04", make([]byte, 22), "\x11\x00", be16(20<<3), be32(5), make([]byte, 16))), fragment6(5, 20<<3), true},
	} {
		a, b := sightingOf(SightingConfig{}, capture.LinkRaw, c.a), sightingOf(SightingConfig{}, capture.LinkRaw, c.b)
		if a.conversation == 0 || b.conversation == 0 || (a.conversation == b.conversation) != c.same {
			t.Errorf("%s: %x and %x", c.name, a.conversation, b.conversation)
		}
		if other := sightingOf(SightingConfig{Seed: 1}, capture.LinkRaw, c.a); other.conversation == a.conversation || other.point == a.point {
			t.Errorf("%s: the seed does not matter", c.name)
		}
	}
}

// TestFragmentsMeet checks that a first fragment names the conversation of those after
// it, and that no other frame does.
func TestFragmentsMeet(t *testing.T) {
	for _, c := range []struct{ first, later, whole []byte }{
		{fragment4(5, 0x2000), fragment4(5, 20), packet4},
		{fragment6(5, 1), fragment6(5, 20<<3), fragment6(5, 0)},
	} {
		s := sightingsOf(SightingConfig{}, newBatch(capture.LinkRaw, c.first, c.later, c.whole, []byte("not IP")))
		if s[0].fragment == 0 || s[0].fragment != s[1].conversation || s[0].fragment == s[0].conversation {
			t.Errorf("first fragment %x, later one %x", s[0], s[1])
		}
		if s[1].fragment != 0 || s[2].fragment != 0 || s[3].fragment != 0 || s[3].conversation != 0 {
			t.Errorf("other frames: %x", s[1:])
		}
	}
}

// conversationModel names a conversation, plainly. Of a later fragment it names the
// datagram.
func conversationModel(h *headers.Header, data []byte, later string) string {
	if h.Version == 0 {
		return ""
	}
	src, dst := data[h.Start+12:h.Start+16], data[h.Start+16:h.Start+20]
	if h.Version == 6 {
		src, dst = data[h.Start+8:h.Start+24], data[h.Start+24:h.Start+40]
	}
	if later != "" {
		return fmt.Sprintf("%x %x %s", src, dst, later)
	}
	ends := []string{fmt.Sprintf("%x:%d", src, h.SrcPort), fmt.Sprintf("%x:%d", dst, h.DstPort)}
	slices.Sort(ends)
	return fmt.Sprint(ends, h.Version, h.Proto)
}

// laterModel names the datagram of a later fragment that generate makes. It is empty for
// other frames.
func laterModel(h *headers.Header, data []byte) string {
	switch ip := data[h.Start:h.End]; {
	case h.Flags&headers.FlagFragment == 0:
		return ""
	case h.Version == 4:
		if ip[6]&0x1f|ip[7] == 0 {
			return ""
		}
		return fmt.Sprintf("%x %d", ip[4:6], ip[9])
	default: // all of them have the same identification
		if h.L4 != 0 {
			return ""
		}
		return "iden"
	}
}

// TestConversationsModel compares random frames with a plain model.
func TestConversationsModel(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	buf := gopacket.NewSerializeBuffer()
	var frames [][]byte
	for range 3000 {
		g := generate(r)
		if err := gopacket.SerializeLayers(buf, gopacket.SerializeOptions{FixLengths: true}, g.Layers...); err != nil {
			t.Fatal(err)
		}
		data := slices.Clone(buf.Bytes())
		if bytes.Count(data, []byte("iden")) > 1 { // a fragment of a fragment, which no sender makes
			continue
		}
		frames = append(frames, data)
		if h := &g.Want; h.L4 != 0 && iana.PortMask[h.Proto] != 0 { // and an answer
			back := slices.Clone(data)
			at, n := h.Start+12, uint32(4)
			if h.Version == 6 {
				at, n = h.Start+8, 16
			}
			copy(back[at:], data[at+n:at+2*n])
			copy(back[at+n:], data[at:at+n])
			copy(back[h.L4:], data[h.L4+2:h.L4+4])
			copy(back[h.L4+2:], data[h.L4:h.L4+2])
			frames = append(frames, back)
		}
	}
	b := newBatch(capture.LinkEthernet, frames...)
	decoded := decode(headers.NewDecoder(headers.DecoderConfig{}), b)
	names, hashes := map[uint64]string{0: ""}, map[string]uint64{"": 0}
	for i, s := range sightingsOf(SightingConfig{Seed: 3}, b) {
		name := conversationModel(&decoded[i], frames[i], laterModel(&decoded[i], frames[i]))
		known, ok := hashes[name]
		other, taken := names[s.conversation]
		if ok != taken || ok && (known != s.conversation || other != name) {
			t.Fatalf("frame %x is of %q, and has the hash of %q", frames[i], name, other)
		}
		hashes[name], names[s.conversation] = s.conversation, name
	}
	if len(names) < 1000 {
		t.Errorf("only %d conversations", len(names))
	}
}

// TestSightingsCut checks that the result does not depend on how a stream is cut, and
// that Points is the same as read.
func TestSightingsCut(t *testing.T) {
	b := mixedBatch()
	for _, inner := range []bool{false, true} {
		for fields := range 2 * PointInput {
			cfg := SightingConfig{Inner: inner, Fields: fields, Seed: 9}
			want := sightingsOf(cfg, b)
			r := NewSightingReader(cfg)
			rng := rand.New(rand.NewPCG(13, 14))
			for range 20 {
				for from := 0; from < len(want); {
					n := rng.IntN(min(40, len(want)-from) + 1)
					points := slices.Clone(r.Points(b, from, n))
					s := r.Read(b, from, n)
					if !slices.Equal(points, s.Point) {
						t.Fatalf("Points and Read differ: %x and %x", points, s.Point)
					}
					for i := range n {
						if got := (sighting{s.Conversation[i], s.Fragment[i], s.Point[i]}); got != want[from+i] {
							t.Fatalf("frame %d: %x, want %x", from+i, got, want[from+i])
						}
					}
					from += n
				}
			}
		}
	}
}

// TestReadIdentities checks that identities lead to the same sightings as headers do.
func TestReadIdentities(t *testing.T) {
	b := mixedBatch()
	for _, n := range []int{20, 28, 36, 40, 43, 44, 52} { // headers that are truncated, here and there
		for i := range len(b.Frames) {
			if data := b.Data(i); len(data) > n {
				b.Append(capture.Frame{Interface: b.Frames[i].Interface}, slices.Clone(data[:n]))
			}
		}
	}
	for _, cfg := range []identity.Config{
		{}, {Kind: identity.Inner}, {Kind: identity.Frame}, {Bytes: 40}, {Ignore: identity.IgnoreAlso(identity.IPID | identity.FlowLabel)}, {Ignore: identity.IgnoreAlso(identity.L4Checksum)}, {Ignore: identity.IgnoreOnly(0)},
	} {
		for fields := range 2 * PointInput {
			sightings := SightingConfig{Inner: cfg.Kind == identity.Inner, Fields: fields, Seed: 9}
			want := NewSightingReader(sightings).Read(b, 0, len(b.Frames))
			got := Sightings{make([]uint64, len(b.Frames)), make([]uint64, len(b.Frames)), make([]uint64, len(b.Frames))}
			r, g, protocols := NewSightingReader(sightings), identity.New(cfg), make([]headers.Protocol, len(b.Frames))
			for from := 0; from < len(b.Frames); {
				to := min(from+1+from*from%80, len(b.Frames))
				m := g.FromFrames(protocols[from:to], b, from)
				r.ReadIdentities(got.Run(from, to), b, from, m)
				point, at := want.Point[from], make([]uint64, (to-from+63)/64)
				for i, can := 0, r.At(at, point, b, from, m); can && i < to-from; i++ {
					if is := want.Conversation[from+i] == 0 || want.Point[from+i] == point; is != (at[i/64]>>(i%64)&1 != 0) {
						t.Fatalf("%+v, fields %b: frame %x: is at the point: %v", cfg, fields, b.Data(from+i), is)
					}
				}
				from = to
			}
			for i := range b.Frames {
				if got.Conversation[i] != want.Conversation[i] || got.Fragment[i] != want.Fragment[i] || got.Point[i] != want.Point[i] {
					t.Fatalf("%+v, fields %b: frame %x: %x %x %x, want %x %x %x", cfg, fields, b.Data(i),
						got.Conversation[i], got.Fragment[i], got.Point[i], want.Conversation[i], want.Fragment[i], want.Point[i])
				}
			}
		}
	}
}

// mixedBatch has frames of many kinds on four interfaces of two inputs, one of them with
// cooked headers.
func mixedBatch() *capture.Batch {
	var frames [][]byte
	for _, c := range tunnelCases {
		p := ether(map[byte]int{4: iana.TypeIPv4, 6: iana.TypeIPv6}[c.Outer[0]>>4], c.Outer)
		frames = append(frames, p, vlan(p), qinq(p), c.Outer)
	}
	for _, p := range [][]byte{fragment4(1, 0x2000), fragment4(1, 9), fragment6(1, 1), fragment6(1, 9<<3), arpFrame, goose(1)} {
		frames = append(frames, ether(int(p[0]>>4/6)*(iana.TypeIPv6-iana.TypeIPv4)+iana.TypeIPv4, p), p, sll2(7, 0, mac(2), iana.TypeIPv4, p))
	}
	b := newBatch(capture.LinkEthernet, frames...)
	b.Sections = append(b.Sections, capture.Section{Input: 1})
	b.Interfaces = append(b.Interfaces, capture.Interface{LinkType: capture.LinkEthernet, CapturePoint: 1},
		capture.Interface{LinkType: capture.LinkRaw, CapturePoint: 2, Section: 1}, capture.Interface{LinkType: capture.LinkLinuxSLL2, CapturePoint: 3, Section: 1})
	for i := range b.Frames {
		b.Frames[i].Interface = uint32(i*i+i/5) % 4
	}
	return b
}

// TestSightingsTruncated reads frames of every length. It must not read beyond them.
func TestSightingsTruncated(t *testing.T) {
	b := mixedBatch()
	readers := []*SightingReader{NewSightingReader(SightingConfig{Fields: allPointFields}), NewSightingReader(SightingConfig{Inner: true, Fields: allPointFields})}
	for i := range b.Frames {
		data := b.Data(i)
		for n := range data {
			one := newBatch(b.Interfaces[b.Frames[i].Interface].LinkType, slices.Clone(data[:n]))
			for _, r := range readers {
				r.Read(one, 0, 1)
			}
		}
	}
}

// FuzzSightings checks that no bytes under any link type lead to a panic, or to a result
// that depends on what lies behind them.
func FuzzSightings(f *testing.F) {
	b := mixedBatch()
	for i := range b.Frames {
		f.Add(uint32(b.Interfaces[b.Frames[i].Interface].LinkType), b.Data(i))
	}
	var readers []*SightingReader
	var identities []*identity.Identity
	for _, inner := range []bool{false, true} {
		readers = append(readers, NewSightingReader(SightingConfig{Inner: inner, Fields: allPointFields}))
	}
	for _, kind := range []identity.Kind{identity.L3, identity.Inner} {
		identities = append(identities, identity.New(identity.Config{Kind: kind}))
	}
	f.Fuzz(func(t *testing.T, link uint32, data []byte) {
		b := newBatch(capture.LinkType(link), data, data)
		b.Buf = append(b.Buf, make([]byte, 200)...)
		for i, r := range readers {
			s := r.Read(b, 0, 2)
			if s.Conversation[0] != s.Conversation[1] || s.Fragment[0] != s.Fragment[1] || s.Point[0] != s.Point[1] {
				t.Fatalf("equal frames differ: %+v", s)
			}
			h := r.headers[0]
			if (h.Version == 0) != (s.Conversation[0] == 0) || s.Fragment[0] != 0 && h.Flags&headers.FlagFragment == 0 {
				t.Fatalf("%+v: %+v", h, s)
			}
			var same [3][2]uint64
			r.ReadIdentities(Sightings{same[0][:], same[1][:], same[2][:]}, b, 0, identities[i].FromFrames(make([]headers.Protocol, 2), b, 0))
			if !slices.Equal(same[0][:], s.Conversation) || !slices.Equal(same[1][:], s.Fragment) || !slices.Equal(same[2][:], s.Point) {
				t.Fatalf("from identities %x, from headers %x", same, s)
			}
		}
	})
}

// TestSightingsSteadyState checks that nothing is allocated once buffers have grown.
func TestSightingsSteadyState(t *testing.T) {
	b := mixedBatch()
	r := NewSightingReader(SightingConfig{Inner: true, Fields: allPointFields})
	if n := testing.AllocsPerRun(10, func() { r.Read(b, 0, len(b.Frames)) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestReadIdentitiesTagged is TestReadIdentities for many frames of an interface, with a VLAN
// tag, with a tag of VLAN 0, and without a tag.
func TestReadIdentitiesTagged(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	var frames [][]byte
	for range 500 {
		p := ether(iana.TypeIPv4, between4(byte(r.IntN(3)), 4, iana.ProtoTCP, tcp(1000, 80, nil)))
		if id := r.IntN(4); id < 3 {
			p = join(p[:12], be16(iana.TypeVLAN), be16(id|r.IntN(2)<<13), p[12:])
		}
		if r.IntN(50) == 0 {
			p = vlan(p)
		}
		frames = append(frames, p)
	}
	b := newBatch(capture.LinkEthernet, frames...)
	n := len(frames)
	for fields := range 2 * PointInput {
		cfg := SightingConfig{Fields: fields, Seed: 9}
		want := NewSightingReader(cfg).Read(b, 0, n)
		got, reader := Sightings{make([]uint64, n), make([]uint64, n), make([]uint64, n)}, NewSightingReader(cfg)
		m := identity.New(identity.Config{}).FromFrames(make([]headers.Protocol, n), b, 0)
		reader.ReadIdentities(got, b, 0, m)
		if !slices.Equal(got.Point, want.Point) || !slices.Equal(got.Conversation, want.Conversation) {
			t.Fatalf("fields %b: got %x, want %x", fields, got.Point, want.Point)
		}
		at := make([]uint64, (n+63)/64)
		for from := range 3 {
			reader.At(at, want.Point[from], b, 0, m)
			for i := range n {
				if is := want.Point[i] == want.Point[from]; is != (at[i/64]>>(i%64)&1 != 0) {
					t.Fatalf("fields %b: frame %d is at the point: %v", fields, i, is)
				}
			}
		}
	}
}
