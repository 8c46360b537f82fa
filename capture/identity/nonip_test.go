// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// isl is a frame on a trunk of Cisco's.
func isl(frame []byte, vlan int) []byte {
	return join("\x01\x00\x0c\x00\x00\x00", mac(9), be16(12+len(frame)+4), "\xaa\xaa\x03\x00\x00\x0c", be16(vlan<<1), be16(3), "\x00\x00", frame, "\xde\xad\xbe\xef")
}

func llc(payload ...any) []byte { return ether(len(join(payload...)), join(payload...)) }

func profinet(cycle int, data string) []byte {
	return ether(0x8892, join("\x80\x20", data, make([]byte, 38-len(data)), be16(cycle), "\x35\x00"))
}

const fcs = "\xca\xfe\xba\xbe"

// fromDS is a bit of the second frame control byte (IEEE 802.11, 9.2.4.1).
const fromDS = 0x02

// conversations has groups of frames. The frames of a group are the same frame, frames of
// different groups are not.
var conversations = func() [][]tap {
	bridge := llc("\x42\x42\x03", "\x00\x00\x00\x00\x00\x80\x00", mac(7), "\x00\x00\x00\x04\x80\x00", mac(7), "\x80\x01\x00\x00\x14\x00\x02\x00\x0f\x00")
	discovery := llc("\xaa\xaa\x03\x00\x00\x0c\x20\x00", "\x02\xb4 a switch")
	lldp := ether(0x88cc, join("\x02\x07\x04", mac(7), "\x04\x02\x07", "1", "\x06\x02\x00\x78\x00\x00"))
	clock := ether(0x88f7, join("\x00\x02\x00\x2c", make([]byte, 30), be16(77), "\x00\x00", make([]byte, 10)))
	short := ether(0x9000, []byte{1, 2, 3})
	long := ether(0x9000, append(make([]byte, 46), 1))
	wifi := func(control ...byte) []byte {
		return join("\x08", control[:1], "\x00\x00", mac(1), mac(9), mac(2), "\x10\x00", snap(iana.TypeARP, arp(2)[14:]))
	}
	endless := with(goose(1), 12, "\x88\xb0") // of a type that states no length
	eth, cooked := capture.LinkEthernet, capture.LinkLinuxSLL
	return [][]tap{{
		onEthernet("arp", arp(2)), onEthernet("padded", padded60(arp(2))), onEthernet("tagged", vlan(arp(2))),
		onEthernet("tagged, padded", padded60(vlan(arp(2)))), onEthernet("two tags", qinq(padded60(arp(2)))),
		onEthernet("padded with what was there", join(arp(2), "secrets of others!")),
		onEthernet("unknown checksum", join(padded60(arp(2)), fcs)),
		{"checksum", eth, 4, 0, join(padded60(arp(2)), fcs)}, {"truncated checksum", eth, 4, 2, join(padded60(arp(2)), fcs[:2])},
		{"cut in its padding", eth, 0, 10, padded60(arp(2))[:50]},
		onEthernet("isl", isl(padded60(arp(2)), 100)), onEthernet("802.2", llc(snap(iana.TypeARP, arp(2)[14:]))),
		{"wireless", capture.LinkIEEE80211, 0, 0, wifi(fromDS)},
		onEthernet("check sequence", checked(padded60(arp(2)))), onEthernet("prp, check sequence", checked(prp(padded60(arp(2)), 14, 0xa, 7))),
		onEthernet("prp", prp(padded60(arp(2)), 14, 0xa, 7)), onEthernet("hsr", hsr(padded60(arp(2)), 1, 7)),
	}, {
		onEthernet("other arp", arp(3)), onEthernet("other arp padded", padded60(arp(3))),
	}, {
		onEthernet("other source", with(arp(2), 6, "\x02\x22")),
	}, {
		onEthernet("other destination", with(arp(2), 0, "\xff\xff\xff\xff\xff\xff")),
	}, {
		onEthernet("rarp", with(arp(2), 12, "\x80\x35")),
	}, {
		{"cut in its addresses", eth, 0, 8, arp(2)[:34]}, {"cut likewise", eth, 0, 18 + 8, arp(2)[:34]},
	}, {
		{"any", cooked, 0, 0, sll(0, mac(2), iana.TypeARP, arp(2)[14:])}, {"any, padded", cooked, 0, 0, sll(0, mac(2), iana.TypeARP, padded60(arp(2))[14:])},
		{"any, outgoing", cooked, 0, 0, sll(4, mac(2), iana.TypeARP, arp(2)[14:])},
		{"any, tagged", cooked, 0, 0, sll(0, mac(2), iana.TypeVLAN, join(be16(9), arp(2)[12:]))},
		{"any, version 2", capture.LinkLinuxSLL2, 0, 0, sll2(2, 0, mac(2), iana.TypeARP, padded60(arp(2))[14:])},
		{"any, other interface", capture.LinkLinuxSLL2, 0, 0, sll2(7, 4, mac(2), iana.TypeARP, arp(2)[14:])},
	}, {
		{"any, other source", cooked, 0, 0, sll(0, mac(3), iana.TypeARP, arp(2)[14:])},
	}, {
		{"any, point to point", cooked, 0, 0, sll(0, nil, iana.TypeARP, arp(2)[14:])}, {"again", capture.LinkLinuxSLL2, 0, 0, sll2(3, 0, nil, iana.TypeARP, arp(2)[14:])},
	}, {
		{"any, longer address", cooked, 0, 0, sll(0, []byte("12345678"), iana.TypeARP, arp(2)[14:])},
	}, {
		onEthernet("goose", goose(1)), onEthernet("goose, priority", vlan(goose(1))),
		onEthernet("goose, LAN A", prp(goose(1), 14, 0xa, 500)), onEthernet("goose, LAN B", prp(goose(1), 14, 0xb, 500)),
		onEthernet("goose, LAN B, tagged", prp(vlan(goose(1)), 18, 0xb, 500)),
		{"goose, LAN A, checksum", eth, 4, 0, join(prp(goose(1), 14, 0xa, 500), fcs)},
		onEthernet("goose, ring", hsr(goose(1), 0, 500)), onEthernet("goose, other way", hsr(goose(1), 1, 500)),
		onEthernet("goose, tagged ring", vlan(hsr(goose(1), 1, 500))), onEthernet("goose, ring, tag inside", hsr(vlan(goose(1)), 1, 500)),
	}, {
		onEthernet("next goose", goose(2)), onEthernet("next goose, LAN B", prp(goose(2), 14, 0xb, 501)),
	}, {
		onEthernet("no length", endless), onEthernet("no length, LAN A", prp(endless, 14, 0xa, 500)),
		onEthernet("no length, check sequence", checked(endless)), onEthernet("no length, tagged, check sequence", checked(vlan(endless))),
		onEthernet("no length, LAN B, check sequence", checked(prp(endless, 14, 0xb, 500))), onEthernet("no length, ring, check sequence", checked(hsr(endless, 1, 500))),
	}, {
		onEthernet("no length, wrong sequence", join(endless, fcs)),
	}, {
		onEthernet("no length, sequence of other bytes", join(endless, checked(vlan(endless))[len(endless)+4:])),
	}, {
		{"no length, cut, check sequence", eth, 0, 1, checked(endless)}, {"likewise", eth, 0, 1, checked(endless)},
	}, {
		onEthernet("zero more", append(slices.Clone(endless), 0)),
	}, {
		onEthernet("no trailer by its length", with(prp(endless, 14, 0xa, 500), len(endless)+3, "\xff")),
	}, {
		onEthernet("no trailer by its LAN", prp(endless, 14, 0xc, 500)),
	}, {
		{"cut", eth, 0, 20, goose(1)[:60]}, {"cut, tagged", eth, 0, 20, vlan(goose(1))[:64]}, {"cut, checksum", eth, 4, 24, goose(1)[:60]},
	}, {
		{"cut, longer", eth, 0, 21, goose(1)[:60]},
	}, {
		onEthernet("profinet", profinet(1, "io")), onEthernet("profinet, padded", padded60(profinet(1, "io"))),
		onEthernet("profinet, priority, padded to 64", append(vlan(profinet(1, "io")), 0, 0)),
		onEthernet("profinet, padded, check sequence", checked(padded60(profinet(1, "io")))),
		onEthernet("profinet, padded, LAN A, check sequence", checked(prp(padded60(profinet(1, "io")), 14, 0xa, 9))),
		onEthernet("profinet, LAN A", prp(padded60(profinet(1, "io")), 14, 0xa, 9)),
		onEthernet("profinet, LAN B, length without padding", join(padded60(profinet(1, "io")), be16(9), be16(0xb000|44+6), "\x88\xfb")),
	}, {
		onEthernet("profinet, next cycle", profinet(2, "io")),
	}, {
		onEthernet("profinet, data", profinet(1, "iO")),
	}, {
		onEthernet("lldp", lldp), onEthernet("lldp, padded", padded60(lldp)), onEthernet("lldp, tagged", vlan(padded60(lldp))),
	}, {
		onEthernet("lldp to another group", with(padded60(lldp), 5, "\x0e")),
	}, {
		onEthernet("ptp", clock), onEthernet("ptp, tagged", vlan(padded60(clock))), onEthernet("ptp, ring", hsr(padded60(clock), 1, 4)),
	}, {
		onEthernet("ptp, next", with(clock, 14+35, "\x4e")),
	}, {
		onEthernet("stp", bridge), onEthernet("stp, padded", padded60(bridge)), onEthernet("stp, tagged", vlan(padded60(bridge))),
		onEthernet("stp, ring", hsr(padded60(bridge), 1, 4)), onEthernet("stp, isl", isl(padded60(bridge), 1)),
		onEthernet("stp, check sequence", checked(padded60(bridge))),
		onEthernet("stp, LAN A", prp(padded60(bridge), 14, 0xa, 9)),
	}, {
		onEthernet("stp, other cost", with(bridge, 14+3+13+3, "\x05")),
	}, {
		onEthernet("802.2 with a zero more", llc(bridge[14:], "\x00")),
	}, {
		onEthernet("snap of Cisco", discovery), onEthernet("snap of Cisco, padded", padded60(vlan(discovery))),
	}, {
		onEthernet("short", short), onEthernet("short, padded", padded60(short)), onEthernet("short, tagged, padded to 60", padded60(vlan(short))),
		onEthernet("short, padded, check sequence", checked(padded60(short))),
		onEthernet("short, a few zeros", append(slices.Clone(short), 0, 0)),
	}, {
		onEthernet("other type", with(short, 13, "\x01")),
	}, {
		onEthernet("nothing to pad", long), onEthernet("nothing to pad, tagged", vlan(long)),
	}, {
		onEthernet("zeros that count", append(slices.Clone(long), 0)),
	}, {
		onEthernet("no length", ether(0, []byte("payload"))),
	}, {
		onEthernet("no length, payload", ether(0, []byte("Payload"))),
	}, {
		onEthernet("label", ether(iana.TypeMPLS, []byte("\x00\x01\x01\x40\x99 unknown"))),
	}, {
		onEthernet("pseudowire", ether(iana.TypeMPLS, join("\x00\x01\x01\x40", make([]byte, 4), with(goose(1), 0, "\x08")))),
		onEthernet("no pseudowire", with(goose(1), 0, "\x08")),
	}, {
		onEthernet("runt", arp(2)[:13]),
	}}
}()

// nonIPConfigs are identities with and without copies of datagrams.
var nonIPConfigs = []Config{
	{Kind: L3}, {Kind: Inner},
	{Kind: L3, Ignore: IgnoreOnly(0)}, {Kind: L3, Ignore: IgnoreOnly(L4Checksum | VLAN | TCPSeq)}, {Kind: L3, Bytes: 300},
}

// TestFramesWithoutIP compares all frames of all conversations with each other.
func TestFramesWithoutIP(t *testing.T) {
	var taps []tap
	var of []int // conversation of each tap
	for i, c := range conversations {
		taps = append(taps, c...)
		of = append(of, slices.Repeat([]int{i}, len(c))...)
	}
	b := batchOf(taps)
	for _, cfg := range nonIPConfigs {
		all := New(cfg).FromFrames(make([]headers.Protocol, len(taps)), b, 0).all()
		for i := range all {
			for k := range i {
				if equal := all[i] == all[k]; equal != (of[i] == of[k]) {
					t.Errorf("%+v: %q and %q: equal is %v\n%x\n%x", cfg, taps[k].Name, taps[i].Name, equal, all[k], all[i])
				}
			}
		}
		checkFromFrames(t, cfg, b, 3)
	}
}

// TestFramesWithoutIPAndAddresses compares a cooked frame, which has no destination, with
// an Ethernet frame.
func TestFramesWithoutIPAndAddresses(t *testing.T) {
	b := batchOf([]tap{
		onEthernet("", padded60(vlan(arp(2)))),
		{"any", capture.LinkLinuxSLL, 0, 0, sll(1, mac(4), iana.TypeARP, arp(2)[14:])},
		onEthernet("other", arp(3)),
	})
	for _, kind := range []Kind{L3, Inner} {
		all := New(Config{Kind: kind, Ignore: IgnoreAlso(MAC)}).FromHeaders(b, 0, decode(headers.NewDecoder(headers.DecoderConfig{}), b)).all()
		if all[0] != all[1] || all[0] == all[2] {
			t.Errorf("%v: %x", kind, all)
		}
	}
}

// TestFramesWithoutIPBytes compares frames of different snap lengths.
func TestFramesWithoutIPBytes(t *testing.T) {
	b := batchOf([]tap{
		onEthernet("", goose(1)), {"", capture.LinkEthernet, 0, len(goose(1)) - 40, vlan(goose(1))[:44]}, onEthernet("", goose(2)),
	})
	same := New(Config{Kind: L3, Bytes: 40}).FromHeaders(b, 0, decode(headers.NewDecoder(headers.DecoderConfig{}), b)).all()
	if same[0] != same[1] || same[0] != same[2] || len(same[0].text) != 40 {
		t.Errorf("%x", same)
	}
}

// TestIPBehindTags finds the datagrams behind the tags of rings and trunks, and before
// trailers.
func TestIPBehindTags(t *testing.T) {
	v4, v6 := ether(iana.TypeIPv4, packet4), ether(iana.TypeIPv6, packet6)
	for name, pair := range map[string][2][]byte{
		"hsr":             {v4, hsr(v4, 1, 5)},
		"hsr, IPv6":       {v6, hsr(v6, 0, 5)},
		"hsr in a VLAN":   {v4, vlan(hsr(v4, 1, 5))},
		"VLAN in hsr":     {v6, hsr(vlan(v6), 1, 5)},
		"802.2 in hsr":    {v4, hsr(llc(snap(iana.TypeIPv4, packet4)), 1, 5)},
		"isl":             {v4, isl(v4, 5)},
		"prp":             {v4, prp(padded60(v4), 14, 0xa, 5)},
		"prp, IPv6, VLAN": {v6, prp(vlan(v6), 18, 0xb, 5)},
	} {
		for _, kind := range []Kind{L3, Inner} {
			cfg := Config{Kind: kind}
			a, b := identityOf(cfg, capture.LinkEthernet, pair[0]), identityOf(cfg, capture.LinkEthernet, pair[1])
			if h := decode(headers.NewDecoder(headers.DecoderConfig{}), newBatch(capture.LinkEthernet, pair[1]))[0]; a != b || h.Version == 0 || h.Flags&headers.FlagSrc == 0 {
				t.Errorf("%s, %v: %+v, %x and %x", name, kind, h, a, b)
			}
		}
	}
}

// TestRadiotapCheckSequence leaves out the check sequence that the header of a wireless
// frame announces.
func TestRadiotapCheckSequence(t *testing.T) {
	frame := join("\x08\x02\x00\x00", mac(1), mac(9), mac(2), "\x10\x00", snap(0x9000, make([]byte, 100)))
	cfg := Config{Kind: L3, Ignore: IgnoreOnly(0)}
	a := identityOf(cfg, capture.LinkRadiotap, join("\x00\x00\x09\x00\x02\x00\x00\x00\x00", frame))
	b := identityOf(cfg, capture.LinkRadiotap, join("\x00\x00\x09\x00\x02\x00\x00\x00\x10", frame, fcs))
	if a != b {
		t.Errorf("%x and %x", a, b)
	}
}

// leading has ethertypes that further headers may follow.
var leading = []int{
	iana.TypeIPv4, iana.TypeIPv6, iana.TypeMPLS, iana.TypeMPLSUp, iana.TypePPPoE, iana.TypePBB, iana.TypeBridging, iana.TypeFabricPath, iana.TypeNSH,
	iana.TypeVLAN, iana.TypeQinQ, iana.TypeQinQOld, iana.TypeQinQOld2, iana.TypeVNTag, iana.TypeETag, iana.TypeCMD, iana.TypeHSR,
	iana.TypeArista, iana.TypeMACsec, iana.TypeRTag, iana.TypeTRILL, iana.TypeBATMAN, iana.TypeRealtek, iana.TypeEDSA,
}

// sized are the types whose payload states its length.
var sized = []int{iana.TypeARP, iana.TypeRARP, iana.TypeGOOSE, iana.TypeGSE, iana.TypeSamples, iana.TypePTP, iana.TypeLLDP}

// FuzzFramesWithoutIP checks, for any frame, that tags, padding and check sequences do
// not change the identity, and that bytes behind the captured bytes do not count.
func FuzzFramesWithoutIP(f *testing.F) {
	for _, c := range conversations {
		for _, s := range c {
			if s.Link == capture.LinkEthernet && len(s.Data) > 14 {
				f.Add(int(s.Data[12])<<8|int(s.Data[13]), s.Data[14:], uint16(100), s.Cut)
			}
		}
	}
	f.Add(iana.TypePTP, []byte("\x00\x02\x00\x22cut!"), uint16(100), 0)
	g := New(Config{Kind: L3})
	f.Fuzz(func(t *testing.T, typ int, payload []byte, tag uint16, missing int) {
		if slices.Contains(leading, typ&0xffff) || len(payload) < 8 || payload[0] == 0xaa || payload[0] == 6 {
			return // the added bytes might look like a further header
		}
		frame, missing := ether(typ&0xffff, payload), max(missing, 0)%100
		if n := len(frame) - 4; slices.Equal(checked(frame[:n]), frame) { // it would be wrong with a tag
			payload, frame = payload[:len(payload)-4], frame[:n]
		}
		eth := capture.LinkEthernet
		taps := []tap{
			{"plain", eth, 0, missing, frame},
			{"checksum", eth, 4, missing + 4, frame},
			{"tag", eth, 0, missing, inserted(frame, be16(iana.TypeVLAN), be16(int(tag)))},
			{"ring", eth, 0, missing, hsr(frame, 1, int(tag))},
		}
		if missing == 0 {
			taps = append(taps, tap{"captured checksum", eth, 4, 0, join(frame, be32(uint32(tag)))})
		}
		const longest = 1500 // a type up to it is a length (IEEE 802.3, 3.2.6)
		tooLong := typ&0xffff <= longest && typ&0xffff > len(payload)
		if missing == 0 && !tooLong && !slices.Contains(sized, typ&0xffff) { // else padding might stand in for missing bytes
			taps = append(taps, onEthernet("padded", padded60(frame)), onEthernet("check sequence", checked(frame)))
		}
		b := batchOf(taps)
		all := g.FromHeaders(b, 0, decode(headers.NewDecoder(headers.DecoderConfig{}), b)).all()
		for i, m := range all {
			if m != all[0] {
				t.Errorf("%s:\n%x\n%x", taps[i].Name, all[0], m)
			}
		}
		b.Buf = append(b.Buf, payload...) // belongs to the next frame
		if again := g.FromHeaders(b, 0, decode(headers.NewDecoder(headers.DecoderConfig{}), b)).all(); !slices.Equal(again, all) {
			t.Errorf("%x\n%x", all, again)
		}
	})
}
