// SPDX-License-Identifier: Apache-2.0

package traits

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/gopacket"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

func TestParsePoints(t *testing.T) {
	for _, c := range []struct{ list, want string }{
		{"vlan", "vlan"}, {" vni , vlan", "vlan,vni"}, {"lan,interface,input", "input,interface,lan"},
		{"vlan:10+110,20+120", "vlan:10+110,vlan:20+120"}, {"vlan:120+20,input,vlan:110+10+5", "input,vlan:20+120,vlan:5+10+110"},
		{"vlan,vlan:0+4095", "vlan:0+4095"}, {"vlan:1+2,vlan", "vlan:1+2"}, {"vni:4294967295+1, 2 + 3,vlan:1+2", "vlan:1+2,vni:1+4294967295,vni:2+3"},
	} {
		p, err := ParsePoints(c.list)
		again, err2 := ParsePoints(c.want)
		if strings.Join(p.Words, ",") != c.want || err != nil || err2 != nil || p.Fields != again.Fields || !slices.Equal(p.Words, again.Words) {
			t.Errorf("%q: %q, %v, %v", c.list, p.Words, err, err2)
		}
	}
	for list, want := range map[string]string{
		"": "unknown field", "vlan,vlan": "vlan is named twice", "10+110": "unknown field", "input,10+110": "unknown field", "vlan,10+110": "unknown field", "city": "unknown field",
		"input:1+2": "only vlan and vni", "vlan:10": "two numbers", "vlan:": "want numbers", "vlan:1+": "want numbers", "vlan:1+-2": "want numbers",
		"vlan:1+4096": "up to 4095", "vni:1+4294967296": "up to 4294967295", "vlan:1+1": "vlan 1 is named twice", "vlan:1+2,2+3": "vlan 2 is named twice",
	} {
		if p, err := ParsePoints(list); err == nil || !strings.Contains(err.Error(), want) || p.Fields != 0 {
			t.Errorf("%q: %+v, %v, want %q", list, p, err, want)
		}
	}
}

// TestGroups compares the points of random frames with those of the same frames whose identifiers
// have been replaced, on each path.
func TestGroups(t *testing.T) {
	points, err := ParsePoints("vlan:2+1+7,0+8,vni:5+6")
	if err != nil {
		t.Fatal(err)
	}
	cfg := SightingConfig{Inner: true, Fields: points.Fields, Groups: points.Groups, Seed: 3}
	joined, plain := NewSightingReader(cfg), NewSightingReader(SightingConfig{Inner: true, Fields: points.Fields, Seed: 3})
	replaced := map[uint32]uint32{2: 1, 7: 1, 8: 0}
	rng := rand.New(rand.NewPCG(1, 2))
	buf := gopacket.NewSerializeBuffer()
	for i := range 4000 {
		if err := gopacket.SerializeLayers(buf, gopacket.SerializeOptions{FixLengths: true}, generate(rng).Layers...); err != nil {
			t.Fatal(err)
		}
		link, data := capture.LinkEthernet, slices.Clone(buf.Bytes())
		switch i % 4 {
		case 0:
			link, data = capture.LinkLinuxSLL2, sll2(1, 0, mac(2), iana.TypeVLAN, join(be16(1), be16(iana.TypeIPv4), packet4))
		case 1:
			data = ether(iana.TypeIPv4, udp4(iana.PortVXLAN, join("\x08\x00\x00\x00\x00\x00\x05\x00", data)))
		case 2:
			data = vlan(data)
		}
		b := newBatch(link, data)
		other := newBatch(link, slices.Clone(data))
		for _, l := range headers.NewDecoder(headers.DecoderConfig{Inner: true}).Layers(nil, b, 0) {
			id := uint32(rng.UintN(10))
			to, ok := replaced[id]
			if !ok {
				to = id
			}
			switch l.Kind {
			case headers.LayerVLAN:
				b.Buf[l.Start+1], other.Buf[l.Start+1] = byte(id), byte(to)
				b.Buf[l.Start], other.Buf[l.Start] = 0xe0, 0
			case headers.LayerVXLAN:
				b.Buf[l.Start+6] = byte(5 + id%2)
				other.Buf[l.Start+4], other.Buf[l.Start+5], other.Buf[l.Start+6] = 0, 0, 5
				b.Buf[l.Start+4], b.Buf[l.Start+5] = 0, 0
			}
		}
		want := plain.Points(other, 0, 1)[0]
		got := joined.Points(b, 0, 1)[0]
		m := identity.New(identity.Config{Kind: identity.Inner}).FromFrames(make([]headers.Protocol, 1), b, 0)
		s := Sightings{make([]uint64, 1), make([]uint64, 1), make([]uint64, 1)}
		joined.ReadIdentities(s, b, 0, m)
		if got != want || s.Point[0] != want || joined.Read(b, 0, 1).Point[0] != want {
			t.Fatalf("%x: %x and %x, want %x of %x", b.Data(0), got, s.Point[0], want, other.Data(0))
		}
	}
}

// TestApart has equal conversations of two groups of VLANs, which are different conversations.
func TestApart(t *testing.T) {
	points, err := ParsePoints("vlan:1+2,3+4")
	if err != nil {
		t.Fatal(err)
	}
	var frames [][]byte
	for _, vlan := range []uint32{1, 2, 3, 4, 5} {
		frames = append(frames, tagged(0x81000000|vlan))
	}
	b := newBatch(capture.LinkEthernet, append(frames, tagged(), vlan(arpFrame))...)
	r := NewSightingReader(SightingConfig{Fields: PointVLAN, Apart: points, Seed: 5})
	read := slices.Clone(r.Read(b, 0, 7).Conversation)
	s := Sightings{make([]uint64, 7), make([]uint64, 7), make([]uint64, 7)}
	r.ReadIdentities(s, b, 0, identity.New(identity.Config{}).FromFrames(make([]headers.Protocol, 7), b, 0))
	for _, c := range [][]uint64{read, s.Conversation} {
		if c[0] != c[1] || c[2] != c[3] || c[0] == c[2] || c[4] == c[0] || c[4] == c[2] || c[5] == c[0] || c[6] != 0 {
			t.Errorf("conversations %x", c)
		}
	}
	if !slices.Equal(read, s.Conversation) {
		t.Errorf("%x of frames, %x of identities", read, s.Conversation)
	}
	unique := slices.Compact(slices.Sorted(slices.Values(s.Point[:6])))
	if len(unique) != 6 {
		t.Errorf("points %x: groups must not join the places of conversations", s.Point)
	}
}
