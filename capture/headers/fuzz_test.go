// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"testing"

	"github.com/flowdedup/flowdedup/capture"
)

// FuzzDecode checks that no bytes under any link type lead to a panic, to a header that
// points outside of the frame, or to a different result the second time.
func FuzzDecode(f *testing.F) {
	addCases(f)
	told, err := ParseTunnels("53=skip:4,1701=gue,3544=capwap,4789=lwapp,8472=teredo,6081=vxlan-gpe,2152=l2tp")
	if err != nil {
		f.Fatal(err)
	}
	decoders := []*Decoder{NewDecoder(DecoderConfig{}), NewDecoder(DecoderConfig{Inner: true}), NewDecoder(DecoderConfig{Inner: true, Tunnels: told})}
	f.Fuzz(func(t *testing.T, link uint32, data []byte, wireLen uint32) {
		b := twice(capture.LinkType(link), data, wireLen)
		checkCommon(t, b, 0)
		h := make([]Header, 2)
		for _, d := range decoders {
			d.Decode(h, b, 0)
			checkHeader(t, h[0], len(data))
			d.Unopened(b, 0)
			d.Layers(nil, b, 0)
			if h[0] != h[1] {
				t.Fatalf("twice decoded: %+v and %+v", h[0], h[1])
			}
			var one Header
			var parts [2]NonIPParts
			ok := d.DecodeSlow(&one, &parts[0], b, 0)
			if one != h[0] || h[0].Version == 0 && (ok != parts[1].Read(b, 0, &one) || parts[0] != parts[1]) {
				t.Fatalf("alone decoded: %+v, %+v, %t; want %+v, %+v", one, parts[0], ok, h[0], parts[1])
			}
			if ok {
				checkParts(t, &parts[0], &one)
			}
		}
	})
}

// checkParts checks that the parts of a frame without IP lie within it.
func checkParts(t *testing.T, p *NonIPParts, h *Header) {
	n := int(h.End - h.Start)
	if h.Version != 0 || int(p.Payload+p.Size+p.GapLen) > n || p.Gap > p.Size || max(p.Dst, p.Src)+6 > n && max(p.Dst, p.Src) >= 0 {
		t.Fatalf("parts %+v of %+v", p, h)
	}
}

// TestDecodeSteadyState checks that nothing is allocated.
func TestDecodeSteadyState(t *testing.T) {
	b := tunnelBatch()
	h := make([]Header, len(b.Frames))
	var parts NonIPParts
	for _, inner := range []bool{false, true} {
		d := NewDecoder(DecoderConfig{Inner: inner})
		if n := testing.AllocsPerRun(10, func() {
			d.Decode(h, b, 0)
			for i := range h {
				d.DecodeSlow(&h[i], &parts, b, i)
			}
		}); n != 0 {
			t.Errorf("inner=%t: %v allocations", inner, n)
		}
	}
}
