// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"fmt"
	"testing"
)

func BenchmarkDecode(b *testing.B) {
	for _, ipv6 := range []bool{false, true} {
		b.Run(fmt.Sprintf("ipv6=%v", ipv6), func(b *testing.B) {
			batch := benchBatch(80, ipv6)
			h := make([]Header, len(batch.Frames))
			d := NewDecoder(DecoderConfig{})
			for b.Loop() {
				d.Decode(h, batch, 0)
			}
			perPacket(b, len(h))
		})
	}
}
