// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
)

// everyIdentity returns identities of each kind, with few and with many fields left out, cut
// and whole.
func everyIdentity() (all []*Identity) {
	for kind := range Kind(len(kindNames)) {
		for _, ignore := range []Ignore{IgnoreOnly(0), {}, IgnoreOnly(VLAN | MAC), IgnoreOnly(1<<len(fieldNames) - 1)} {
			for _, n := range []int{0, 7, 40} {
				all = append(all, New(Config{Kind: kind, Ignore: ignore, Bytes: n}))
			}
		}
	}
	return all
}

// FuzzIdentity checks that no bytes under any link type lead to a panic, to a message outside
// of its buffer, or to a different identity the second time.
func FuzzIdentity(f *testing.F) {
	addCases(f)
	identities := everyIdentity()
	f.Fuzz(func(t *testing.T, link uint32, data []byte, wireLen uint32) {
		b := twice(capture.LinkType(link), data, wireLen)
		for _, inner := range []bool{false, true} {
			h := decode(headers.NewDecoder(headers.DecoderConfig{Inner: inner}), b)
			for _, g := range identities {
				m := g.FromHeaders(b, 0, h)
				if all := m.all(); all[0] != all[1] {
					t.Fatalf("a second call differs: %x", all)
				}
			}
		}
		for range 7 { // kernels take eight frames at a time
			b.Frames = append(b.Frames, b.Frames[0])
		}
		for _, kind := range []Kind{L3, Inner} {
			for _, ignore := range []Ignore{{}, IgnoreAlso(L4Checksum | TCPSeq), IgnoreAlso(NAT | VLAN), IgnoreAlso(MSS), IgnoreAlso(TCPHeader | TCPSeq | IPOptions)} {
				checkFromFrames(t, Config{Kind: kind, Ignore: ignore}, b, 0)
			}
		}
		for _, g := range identities {
			checkCopies(t, g, b)
		}
	})
}

// TestIdentitySteadyState checks that nothing is allocated once buffers have grown.
func TestIdentitySteadyState(t *testing.T) {
	b := tunnelBatch()
	protocols := make([]headers.Protocol, len(b.Frames))
	all := everyIdentity()
	for _, inner := range []bool{false, true} {
		h := decode(headers.NewDecoder(headers.DecoderConfig{Inner: inner}), b)
		if n := testing.AllocsPerRun(10, func() {
			for _, g := range all {
				g.FromHeaders(b, 0, h)
				g.FromFrames(protocols, b, 0)
			}
		}); n != 0 {
			t.Errorf("%v allocations", n)
		}
	}
}

// TestFromFramesOfCaptures compares FromFrames with FromHeaders over all shared captures.
func TestFromFramesOfCaptures(t *testing.T) {
	eachCapture(t, func(b *capture.Batch) {
		for _, kind := range []Kind{L3, Inner} {
			for _, ignore := range []Ignore{{}, IgnoreAlso(L4Checksum | NAT | TCPSeq), IgnoreAlso(MSS), IgnoreAlso(TCPHeader)} {
				checkFromFrames(t, Config{Kind: kind, Ignore: ignore}, b, 0)
			}
		}
	})
}
