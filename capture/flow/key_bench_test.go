// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"fmt"
	"testing"
)

func BenchmarkKeyer(b *testing.B) {
	for _, of := range []KeyKind{Src, Flow, Biflow, MACs} {
		b.Run("of="+of.String(), func(b *testing.B) {
			batch := benchBatch(64, false)
			h := make([]Header, len(batch.Frames))
			NewDecoder(DecoderConfig{}).Decode(h, batch, 0)
			k := NewKeyer([]KeyConfig{{Kind: of}}, DecoderConfig{})
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
			k := NewKeyer([]KeyConfig{{Kind: Src}, {Kind: Dst}, {Kind: Flow}}, DecoderConfig{})
			for b.Loop() {
				k.FromFrames(batch, 0, len(batch.Frames))
			}
			perPacket(b, len(batch.Frames))
		})
	}
}
