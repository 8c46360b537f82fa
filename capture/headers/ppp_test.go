// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
)

// TestMultilink reads whole packets of PPP multilink with long and short numbers, and protocols that
// are compressed or not.
func TestMultilink(t *testing.T) {
	const packets = 100_000
	r := rand.New(rand.NewPCG(43, 44))
	wrong := 0
	for range packets {
		inside := someDatagram(r, []byte{4, 6}[r.IntN(2)], r.IntN(len(sums)))
		header := []byte{0xc0 | byte(r.IntN(16)), byte(r.Uint32())}
		if r.IntN(2) == 0 {
			header = join("\xc0", randomBytes(r, 3))
		}
		protocol := map[byte]byte{4: pppIPv4, 6: pppIPv6}[inside[0]>>4]
		if r.IntN(2) == 0 {
			header = append(header, 0)
		}
		data := join("\xff\x03\x00\x3d", header, []byte{protocol}, inside)
		if h := decodeOne(DecoderConfig{}, capture.LinkPPP, data); int(h.Start) != len(data)-len(inside) || h.Version != inside[0]>>4 {
			wrong++
		}
	}
	t.Logf("%d of %d wrong", wrong, packets)
	if wrong > 10 {
		t.Errorf("%d of %d wrong", wrong, packets)
	}
}
