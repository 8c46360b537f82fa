// SPDX-License-Identifier: Apache-2.0

package keys

import (
	"fmt"
	"testing"

	"github.com/flowdedup/flowdedup/capture/headers"
)

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
