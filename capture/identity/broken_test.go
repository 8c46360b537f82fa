// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/internal/frametest"
)

// TestBroken finds the packets that no receiver takes, among as many others as kernels read at a
// time.
func TestBroken(t *testing.T) {
	with := frametest.With
	inside := frametest.Sized4(7, 17, frametest.UDP(1, 2, []byte("payload")))
	ip4, ip6 := frametest.Summed(inside), frametest.Sized6(17, frametest.UDP(1, 2, []byte("payload")))
	options := frametest.Summed(frametest.Join([]byte{0x46}, ip4[1:20], []byte{1, 1, 1, 0}, ip4[20:]))
	wrong := with(ip4, 10, "\x12\x34")
	gre := func(outer int, p []byte) []byte {
		ip := frametest.Summed(frametest.Sized4(9, 47, frametest.Join(frametest.BE16(0), frametest.BE16(0x0800), p)))
		return frametest.Ether4(with(ip, 8, string([]byte{byte(outer)})))
	}
	for _, c := range []struct {
		name      string
		frame     []byte
		l3, inner bool
	}{
		{name: "right", frame: frametest.Ether4(ip4)},
		{name: "sum", frame: frametest.Ether4(wrong), l3: true, inner: true},
		{name: "unfilled", frame: frametest.Ether4(with(ip4, 10, "\x00\x00"))},
		{name: "time to live", frame: frametest.Ether4(with(ip4, 8, "\x00")), l3: true, inner: true},
		{name: "hop limit", frame: frametest.Ether6(with(ip6, 7, "\x00")), l3: true, inner: true},
		{name: "hop limit is there", frame: frametest.Ether6(with(ip6, 7, "\x01"))},
		{name: "options", frame: frametest.Ether4(options)},
		{name: "options, sum", frame: frametest.Ether4(with(options, 20, "\x07")), l3: true, inner: true},
		{name: "in a tag", frame: frametest.VLAN(frametest.Ether4(wrong)), l3: true, inner: true},
		{name: "tunnel", frame: gre(64, ip4)},
		{name: "in a tunnel", frame: gre(64, wrong), inner: true},
		{name: "around a tunnel", frame: gre(0, ip4), l3: true, inner: true},
	} {
		frames := make([][]byte, 20)
		for i := range frames {
			frames[i] = frametest.Ether4(ip4)
			if i%9 == 4 {
				frames[i] = c.frame
			}
		}
		b := newBatch(capture.LinkEthernet, frames...)
		for kind, want := range map[Kind]bool{L3: c.l3, Inner: c.inner, Frame: c.l3} {
			bits := uint64(0)
			if want {
				bits = 1<<4 | 1<<13
			}
			cfg := Config{Kind: kind}
			checkFromFrames(t, cfg, b, 0)
			m := New(cfg).FromHeaders(b, 0, decode(headers.NewDecoder(headers.DecoderConfig{Inner: kind == Inner}), b))
			if got := append(m.Broken(), 0)[0]; got != bits {
				t.Errorf("%s, %v: %x, want %x", c.name, kind, got, bits)
			}
		}
	}
}
