// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// withFCS returns a frame with its frame check sequence.
func withFCS(frame []byte) []byte {
	return binary.LittleEndian.AppendUint32(slices.Clone(frame), crc32.ChecksumIEEE(frame))
}

// Headers of captures of 802.11. n differs from radio to radio.
func radiotap(n, flags byte) []byte {
	return join("\x00\x00\x12\x00\x23\x00\x00\x00", []byte{n, 1, 2, 3, 4, 5, 6, 7}, []byte{flags, 200 + n})
}

func radiotapBare(n byte) []byte { return join("\x00\x00\x09\x00\x20\x00\x00\x00", []byte{n}) }

func prism(n byte) []byte {
	return join(le32(0x44), le32(144), "wlan0", []byte{n}, make([]byte, 130))
}

func avs(n byte) []byte {
	return join("\x80\x21\x10\x01", be32(64), []byte{n}, make([]byte, 55))
}

// ppi has the field of 802.11 behind a field before it.
func ppi(n byte, flags int) []byte {
	other := join(le16(9), le16(3), "abc", "\x00")
	common := join(le16(2), le16(20), []byte{n, 0, 0, 0, 0, 0, 0, 0}, le16(flags), make([]byte, 10))
	return join("\x00\x01", le16(8+len(other)+len(common)), le32(105), other, common)
}

func pktap(n byte, link int) []byte {
	return join(le32(108), le32(1), le32(link), "en0", []byte{n}, make([]byte, 92))
}

// tap154 is a header of 802.15.4 TAP with a type of check sequence behind a signal strength.
func tap154(n, fcsType byte) []byte {
	return join("\x00\x00\x14\x00", le16(1), le16(4), []byte{n, 0, 0, 0}, le16(0), le16(1), []byte{fcsType, 0, 0, 0})
}

// dataFrame is a data frame that nothing but its bytes is known of.
func dataFrame(flags byte, sequence int) []byte {
	return join([]byte{0x88, flags}, "\x30\x00", mac(1), mac(2), mac(3), le16(sequence<<4), "\x05\x00", "\x01\x00\x00\x20\x00\x00\x00\x00", "ciphertext")
}

// radios has groups of frames as several radios heard them. The frames of a group are the same
// frame, frames of different groups are not.
var radios = func() [][]tap {
	const encrypted, retry = 0x41, 0x08
	on := func(name string, link capture.LinkType, parts ...any) tap {
		return tap{Name: name, Link: link, Data: join(parts...)}
	}
	var groups [][]tap
	for name, frame := range map[string][]byte{
		"encrypted": dataFrame(encrypted, 7), "retry": dataFrame(encrypted|retry, 7), "next": dataFrame(encrypted, 8),
		"beacon": wifiFrame(0x80, 0, "body of a beacon"), "null": wifiFrame(0x48, 1), "later fragment": with(wifiFrame(0x08, 1, snap(iana.TypeIPv4, packet4)), 22, "\x01"),
		"ack": join("\xd4\x00\x00\x00", mac(1)), "rts": join("\xb4\x00\x3a\x01", mac(1), mac(2)), "block ack": join("\x94\x00\x00\x00", mac(1), mac(2), "\x05\x00\x70\x00", make([]byte, 8)),
		"extension": join("\x0c\x00\x00\x00", mac(1), "s1g beacon"),
	} {
		groups = append(groups, []tap{
			on(name, capture.LinkIEEE80211, frame), on(name+", fcs", capture.LinkIEEE80211, withFCS(frame)),
			{name + ", stated fcs", capture.LinkIEEE80211, 4, 0, join(frame, fcs)},
			on(name+", radiotap", capture.LinkRadiotap, radiotap(1, 0), frame), on(name+", other radio", capture.LinkRadiotap, radiotap(2, 0), frame),
			on(name+", radiotap with a wrong fcs", capture.LinkRadiotap, radiotap(1, 0x50), frame, fcs),
			on(name+", radiotap without flags", capture.LinkRadiotap, radiotapBare(1), withFCS(frame)),
			on(name+", prism", capture.LinkPrism, prism(1), frame), on(name+", prism, fcs", capture.LinkPrism, prism(2), withFCS(frame)),
			on(name+", avs", capture.LinkAVS, avs(1), frame), on(name+", avs as prism", capture.LinkPrism, avs(2), withFCS(frame)),
			on(name+", ppi", capture.LinkPPI, ppi(1, 0), frame), on(name+", ppi, fcs", capture.LinkPPI, ppi(2, 1), frame, fcs),
			on(name+", pktap", capture.LinkPKTAP, pktap(1, 105), frame), on(name+", pktap, radiotap", capture.LinkUser2, pktap(2, 127), radiotap(3, 0x10), frame, fcs),
		})
	}
	qos := dataFrame(encrypted, 7)
	i := slices.IndexFunc(groups, func(g []tap) bool { return g[0].Name == "encrypted" })
	groups[i] = append(groups[i], on("padded", capture.LinkRadiotap, radiotap(1, 0x30), qos[:26], "\x00\x00", qos[26:], fcs))
	zigbee := []byte("\x41\x88\x07\x34\x12\x02\x00\x01\x00 compressed")
	return append(groups, []tap{
		on("zigbee", capture.LinkIEEE802154N, zigbee), on("zigbee, fcs", capture.LinkIEEE802154, zigbee, "\xab\xcd"),
		on("zigbee, tap", capture.LinkIEEE802154T, tap154(1, 0), zigbee), on("zigbee, other tap, fcs", capture.LinkIEEE802154T, tap154(2, 1), zigbee, "\xab\xcd"),
		on("zigbee, long fcs", capture.LinkIEEE802154T, tap154(3, 2), zigbee, fcs),
		on("zigbee, a header without fields", capture.LinkIEEE802154T, "\x00\x00\x04\x00", zigbee),
	}, []tap{
		on("zigbee, next", capture.LinkIEEE802154T, tap154(1, 0), with(zigbee, 2, "\x08")),
	}, []tap{
		on("cut", capture.LinkRadiotap, radiotap(1, 0), qos[:30]).missing(20), on("cut, fcs", capture.LinkRadiotap, radiotap(2, 0x10), qos[:30]).missing(24),
	}, []tap{
		on("cut, longer", capture.LinkRadiotap, radiotap(1, 0), qos[:30]).missing(21),
	}, []tap{
		on("pktap, arp", capture.LinkPKTAP, pktap(1, 1), arp(2)), on("pktap, arp, padded", capture.LinkPKTAP, pktap(2, 1), padded60(arp(2))),
		onEthernet("arp", arp(2)), on("ppi, arp", capture.LinkPPI, with(ppi(1, 0), 4, "\x01"), arp(2)),
		on("radiotap, arp", capture.LinkRadiotap, radiotap(1, 0), "\x08\x02\x00\x00", mac(1), mac(9), mac(2), "\x10\x00", snap(iana.TypeARP, arp(2)[14:])),
	}, []tap{
		on("pktap, null", capture.LinkPKTAP, pktap(1, 0), le32(7), "neither IP"), on("pktap, null, other process", capture.LinkPKTAP, pktap(2, 0), le32(7), "neither IP"),
	}, []tap{
		on("eapol", capture.LinkRadiotap, radiotap(1, 0), wifiFrame(0x08, 2, snap(0x888e, make([]byte, 60)))),
		on("eapol, fcs", capture.LinkPrism, prism(1), withFCS(wifiFrame(0x08, 2, snap(0x888e, make([]byte, 60))))),
	})
}()

// TestCapturesOfRadios checks that the header of a capture and a check sequence count in no
// identity, and that all else of a frame does.
func TestCapturesOfRadios(t *testing.T) {
	all, group := slices.Concat(radios...), []int{}
	for i, g := range radios {
		group = append(group, slices.Repeat([]int{i}, len(g))...)
	}
	b := batchOf(all)
	for _, cfg := range []Config{{Kind: L3}, {Kind: Inner}, {Kind: L3, Ignore: IgnoreOnly(0)}, {Kind: L3, Bytes: 300}, {Kind: L3, Ignore: IgnoreAlso(VLAN)}} {
		got := New(cfg).FromHeaders(b, 0, decode(headers.NewDecoder(headers.DecoderConfig{Inner: cfg.Kind == Inner}), b)).all()
		for i := range got {
			for j := range i {
				if equal := got[i] == got[j]; equal != (group[i] == group[j]) {
					t.Errorf("%+v: %q and %q: equal is %v\n%x\n%x", cfg, all[i].Name, all[j].Name, equal, got[i], got[j])
				}
			}
		}
		checkFromFrames(t, cfg, b, 0)
	}
}

// TestRadioAddresses checks that only ignored addresses do not count, but the rest of a frame does,
// also with bytes left out, and without addresses.
func TestRadioAddresses(t *testing.T) {
	cfg := Config{Kind: L3, Ignore: IgnoreAlso(MAC)}
	qos := dataFrame(0x42, 7)
	plain := identityOf(cfg, capture.LinkRadiotap, join(radiotap(1, 0), qos))
	for _, same := range [][]byte{with(qos, 4+5, "\x77"), with(qos, 16+5, "\x77"), join(qos[:26], "\x00\x00", qos[26:])} {
		padded := byte(0)
		if len(same) != len(qos) {
			padded = 0x20
		}
		if got := identityOf(cfg, capture.LinkRadiotap, join(radiotap(2, padded), same)); got != plain {
			t.Errorf("%x and %x", got, plain)
		}
	}
	for _, at := range []int{1, 2, 15, 22, 24, 30, len(qos) - 1} {
		if got := identityOf(cfg, capture.LinkRadiotap, join(radiotap(2, 0), with(qos, at, "\x77"))); got == plain {
			t.Errorf("byte %d does not count", at)
		}
	}
	for _, c := range []struct {
		cfg   Config
		link  capture.LinkType
		frame []byte
		at    int
	}{{Config{Kind: L3}, capture.LinkIEEE80211, qos, 4 + 5}, {Config{Kind: L3}, capture.LinkIEEE80211, qos, 16 + 5}, {cfg, capture.LinkIEEE802154N, []byte("\x41\x88\x07 zigbee"), 2}} {
		if identityOf(c.cfg, c.link, c.frame) == identityOf(c.cfg, c.link, with(c.frame, c.at, "\x77")) {
			t.Errorf("%+v, link %d: byte %d does not count", c.cfg, c.link, c.at)
		}
	}
}

// TestFrameBehindCaptureHeader checks that the header of a capture is not part of identity
// Frame, but all behind it is, and the header of a cooked capture.
func TestFrameBehindCaptureHeader(t *testing.T) {
	data := join(wifiFrame(0x08, 2, snap(iana.TypeIPv4, packet4)))
	same := []tap{
		{"", capture.LinkIEEE80211, 0, 0, data}, {"", capture.LinkRadiotap, 0, 0, join(radiotap(1, 0), data)},
		{"", capture.LinkRadiotap, 0, 0, join(radiotap(2, 0), data)}, {"", capture.LinkPPI, 0, 0, join(ppi(3, 0), data)},
		{"", capture.LinkPKTAP, 0, 0, join(pktap(3, 105), data)},
	}
	others := []tap{
		{"check sequence", capture.LinkRadiotap, 0, 0, join(radiotap(1, 0x10), data, fcs)},
		{"hop limit", capture.LinkRadiotap, 0, 0, join(radiotap(1, 0), with(data, 24+8+8, "\x3f"))},
		{"longer", capture.LinkRadiotap, 0, 1, join(radiotap(1, 0), data)},
		{"damaged header", capture.LinkRadiotap, 0, 0, join("\x01", radiotap(1, 0)[1:], data)},
		{"cooked", capture.LinkLinuxSLL, 0, 0, sll(0, mac(2), iana.TypeIPv4, packet4)}, {"cooked, outgoing", capture.LinkLinuxSLL, 0, 0, sll(4, mac(2), iana.TypeIPv4, packet4)},
	}
	for _, cfg := range []Config{{Kind: Frame}, {Kind: Frame, Ignore: IgnoreAlso(VLAN)}, {Kind: Frame, Bytes: 400}} {
		b := batchOf(append(slices.Clone(same), others...))
		all := New(cfg).FromHeaders(b, 0, decode(headers.NewDecoder(headers.DecoderConfig{}), b)).all()
		for i, m := range all {
			if (m == all[0]) != (i < len(same)) {
				t.Errorf("%+v, frame %d: %x", cfg, i, m)
			}
		}
		checkFromFrames(t, cfg, b, 0)
	}
	tags := Config{Kind: Frame, Ignore: IgnoreAlso(VLAN | MAC | TTL)}
	plain := identityOf(tags, capture.LinkPKTAP, join(pktap(1, 1), ether(iana.TypeIPv4, packet4)))
	tagged := identityOf(tags, capture.LinkPKTAP, join(pktap(2, 1), with(vlan(ether(iana.TypeIPv4, with(packet4, 8, "\x07"))), 5, "\x09")))
	if plain != tagged || plain.text == "" {
		t.Errorf("ignored fields behind a header:\n%x\n%x", plain, tagged)
	}
}

// FuzzCarried checks that no bytes behind a header of a capture make the header count.
func FuzzCarried(f *testing.F) {
	for _, g := range radios {
		f.Add(uint32(g[0].Link), g[0].Data, uint16(g[0].Cut))
	}
	for _, c := range linkCases {
		f.Add(uint32(c.Link), join(c.Head, packet4), uint16(0))
	}
	g, whole := New(Config{Kind: L3, Ignore: IgnoreAlso(MAC)}), New(Config{Kind: Frame, Ignore: IgnoreAlso(MAC | VLAN)})
	f.Fuzz(func(t *testing.T, link uint32, data []byte, missing uint16) {
		at := func(n byte) tap {
			return tap{Link: capture.LinkPKTAP, Cut: int(missing), Data: join(le32(108), le32(1), le32(int(link)), []byte{n}, make([]byte, 95), data)}
		}
		b := batchOf([]tap{at(1), at(2)})
		h := decode(headers.NewDecoder(headers.DecoderConfig{}), b)
		if start := headers.CaptureHeader(b, 0); start < 108 || start > uint32(len(data)+108) {
			t.Fatalf("header of %d bytes", start)
		}
		if all := g.FromHeaders(b, 0, h).all(); all[0] != all[1] {
			t.Errorf("%x and %x", all[0], all[1])
		}
		if all := whole.FromHeaders(b, 0, h).all(); all[0] != all[1] {
			t.Errorf("whole frame: %x and %x", all[0], all[1])
		}
	})
}
