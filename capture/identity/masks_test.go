// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// TestLayoutPlaces checks that common layouts do not take each other's places, where messages
// begin with, before, or behind the datagram, and behind tags.
func TestLayoutPlaces(t *testing.T) {
	var known layouts
	for name, starts := range map[string][]uint32{
		"short": {^uint32(MessageStart - 1), ^uint32(truncatedStart - 1)}, "whole": {0}, "frame": {14, 18, 22}, "bare": {2, 6, 10},
	} {
		keys := map[*layout]uint32{}
		for _, ip := range starts {
			for _, proto := range []uint8{iana.ProtoTCP, iana.ProtoUDP, iana.ProtoICMP, iana.ProtoICMPv6, iana.ProtoGRE, iana.ProtoESP, iana.ProtoSCTP} {
				for _, key := range []uint32{layoutKey(ip, 20, 4, proto, false), layoutKey(ip, 40, 6, proto, false), layoutKey(ip, 0, 4, proto, false)} {
					at := known.at(key)
					if other, taken := keys[at]; taken {
						t.Errorf("%s: keys %x and %x have one place", name, other, key)
					}
					keys[at] = key
				}
			}
		}
	}
}

// sackFrame returns a TCP segment with a number, also of a block that it acknowledges. n options
// without effect stand before its SACK option. A far segment stands behind an IPv6 header with options
// of 64 bytes.
func sackFrame(n int, number uint32, far bool) []byte {
	options := join(bytes.Repeat([]byte{1}, n), "\x05\x0a", be32(1), be32(number))
	options = join(options, make([]byte, -len(options)&3))
	segment := join(be16(1000), be16(80), be32(number), be32(7), []byte{byte(5+len(options)/4) << 4, 0x10}, be16(100), be16(int(number)), be16(0), options, "payload")
	if far {
		return ether6(sized6(iana.ProtoDstOpts, join([]byte{iana.ProtoTCP, 7, 1, 60}, make([]byte, 60), segment)))
	}
	return ether4(sized4(7, iana.ProtoTCP, segment))
}

// TestMasksRunOut has SACK options at many places, some of them behind a mask, with and without
// room for more masks: all have the identities of copies.
func TestMasksRunOut(t *testing.T) {
	var frames [][]byte
	for n := range 30 {
		for _, far := range []bool{false, true} {
			frames = append(frames, sackFrame(n, uint32(n), far), sackFrame(n, uint32(n)+100, far))
		}
	}
	b := newBatch(capture.LinkEthernet, frames...)
	for _, kind := range []Kind{L3, Frame} {
		for _, taken := range []int{0, 300} {
			g := New(Config{Kind: kind, Ignore: IgnoreAlso(TCPSeq)})
			for i := range taken {
				g.masks.Number(digest.Mask{uint64(i)})
			}
			checkCopies(t, g, b)
			m := g.FromFrames(make([]headers.Protocol, len(frames)), b, 0)
			if n := len(m.copies); n < len(frames)/3 || n == len(frames) && taken == 0 {
				t.Errorf("%v, %d masks: %d of %d messages are copies", kind, taken, n, len(frames))
			}
			got := m.all()
			for i := 0; i < len(got); i += 2 {
				if got[i] != got[i+1] {
					t.Errorf("%v, %d masks: SACK option behind %d bytes: %x and %x", kind, taken, i/4, got[i], got[i+1])
				}
			}
		}
	}
}

// BenchmarkIgnore reads and digests identities that leave out fields.
func BenchmarkIgnore(b *testing.B) {
	d := digest.NewAES([16]byte{1})
	for _, c := range []struct {
		kind   Kind
		ignore string
	}{
		{L3, "l4-checksum"}, {L3, "nat"}, {L3, "tcp-seq"}, {L3, "none,ttl"}, {Frame, "none"}, {Frame, "mac,vlan"}, {Frame, "vlan"}, {Frame, "l4-checksum"},
	} {
		ignore, err := ParseIgnore(c.ignore)
		if err != nil {
			b.Fatal(err)
		}
		for _, size := range []int{64, 1500} {
			b.Run(fmt.Sprintf("kind=%v/ignore=%s/size=%d", c.kind, c.ignore, size), func(b *testing.B) {
				batch, g := benchBatch(size, false), New(Config{Kind: c.kind, Ignore: ignore})
				protocols, digests := make([]headers.Protocol, len(batch.Frames)), make([]digest.Digest, len(batch.Frames))
				for b.Loop() {
					g.FromFrames(protocols, batch, 0).Sum(digests, d)
				}
				perPacket(b, len(protocols))
			})
		}
	}
}

// TestUsual compares the quick answer for usual TCP headers with a walk over the options.
func TestUsual(t *testing.T) {
	stamps := []byte{1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2}
	for _, c := range []struct {
		name    string
		words   byte // the stated size of the header
		options []byte
		lacks   bool
	}{
		{"none", 5, nil, true},
		{"a size too small", 3, []byte{5, 10, 0, 0}, true},
		{"timestamps", 8, stamps, true},
		{"timestamps and data like SACK", 8, append(stamps[:12:12], 5, 10, 0, 0, 0, 0, 0, 0, 0, 0), true},
		{"timestamps cut off", 8, stamps[:11], false},
		{"timestamps and SACK", 11, append(stamps[:12:12], 1, 1, 5, 10, 0, 0, 0, 1, 0, 0, 0, 2), false},
		{"SACK", 8, []byte{1, 1, 5, 10, 0, 0, 0, 1, 0, 0, 0, 2}, false},
	} {
		tcp := append(make([]byte, tcpOptions), c.options...)
		tcp[12] = c.words << 4
		buf := append([]byte{1, 2, 3}, tcp...)
		tcp = buf[3:]
		got := TCPSeq.isUsual(buf, 3, uint32(len(buf)))
		if got != c.lacks {
			t.Errorf("%s: %t", c.name, got)
		}
		if _, n := nextOption(headerOf(tcp), tcpOptions, sackOption); got && n > 0 {
			t.Errorf("%s: there is a SACK option", c.name)
		}
		if TCPHeader.isUsual(buf, 3, uint32(len(buf))) != (c.words <= 5) {
			t.Errorf("%s: options do not vary", c.name)
		}
		if tcp[13] = 2; MSS.isUsual(buf, 3, uint32(len(buf))) {
			t.Errorf("%s: a segment with SYN has a quick answer", c.name)
		}
	}
	if TCPSeq.isUsual(make([]byte, 19), 0, 19) {
		t.Error("a header that was cut off has a quick answer")
	}
}

// TestSlowBehindFast has frames that are compared whole behind datagrams of the protocol that the fast path
// gives them.
func TestSlowBehindFast(t *testing.T) {
	b := newBatch(capture.LinkEthernet, ether4(sized4(1, 0, body[:40])), []byte("short frame"), ether4(sized4(1, 0, body[:40])), arpFrame)
	cfg := Config{Ignore: IgnoreAlso(NAT)}
	h := decode(headers.NewDecoder(cfg.Decode()), b)
	want := New(cfg).FromHeaders(b, 0, h).all()
	protocols := make([]headers.Protocol, len(h))
	for g, round := New(cfg), 0; round < 2; round++ {
		if got := g.FromFrames(protocols, b, 0).all(); !slices.Equal(got, want) {
			t.Errorf("round %d:\n%v, want\n%v", round, got, want)
		}
	}
}
