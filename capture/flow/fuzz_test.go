// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"testing"

	"github.com/flowdedup/flowdedup/capture"
)

// everything is every use that decoded frames are put to.
type everything struct {
	decoders   []*Decoder
	identities []*Identity
	cfgs       []KeyConfig
	keyer      *Keyer
}

func newEverything() *everything {
	e := &everything{decoders: []*Decoder{NewDecoder(DecoderConfig{}), NewDecoder(DecoderConfig{Inner: true})}}
	for kind := range IdentityKind(len(identityKindNames)) {
		for _, ignore := range []Ignore{IgnoreOnly(0), {}, IgnoreOnly(VLAN | MAC), IgnoreOnly(1<<len(fieldNames) - 1)} {
			for _, n := range []int{0, 7, 40} {
				e.identities = append(e.identities, NewIdentity(IdentityConfig{Kind: kind, Ignore: ignore, Bytes: n}))
			}
		}
	}
	e.cfgs = allKeys()
	e.keyer = NewKeyer(e.cfgs, DecoderConfig{})
	return e
}

// FuzzDecode checks that no bytes under any link type lead to a panic, to a header that
// points outside of the frame, or to a different result the second time.
func FuzzDecode(f *testing.F) {
	for _, c := range linkCases {
		datagram := c.ip
		if c.ip == nil {
			datagram = packet4
		}
		f.Add(uint32(c.link), join(c.head, datagram), uint32(100))
	}
	for _, c := range tunnelCases {
		f.Add(uint32(capture.LinkRaw), c.outer, uint32(0))
	}
	e := newEverything()
	f.Fuzz(func(t *testing.T, link uint32, data []byte, wireLen uint32) {
		b := newBatch(capture.LinkType(link), data, data)
		b.Frames[0].WireLen, b.Frames[1].WireLen = wireLen, wireLen
		b.Interfaces[0].Section = uint32(len(data)) & 1
		b.Sections = []capture.Section{{}, {BigEndian: true}}
		checkCommon(t, b, 0)
		if a, b := CapturePointOf(b, 0), CapturePointOf(b, 1); wireLen == uint32(len(data)) && a != b {
			t.Fatalf("seen at %+v and %+v", a, b)
		}
		h := make([]Header, 2)
		for _, d := range e.decoders {
			d.Decode(h, b, 0)
			checkHeader(t, h[0], len(data))
			if h[0] != h[1] {
				t.Fatalf("twice decoded: %+v and %+v", h[0], h[1])
			}
			for _, g := range e.identities {
				m := g.FromHeaders(b, 0, h)
				if !g.zeroCopy {
					checkLayout(t, m.buf, m.msgs)
				}
				if all := m.all(); all[0] != all[1] {
					t.Fatalf("a second call differs: %x", all)
				}
			}
			for i, keys := range e.keyer.FromHeaders(b, 0, h) {
				checkKeys(t, e.cfgs[i], keys)
			}
		}
		for range 7 { // kernels take eight frames at a time
			b.Frames = append(b.Frames, b.Frames[0])
		}
		for _, kind := range []IdentityKind{L3, Inner} {
			checkFromFrames(t, IdentityConfig{Kind: kind}, b, 0)
			checkKeyer(t, []KeyConfig{{Kind: Src}, {Kind: Biflow, VLAN: true}}, DecoderConfig{Inner: kind == Inner}, b, 0)
		}
	})
}

func checkKeys(t *testing.T, cfg KeyConfig, keys *Keys) {
	if len(keys.Addr4)+len(keys.V4) != len(keys.V4Frame) || len(keys.V6) != len(keys.V6Frame) || len(keys.MAC) != len(keys.MACFrame) {
		t.Fatalf("keys and frames differ in number: %+v", keys)
	}
	for _, key := range keys.V4 {
		cfg.Format16(key)
	}
	for _, key := range keys.V6 {
		cfg.Format48(key)
	}
	for _, key := range keys.MAC {
		cfg.Format16(key)
	}
}

// TestSteadyState checks that nothing is allocated once buffers have grown.
func TestSteadyState(t *testing.T) {
	var frames [][]byte
	for _, c := range tunnelCases {
		frames = append(frames, ether(typeIPv4, c.outer), ether(typeVLAN, join(be16(1), be16(typeIPv4), c.outer)))
	}
	b := newBatch(capture.LinkEthernet, frames...)
	h := make([]Header, len(frames))
	protocols := make([]Protocol, len(frames))
	ip := NewKeyer([]KeyConfig{{Kind: IP}, {Kind: Flow}}, DecoderConfig{}) // no hardware addresses
	e := newEverything()
	run := func() {
		ip.FromFrames(b, 0, len(h))
		e.keyer.FromFrames(b, 0, len(h))
		for _, d := range e.decoders {
			d.Decode(h, b, 0)
			for _, g := range e.identities {
				g.FromHeaders(b, 0, h)
				g.FromFrames(protocols, b, 0)
			}
			e.keyer.FromHeaders(b, 0, h)
		}
	}
	if n := testing.AllocsPerRun(10, run); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
