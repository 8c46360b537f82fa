// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/frametest"
)

// TestPlain finds the headers that every program reads alike.
func TestPlain(t *testing.T) {
	ip := frametest.IP4(1, 17, frametest.UDP(1, 2, []byte("payload")))
	tag := func(types ...int) []byte {
		frame := frametest.Ether4(ip)
		for _, typ := range types {
			frame = frametest.Inserted(frame, frametest.BE16(typ), frametest.BE16(5))
		}
		return frame
	}
	p := &Plain{Outer: []uint16{0x8100, 0x88a8}}
	d := NewDecoder(DecoderConfig{Inner: true})
	for _, c := range []struct {
		name  string
		link  capture.LinkType
		frame []byte
		want  bool
	}{
		{"plain", capture.LinkEthernet, tag(), true},
		{"802.1Q", capture.LinkEthernet, tag(0x8100), true},
		{"802.1ad", capture.LinkEthernet, tag(0x8100, 0x88a8), true},
		{"two of 802.1Q", capture.LinkEthernet, tag(0x8100, 0x8100), true},
		{"802.1ad inside", capture.LinkEthernet, tag(0x88a8, 0x8100), false},
		{"three", capture.LinkEthernet, tag(0x8100, 0x8100, 0x8100), false},
		{"before 802.1ad", capture.LinkEthernet, tag(0x9100), false},
		{"MPLS", capture.LinkEthernet, frametest.Ether(0x8847, frametest.Join([]byte{0, 1, 1, 64}, ip)), false},
		{"SNAP", capture.LinkEthernet, frametest.Ether(8+len(ip), frametest.Snap(0x0800, ip)), false},
		{"tunnel", capture.LinkEthernet, frametest.Ether4(frametest.IP4(2, 4, ip)), false},
		{"no IP", capture.LinkEthernet, frametest.ARP(1), true},
		{"raw", capture.LinkRaw, ip, true},
		{"cooked", capture.LinkLinuxSLL, frametest.SLL(0, frametest.MAC(1), 0x0800, ip), true},
		{"cooked, tagged", capture.LinkLinuxSLL, frametest.SLL(0, frametest.MAC(1), 0x8100, frametest.Join(frametest.BE16(5), frametest.BE16(0x0800), ip)), false},
	} {
		b := frametest.NewBatch(c.link, c.frame)
		var h [1]Header
		d.Decode(h[:], b, 0)
		if got := p.Has(&h[0], c.link, b.Data(0)); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
