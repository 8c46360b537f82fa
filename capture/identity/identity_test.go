// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// sack is a TCP segment whose last option, of the given kind, holds a block that begins
// at n.
func sack(n uint32, kind byte) []byte {
	options := join("\x02\x04\x05\xb4", "\x01\x01", "\x04\x02", "\x01\x01\x01\x01", []byte{kind, 10}, be32(n), be32(n+1), "\x00\x00\x00\x00\x00\x00")
	segment := join(tcp(1000, 80, nil), options, "data")
	return ether(iana.TypeIPv4, ip4(1, iana.ProtoTCP, with(segment, 12, "\xc0")))
}

// echo4 is an ICMP query of a type, with an identifier.
func echo4(kind byte, id string) []byte {
	return ether(iana.TypeIPv4, ip4(1, iana.ProtoICMP, join([]byte{kind, 0}, id, id, "\x00\x01", "data")))
}

// TestEqualPackets checks which differences between two frames count.
func TestEqualPackets(t *testing.T) {
	v4, v6 := ether(iana.TypeIPv4, packet4), ether(iana.TypeIPv6, packet6)
	tagged := ether(iana.TypeVLAN, join(be16(100), be16(iana.TypeIPv4), packet4))
	twice := ether(iana.TypeQinQ, join(be16(7), be16(iana.TypeVLAN), be16(100), be16(iana.TypeIPv4), packet4))
	arp, arpTagged := arpFrame, ether(iana.TypeVLAN, join(be16(100), be16(iana.TypeARP), arpFrame[14:]))
	vxlan := func(frame []byte) []byte {
		return ether(iana.TypeIPv4, udp4(iana.PortVXLAN, join("\x08\x00\x00\x00\x00\x00\x64\x00", frame)))
	}
	for _, c := range []struct {
		name  string
		a, b  []byte
		kind  Kind
		mask  string // "" for the defaults
		equal bool
	}{
		{"frame: same", v4, v4, Frame, "", true},
		{"frame: ttl", v4, with(v4, 14+8, "\x3f"), Frame, "", false},
		{"frame: ttl ignored", v4, with(v4, 14+8, "\x3f"), Frame, "ttl", true},
		{"frame: trailer", v4, join(v4, "\x00"), Frame, "", false},
		{"frame: mac", v4, with(v4, 0, "abcdefghijkl"), Frame, "", false},
		{"frame: mac ignored", v4, with(v4, 0, "abcdefghijkl"), Frame, "mac", true},
		{"frame: tag", v4, tagged, Frame, "", false},
		{"frame: tag ignored", v4, tagged, Frame, "vlan", true},
		{"frame: two tags ignored", v4, twice, Frame, "vlan", true},
		{"frame: tag and ttl ignored", v4, with(tagged, 18+8, "\x3f"), Frame, "vlan,ttl", true},
		{"frame: tag and checksum ignored", v4, with(tagged, 18+20+6, "\x00\x00"), Frame, "vlan,l4-checksum", true},
		{"frame: tag, payload differs", v4, with(tagged, len(tagged)-1, "\x3f"), Frame, "vlan,ttl", false},
		{"l3: same", v4, v4, L3, "", true},
		{"l3: trailer", v4, join(v4, "padding"), L3, "", true},
		{"l3: mac and tags", v4, with(twice, 0, "abcdefghijkl"), L3, "", true},
		{"l3: ttl and checksum", v4, with(with(v4, 14+8, "\x3f"), 14+10, "\x11\x22"), L3, "", true},
		{"l3: dscp and ecn", v4, with(v4, 14+1, "\xff"), L3, "", true},
		{"l3: ip id", v4, with(v4, 14+4, "\xff\xff"), L3, "", false},
		{"l3: ip id ignored", v4, with(v4, 14+4, "\xff\xff"), L3, "ip-id", true},
		{"l3: ttl with none", v4, with(v4, 14+8, "\x3f"), L3, "none", false},
		{"l3: same with none", v4, tagged, L3, "none", true},
		{"l3: dscp alone", v4, with(v4, 14+1, "\x03"), L3, "none,dscp", false},
		{"l3: ecn alone", v4, with(v4, 14+1, "\x03"), L3, "none,ecn", true},
		{"l3: udp checksum", v4, with(v4, 34+6, "\x00\x00"), L3, "", false},
		{"l3: udp checksum ignored", v4, with(v4, 34+6, "\x00\x00"), L3, "l4-checksum", true},
		{"l3: port", v4, with(v4, 34, "\x00\x01"), L3, "l4-checksum", false},
		{"l3: hop limit", v6, with(v6, 14+7, "\x01"), L3, "", true},
		{"l3: traffic class", v6, with(v6, 14, "\x6f\xf0"), L3, "", true},
		{"l3: v6 dscp alone", v6, with(v6, 14, "\x6f\xc0"), L3, "none,dscp", true},
		{"l3: v6 ecn is not dscp", v6, with(v6, 14, "\x60\x10"), L3, "none,dscp", false},
		{"l3: v6 ecn alone", v6, with(v6, 14, "\x60\x30"), L3, "none,ecn", true},
		{"l3: flow label", v6, with(v6, 14+1, "\x01\x02\x03"), L3, "", false},
		{"l3: flow label ignored", v6, with(v6, 14+1, "\x01\x02\x03"), L3, "flow-label", true},
		{"l3: tcp checksum ignored", v6, with(v6, 54+16, "\x00\x00"), L3, "l4-checksum", true},
		{"l3: tcp seq", v6, with(v6, 54+4, "numbers!"), L3, "", false},
		{"l3: tcp seq ignored", v6, with(with(v6, 54+4, "numbers!"), 54+16, "\x00\x00"), L3, "tcp-seq", true},
		{"l3: tcp seq ignored, flags", v6, with(v6, 54+13, "\x11"), L3, "tcp-seq", false},
		{"l3: tcp seq ignored, window", v6, with(v6, 54+14, "\x11"), L3, "tcp-seq", false},
		{"l3: tcp seq ignored, payload", v6, with(v6, 54+20, "\x11"), L3, "tcp-seq", false},
		{"l3: tcp seq ignored, udp", v4, with(v4, 34+6, "\x00\x00"), L3, "tcp-seq", false},
		{"frame: tcp seq ignored, tag", v6, with(vlan(v6), 58+4, "numbers!"), Frame, "tcp-seq,vlan", true},
		{"l3: sack", sack(1, 5), sack(2, 5), L3, "", false},
		{"l3: nat ignored, addresses", v4, with(v4, 14+12, "\x01\x02\x03\x04\x05\x06\x07\x08"), L3, "nat", true},
		{"l3: nat ignored, ports and checksum", v4, with(with(v4, 34, "port"), 34+6, "\x09\x09"), L3, "nat", true},
		{"l3: nat ignored, length", v4, with(v4, 34+4, "\x00\x00"), L3, "nat", false},
		{"l3: nat ignored, id", v4, with(v4, 14+4, "\x00\x00"), L3, "nat", false},
		{"l3: nat ignored, IPv6", v6, with(with(v6, 14+8, "another source and destination!!"), 54, "port"), L3, "nat", true},
		{"l3: nat ignored, TCP numbers", v6, with(v6, 54+4, "numbers!"), L3, "nat", false},
		{"frame: nat ignored, tag", v6, with(vlan(v6), 18+8, "another source and destination!!"), Frame, "nat,vlan", true},
		{"l3: nat ignored, echo", echo4(8, "id"), echo4(8, "ID"), L3, "nat", true},
		{"l3: nat ignored, another query", echo4(13, "id"), echo4(13, "ID"), L3, "nat", false},
		{"l3: sack ignored", sack(1, 5), sack(2, 5), L3, "tcp-seq", true},
		{"frame: sack ignored", sack(1, 5), sack(2, 5), Frame, "tcp-seq", true},
		{"l3: another option", sack(1, 8), sack(2, 8), L3, "tcp-seq", false},
		{"l3: sack of no length", with(sack(1, 5), 34+20+13, "\x01"), with(sack(2, 5), 34+20+13, "\x01"), L3, "tcp-seq", false},
		{"inner: tcp seq ignored", v6, vxlan(with(v6, 54+4, "numbers!")), Inner, "tcp-seq", true},
		{"l3: df", v4, with(v4, 14+6, "\x40"), L3, "", true},
		{"l3: df and ttl inside", v4, vxlan(with(with(v4, 14+6, "\x40"), 14+8, "\x3f")), Inner, "", true},
		{"l3: df with none", v4, with(v4, 14+6, "\x40"), L3, "none", false},
		{"l3: df alone", v4, with(v4, 14+6, "\x40"), L3, "none,df", true},
		{"l3: df, others as usual", v4, with(v4, 14+6, "\x40"), L3, "none,ttl,dscp,ecn,ip-checksum", false},
		{"l3: reserved bit", v4, with(v4, 14+6, "\x80"), L3, "", false},
		{"l3: df and ip id", v4, with(v4, 14+4, "\x99\x99\x40"), L3, "", false},
		{"l3: df of a fragment", with(v4, 14+6, "\x20"), with(v4, 14+6, "\x60"), L3, "", true},
		{"l3: more fragments", v4, with(v4, 14+6, "\x60"), L3, "", false},
		{"frame: df", v4, with(v4, 14+6, "\x40"), Frame, "", false},
		{"l3: mss", opening(0, 1460), opening(0, 1452), L3, "", false},
		{"l3: mss ignored", opening(0, 1460), with(opening(0, 1452), 34+16, "\x09\x09"), L3, "mss", true},
		{"l3: mss ignored, numbers too", opening(3, 1460), with(opening(3, 1452), 34+16, "\x09\x09"), L3, "mss,tcp-seq", true},
		{"frame: mss ignored, far behind tags", vlan(opening(9, 1460)), vlan(vlan(opening(9, 1452))), Frame, "mss,vlan", true},
		{"l3: mss ignored, another option", opening(0, 1460), with(opening(0, 1460), 34+25, "\x03"), L3, "mss", false},
		{"l3: mss ignored, window", opening(0, 1460), with(opening(0, 1460), 34+14, "\x09"), L3, "mss", false},
		{"l3: mss ignored, without SYN", with(opening(0, 1460), 34+13, "\x10"), with(opening(0, 1452), 34+13, "\x10"), L3, "mss", false},
		{"l3: mss ignored, checksum without SYN", v6, with(v6, 54+16, "\x00\x00"), L3, "mss", false},
		{"inner: mss ignored", opening(0, 1460), vxlan(opening(0, 536)), Inner, "mss", true},
		{"l3: tcp header ignored, ports", opening(0, 1460), with(opening(0, 1460), 35, "\x00"), L3, "tcp-header", false},
		{"l3: tcp header ignored, numbers", opening(0, 1460), with(opening(0, 1460), 34+4, "\x09"), L3, "tcp-header", false},
		{"l3: tcp header ignored, SYN", opening(0, 1460), with(opening(0, 1460), 34+13, "\x12"), L3, "tcp-header", false},
		{"l3: tcp header ignored, data", opening(0, 1460), with(opening(0, 1460), 34+28, "\x12"), L3, "tcp-header", false},
		{"l3: tcp header ignored, length", opened(2, 1, "\x02\x04\x05\xb4"), opened(2, 1, "\x02\x04\x05\xb4\x04\x02"), L3, "tcp-header", false},
		{"frame: tcp header ignored", vlan(opened(2, 1, "\x04\x02")), opened(0x42, 9, "\x01\x01"), Frame, "tcp-header,vlan", true},
		{"l3: tcp header and nat ignored", opened(2, 1, "\x04\x02"), with(opened(0x42, 9, "\x01\x01"), 14+12, "\x09"), L3, "tcp-header,nat", true},
		{"l3: route ignored", route("\x04", ""), route("\x08", "\x0a\x01\x02\x03"), L3, "ip-options", true},
		{"inner: route ignored", route("\x04", ""), vxlan(route("\x08", "\x0a\x01\x02\x03")), Inner, "ip-options", true},
		{"l3: route", route("\x04", ""), route("\x08", ""), L3, "", false},
		{"l3: route ignored, data", route("\x04", ""), with(route("\x04", ""), 34+19, "\x02"), L3, "ip-options", false},
		{"l3: router alert", with(route("\x04", ""), 34, "\x94\x04"), with(route("\x08", ""), 34, "\x94\x04"), L3, "ip-options", false},
		{"l3: option with a wrong length", with(route("\x04", ""), 35, "\xff"), with(route("\x08", ""), 35, "\xff"), L3, "ip-options", false},
		{"l3: v6 option that may change", inOptions(0, 0x31, "ioam"), inOptions(0, 0x31, "IOAM"), L3, "ip-options", true},
		{"l3: v6 option that may not", inOptions(0, 0x05, "ioam"), inOptions(0, 0x05, "IOAM"), L3, "ip-options", false},
		{"l3: v6 option for the destination", inOptions(60, 0x31, "ioam"), inOptions(60, 0x31, "IOAM"), L3, "nat,ip-options", true},
		{"l3: v6 option", inOptions(0, 0x31, "ioam"), inOptions(0, 0x31, "IOAM"), L3, "", false},
		{"l3: v6 option alone", inOptions(0, 0x31, "ioam"), inOptions(0, 0x31, "IOAM"), L3, "none,ip-options", true},
		{"l3: v6 option with a wrong length", with(inOptions(0, 0x31, "ioam"), 57, "\x05"), with(inOptions(0, 0x31, "IOAM"), 57, "\x05"), L3, "ip-options", false},
		{"frame: v6 option", inOptions(0, 0x31, "ioam"), vlan(inOptions(0, 0x31, "IOAM")), Frame, "vlan,ip-options", true},
		{"l3: segments left", toSegment(1, 4), toSegment(0, 4), L3, "nat,ip-options", true},
		{"l3: segments left, routing of another kind", toSegment(1, 2), toSegment(0, 2), L3, "nat,ip-options", false},
		{"l3: another segment", toSegment(1, 4), with(toSegment(0, 4), 62, "\x09"), L3, "nat,ip-options", false},
		{"l3: another destination", toSegment(1, 4), toSegment(0, 4), L3, "ip-options", false},
		{"l3: no length, same", with(v4, 14+2, "\x00\x00"), with(v4, 14+2, "\x00\x00"), L3, "", true},
		{"l3: no length, trailer", with(v4, 14+2, "\x00\x00"), join(with(v4, 14+2, "\x00\x00"), "\x00"), L3, "", false},
		{"l3: v6 no length, same", with(v6, 14+4, "\x00\x00"), with(v6, 14+4, "\x00\x00"), L3, "", true},
		{"l3: v6 no length, trailer", with(v6, 14+4, "\x00\x00"), join(with(v6, 14+4, "\x00\x00"), "\x00"), L3, "", false},
		{"inner: v6 no length, trailer", vxlan(with(v6, 14+4, "\x00\x00")), vxlan(join(with(v6, 14+4, "\x00\x00"), "\x00")), Inner, "", false},
		{"l3: arp", arp, arp, L3, "", true},
		{"l3: arp trailer", arp, join(arp, "\x00"), L3, "", true},
		{"l3: arp tag", arp, arpTagged, L3, "", true},
		{"l3: arp tag ignored", arp, arpTagged, L3, "vlan", true},
		{"l3: arp mac ignored", arp, with(arpTagged, 0, "abcdefghijkl"), L3, "vlan,mac", true},
		{"inner: opened", v4, vxlan(v4), Inner, "", true},
		{"inner: ttl inside", v4, vxlan(with(v4, 14+8, "\x3f")), Inner, "", true},
		{"inner: outer ports", vxlan(v4), with(vxlan(v4), 34, "\x01\x02"), Inner, "", true},
		{"inner: payload", v4, vxlan(with(v4, 45, "\x3f")), Inner, "", false},
		{"l3: not opened", v4, vxlan(v4), L3, "", false},
		{"inner: arp", arp, vxlan(arp), Inner, "", true},
		{"inner: arp mac ignored", arp, vxlan(with(arp, 0, "abcdefghijkl")), Inner, "mac", true},
		{"inner: arp tag ignored", arp, vxlan(arpTagged), Inner, "vlan", true},
		{"inner: other arp", arp, vxlan(with(arp, 20, "x")), Inner, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			mask := Ignore{}
			if c.mask != "" {
				var err error
				if mask, err = ParseIgnore(c.mask); err != nil {
					t.Fatal(err)
				}
			}
			cfg := Config{Kind: c.kind, Ignore: mask}
			checkFromFrames(t, cfg, newBatch(capture.LinkEthernet, c.a, c.b, v4, v6), 0)
			a, b := identityOf(cfg, capture.LinkEthernet, c.a), identityOf(cfg, capture.LinkEthernet, c.b)
			if (a == b) != c.equal {
				t.Errorf("equal is %v, want %v\n%x %x\n%x %x", a == b, c.equal, a.text, a.tweak, b.text, b.tweak)
			}
		})
	}
}

// TestTagsOfOtherLinks removes tags of links whose type field does not lie right before
// them.
func TestTagsOfOtherLinks(t *testing.T) {
	ignore := Config{Kind: Frame, Ignore: IgnoreOnly(VLAN | MAC)}
	sll2 := func(typ int, rest ...any) []byte {
		return join(be16(typ), "\x00\x00\x00\x00\x00\x01\x00\x01\x00\x06", mac(2), "\x00\x00", join(rest...))
	}
	sll := func(typ int, rest ...any) []byte {
		return join("\x00\x00\x00\x01\x00\x06", mac(2), "\x00\x00", be16(typ), join(rest...))
	}
	ipoib := func(typ int, rest ...any) []byte {
		return join(make([]byte, 40), be16(typ), "\x00\x00", join(rest...))
	}
	for link, frame := range map[capture.LinkType]func(int, ...any) []byte{
		capture.LinkLinuxSLL2: sll2, capture.LinkLinuxSLL: sll, capture.LinkIPoverIB: ipoib,
	} {
		plain := identityOf(ignore, link, frame(iana.TypeIPv4, packet4))
		tagged := identityOf(ignore, link, frame(iana.TypeVLAN, be16(100), be16(iana.TypeIPv4), packet4))
		if plain != tagged {
			t.Errorf("%v:\n%x\n%x", link, plain.text, tagged.text)
		}
	}
}

// TestWireLength checks that frames truncated to the same bytes differ by their length on
// the wire.
func TestWireLength(t *testing.T) {
	frame := with(goose(1), 12, "\x88\xb0") // of a type that states no length
	b := newBatch(capture.LinkEthernet, frame, frame, frame)
	b.Frames[1].WireLen = 1500
	b.Frames[2].WireLen = 2 // false: without IP the captured bytes count
	for _, kind := range []Kind{Frame, L3, Inner} {
		all := New(Config{Kind: kind, Ignore: IgnoreOnly(VLAN)}).FromHeaders(b, 0, decode(headers.NewDecoder(headers.DecoderConfig{}), b)).all()
		a, other, tiny := all[0], all[1], all[2]
		if a.text != other.text || a == other || (a == tiny) != (kind != Frame) || other == tiny {
			t.Errorf("%v: %v %v %v", kind, a, other, tiny)
		}
	}
}

// TestInnerWireLength checks that a carried frame has its length in the tunnel, not its
// captured length.
func TestInnerWireLength(t *testing.T) {
	data := udp4(iana.PortVXLAN, join("\x08\x00\x00\x00\x00\x00\x64\x00", arpFrame))
	b := newBatch(capture.LinkRaw, data[:len(data)-5])
	b.Frames[0].WireLen = uint32(len(data) + 9) // a trailer
	h := decode(headers.NewDecoder(headers.DecoderConfig{Inner: true}), b)[0]
	if int(h.Wire) != len(arpFrame) || int(h.End-h.Start) != len(arpFrame)-5 {
		t.Errorf("got %+v, want %d bytes on the wire", h, len(arpFrame))
	}
}

// TestIdentityBytes checks that only the first bytes count, and how they lie in the
// buffer.
func TestIdentityBytes(t *testing.T) {
	frames := [][]byte{ether(iana.TypeIPv4, packet4), ether(iana.TypeIPv6, packet6), arpFrame, nil, {1}}
	b := newBatch(capture.LinkEthernet, frames...)
	h := decode(headers.NewDecoder(headers.DecoderConfig{}), b)
	for _, kind := range []Kind{Frame, L3} {
		for n := range 100 {
			g := New(Config{Kind: kind, Bytes: n, Ignore: IgnoreOnly(TTL | L4Checksum | MAC)})
			whole := New(Config{Kind: kind, Ignore: IgnoreOnly(TTL | L4Checksum | MAC)}).FromHeaders(b, 0, h).all()
			m := g.FromHeaders(b, 0, h)
			for i, got := range m.all() {
				want := whole[i]
				counts := n
				if want.tweak>>56 == tweakBare>>56 {
					counts = max(0, n-linkAddresses)
				}
				if n > 0 && len(want.text) > counts {
					want.text = want.text[:counts]
				}
				if got != want {
					t.Fatalf("%v, %d bytes, frame %d: got %x, want %x", kind, n, i, got.text, want.text)
				}
			}
		}
	}
}

// routed are the fields that identities of datagrams leave out by default.
const routed = TTL | DSCP | ECN | IPChecksum | DF

func TestParseMask(t *testing.T) {
	for _, c := range []struct {
		text      string
		frame, l3 Fields
	}{
		{"ttl", TTL, routed},
		{"l4-checksum,vlan", L4Checksum | VLAN, L4Checksum | VLAN | routed},
		{"none,df", DF, DF},
		{"none", 0, 0},
		{"none,mac", MAC, MAC},
		{"ip-id,flow-label,dscp,ecn,ip-checksum,none", IPID | FlowLabel | DSCP | ECN | IPChecksum, IPID | FlowLabel | DSCP | ECN | IPChecksum},
	} {
		m, err := ParseIgnore(c.text)
		if err != nil || m.Apply(Frame) != c.frame || m.Apply(L3) != c.l3 {
			t.Errorf("%q: %b and %b, %v; want %b and %b", c.text, m.Apply(Frame), m.Apply(L3), err, c.frame, c.l3)
		}
	}
	for _, bad := range []string{"", "TTL", "ttl,", "ttl vlan", "checksum"} {
		if _, err := ParseIgnore(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

// TestZeroConfig checks that the zero value leaves out what routers change.
func TestZeroConfig(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		want Fields
	}{
		{Config{}, routed},
		{Config{Kind: L3}, routed},
		{Config{Kind: Inner}, routed},
		{Config{Kind: Frame}, 0},
		{Config{Ignore: IgnoreAlso(IPID)}, routed | IPID},
		{Config{Ignore: IgnoreOnly(IPID)}, IPID},
		{Config{Ignore: IgnoreOnly(0)}, 0},
		{Config{Kind: Frame, Ignore: IgnoreAlso(MAC)}, MAC},
	} {
		if got := New(c.cfg).ignore; got != c.want {
			t.Errorf("%+v: %b, want %b", c.cfg, got, c.want)
		}
	}
}

func TestParseKind(t *testing.T) {
	for _, k := range []Kind{Frame, L3, Inner} {
		if got, err := ParseKind(k.String()); got != k || err != nil {
			t.Errorf("%v: got %v, %v", k, got, err)
		}
	}
	if _, err := ParseKind("l2"); err == nil {
		t.Error("l2 was accepted")
	}
}

// someFields has sets of fields to leave out, among them each field alone and all.
func someFields() []Ignore {
	all := []Ignore{{}, IgnoreOnly(0), IgnoreOnly(VLAN | MAC), IgnoreAlso(VLAN | MAC | IPID), IgnoreAlso(L4Checksum | FlowLabel), IgnoreOnly(1<<len(fieldNames) - 1)}
	for i := range fieldNames {
		all = append(all, IgnoreAlso(1<<i), IgnoreOnly(1<<i))
	}
	return all
}

// checkCopies checks that the messages of frames with an IP header, and of all whole frames,
// are what copying field by field gives, and that the batch is the same afterwards.
func checkCopies(t *testing.T, g *Identity, b *capture.Batch) {
	t.Helper()
	before := slices.Clone(b.Buf)
	h := decode(headers.NewDecoder(headers.DecoderConfig{Inner: g.kind == Inner}), b)
	m := g.FromHeaders(b, 0, h)
	for i, got := range m.all() {
		if h[i].Version == 0 && g.kind != Frame && slices.ContainsFunc(m.nonIP, func(f nonIPFrame) bool { return int(f.number) == i }) {
			continue
		}
		if want := g.copyOf(b, i, &h[i]); got != want {
			t.Fatalf("kind %v without %b, %d bytes: frame %x:\n got %x, %x\nwant %x, %x", g.kind, g.ignore, g.limit, b.Data(i), got.text, got.tweak, want.text, want.tweak)
		}
	}
	if !slices.Equal(b.Buf, before) {
		t.Fatalf("kind %v without %b: the batch was changed", g.kind, g.ignore)
	}
}

// TestCopiesAgree compares messages in the batch with copies, of frames of many kinds.
func TestCopiesAgree(t *testing.T) {
	near, tunnels := newBatch(capture.LinkEthernet, nearCopies()...), tunnelBatch()
	for kind := range Kind(len(kindNames)) {
		for _, ignore := range someFields() {
			checkCopies(t, New(Config{Kind: kind, Ignore: ignore}), tunnels)
		}
		for _, g := range everyIdentity() {
			checkCopies(t, g, near)
		}
	}
}

// checkFromFrames checks that FromFrames returns what Decode and FromHeaders return.
func checkFromFrames(t *testing.T, cfg Config, b *capture.Batch, from int) {
	t.Helper()
	g := New(cfg)
	protocols := make([]headers.Protocol, len(b.Frames)-from)
	m := g.FromFrames(protocols, b, from)
	read := m.all()
	h := decode(headers.NewDecoder(cfg.Decode()), b)[from:]
	of := New(cfg).FromHeaders(b, from, h)
	if want := of.all(); !slices.Equal(read, want) {
		t.Fatalf("%+v from %d: messages differ:\n got %x\nwant %x", cfg, from, read, want)
	}
	if got, want := m.Broken(), of.Broken(); !slices.Equal(got, want) {
		t.Fatalf("%+v from %d: broken %x, want %x", cfg, from, got, want)
	}
	for i := range h {
		if protocols[i] != h[i].Protocol() {
			t.Fatalf("%+v: frame %x: got %v, want %v", cfg, b.Data(from+i), protocols[i], h[i].Protocol())
		}
		if closed := slices.Contains(g.out.Closed(), uint32(i)); closed != (h[i].Flags&headers.FlagClosed != 0) {
			t.Fatalf("%+v: frame %x: closed %v, want %v", cfg, b.Data(from+i), closed, !closed)
		}
	}
}

// TestFromFrames reads frames for the fast and the slow path, of one and of several link
// types.
func TestFromFrames(t *testing.T) {
	b := newBatch(capture.LinkEthernet, slices.Concat(nearCopies(), mostlyFast())...)
	mixed := mixedLinks()
	for _, kind := range []Kind{Frame, L3, Inner} {
		for _, ignore := range []Ignore{{}, IgnoreAlso(IPID | FlowLabel), IgnoreAlso(L4Checksum)} {
			for _, from := range []int{1, len(mixed.Frames) - 3, len(mixed.Frames)} {
				checkFromFrames(t, Config{Kind: kind, Ignore: ignore}, b, from)
				checkFromFrames(t, Config{Kind: kind, Ignore: ignore}, mixed, from)
			}
		}
	}
}
