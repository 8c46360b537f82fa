// SPDX-License-Identifier: Apache-2.0

package keys

import (
	"maps"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// TestKeyerUnopened checks that frames without keys are counted, and no others.
func TestKeyerUnopened(t *testing.T) {
	var frames [][]byte
	for n := range 100 {
		frames = append(frames, ether(iana.TypeIPv4, packet4), ether(iana.TypeARP, []byte("arp")), ether(iana.TypeMPLS, join("\x00\x01\x01\x40", packet6)))
		if n%4 == 0 {
			frames = append(frames, ether(0x88b5, packet4))
		}
	}
	b := newBatch(capture.LinkEthernet, frames...)
	k := NewKeyer([]Config{{Kind: Src}}, headers.DecoderConfig{})
	var counts headers.UnopenedCounts
	for range 2 {
		k.FromFrames(b, 0, len(frames))
		k.TakeUnopened(&counts)
	}
	if got := counts.ByName(); !maps.Equal(got, map[string]uint64{"ethertype-88b5": 50}) {
		t.Errorf("%v", got)
	}
}

// TestWithoutPorts counts packets whose ports were not captured.
func TestWithoutPorts(t *testing.T) {
	whole := ether4(sized4(9, iana.ProtoUDP, udpSum(53, 0, body)))
	v6 := ether6(sized6(iana.ProtoDstOpts, join("\x11\x00\x01\x04\x00\x00\x00\x00", udpSum(53, 0, body))))
	for _, c := range []struct {
		name  string
		frame []byte
		cut   int
		want  uint64
	}{
		{"whole", whole, 1000, 0},
		{"ports", whole, 38, 0},
		{"no ports", whole, 37, 1},
		{"nothing above IP", whole, 34, 1},
		{"IPv6, ports", v6, 14 + 40 + 8 + 4, 0},
		{"IPv6, no ports", v6, 14 + 40 + 8 + 3, 1},
		{"IPv6, part of an extension header", v6, 14 + 40 + 1, 1},
		{"ICMP", ether4(sized4(9, iana.ProtoICMP, body)), 34, 0},
		{"later fragment", ether4(with(sized4(9, iana.ProtoUDP, body), 6, "\x20\x08")), 34, 0},
		{"too short for ports", ether4(sized4(9, iana.ProtoUDP, []byte("abc"))), 1000, 0},
		{"without IP", arpFrame, 20, 0},
	} {
		for _, kinds := range [][]Config{{{Kind: Flow}}, {{Kind: Flow}, {Kind: MACs}}} {
			b := newBatch(capture.LinkEthernet, append(repeat(whole, 20), c.frame)...)
			f := &b.Frames[20]
			f.CapLen = min(f.CapLen, uint32(c.cut))
			k := NewKeyer(kinds, headers.DecoderConfig{})
			k.FromFrames(b, 0, len(b.Frames))
			if got := k.WithoutPorts(); got != c.want {
				t.Errorf("%s: %d, want %d", c.name, got, c.want)
			}
		}
	}
}
