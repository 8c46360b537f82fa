// SPDX-License-Identifier: Apache-2.0

package keys

import (
	"fmt"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
)

// FuzzKeyer checks that no bytes under any link type lead to a panic, to keys without frames,
// or to other keys from frames than from headers.
func FuzzKeyer(f *testing.F) {
	addCases(f)
	cfgs := allKeys()
	keyer := NewKeyer(cfgs, headers.DecoderConfig{})
	f.Fuzz(func(t *testing.T, link uint32, data []byte, wireLen uint32) {
		b := twice(capture.LinkType(link), data, wireLen)
		for _, inner := range []bool{false, true} {
			for i, made := range keyer.FromHeaders(b, 0, decode(headers.NewDecoder(headers.DecoderConfig{Inner: inner}), b)) {
				checkKeys(t, cfgs[i], made)
			}
		}
		for range 7 { // kernels take eight frames at a time
			b.Frames = append(b.Frames, b.Frames[0])
		}
		for _, inner := range []bool{false, true} {
			checkKeyer(t, []Config{{Kind: Src}, {Kind: Biflow, VLAN: true}}, headers.DecoderConfig{Inner: inner}, b, 0)
			checkKeyer(t, []Config{{Kind: Src}, {Kind: Biflow}}, headers.DecoderConfig{Inner: inner}, b, 0)
		}
	})
}

func checkKeys(t *testing.T, cfg Config, made *Keys) {
	if len(made.Addr4)+len(made.V4) != len(made.V4Frame) || len(made.V6) != len(made.V6Frame) || len(made.MAC) != len(made.MACFrame) {
		t.Fatalf("keys and frames differ in number: %+v", made)
	}
	for _, key := range made.V4 {
		cfg.Format16(key)
	}
	for _, key := range made.V6 {
		cfg.Format48(key)
	}
	for _, key := range made.MAC {
		cfg.Format16(key)
	}
}

// TestKeyerSteadyState checks that nothing is allocated once buffers have grown.
func TestKeyerSteadyState(t *testing.T) {
	b := tunnelBatch()
	h := decode(headers.NewDecoder(headers.DecoderConfig{Inner: true}), b)
	ip := NewKeyer([]Config{{Kind: IP}, {Kind: Flow}}, headers.DecoderConfig{}) // no hardware addresses
	all := NewKeyer(allKeys(), headers.DecoderConfig{})
	if n := testing.AllocsPerRun(10, func() {
		ip.FromFrames(b, 0, len(h))
		all.FromFrames(b, 0, len(h))
		all.FromHeaders(b, 0, h)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkKeyer(b *testing.B) {
	for _, of := range []Kind{Src, Flow, Biflow, MACs} {
		b.Run("of="+of.String(), func(b *testing.B) {
			batch := benchBatch(64, false)
			h := make([]headers.Header, len(batch.Frames))
			headers.NewDecoder(headers.DecoderConfig{}).Decode(h, batch, 0)
			k := NewKeyer([]Config{{Kind: of}}, headers.DecoderConfig{})
			for b.Loop() {
				k.FromHeaders(batch, 0, h)
			}
			perPacket(b, len(h))
		})
	}
}

// BenchmarkKeyerFromFrames decodes packets and makes keys of three kinds.
func BenchmarkKeyerFromFrames(b *testing.B) {
	for _, ipv6 := range []bool{false, true} {
		b.Run(fmt.Sprintf("ipv6=%v", ipv6), func(b *testing.B) {
			batch := benchBatch(64, ipv6)
			k := NewKeyer([]Config{{Kind: Src}, {Kind: Dst}, {Kind: Flow}}, headers.DecoderConfig{})
			for b.Loop() {
				k.FromFrames(batch, 0, len(batch.Frames))
			}
			perPacket(b, len(batch.Frames))
		})
	}
}
