// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// TestPseudowires reads sessions with any cookie and sublayer: of sound packets, whatever their
// checksum, hardly any is read as something else, and of random data none is taken for a packet.
func TestPseudowires(t *testing.T) {
	const packets = 100_000
	r := rand.New(rand.NewPCG(41, 42))
	wrong, closed, invented := 0, 0, 0
	for i := range packets {
		inside := someDatagram(r, []byte{4, 6}[r.IntN(2)], r.IntN(len(sums)))
		before := randomBytes(r, []int{0, 4, 8}[r.IntN(3)])
		if r.IntN(2) == 0 {
			before = append(before, 0x40, 0, byte(i>>8), byte(i))
		}
		switch r.IntN(8) {
		case 0:
		case 1:
			before = append(before, join("\xff\x03", be16(map[byte]int{4: pppIPv4, 6: pppIPv6}[inside[0]>>4]))...)
		default:
			frame := ether(map[byte]int{4: iana.TypeIPv4, 6: iana.TypeIPv6}[inside[0]>>4], nil)
			copy(frame, randomBytes(r, 12))
			if r.IntN(4) == 0 {
				frame = vlan(frame)
			}
			before = append(before, frame...)
		}
		data := ip4(9, iana.ProtoL2TP, join("\x00\x00\x00\x4d", before, inside))
		at := len(data) - len(inside)
		h := decodeOne(DecoderConfig{Inner: true}, capture.LinkRaw, data)
		switch {
		case h.Flags&FlagInner == 0:
			closed++
		case int(h.Start) != at || h.Version != inside[0]>>4:
			wrong++
		}
		random := ip4(9, iana.ProtoL2TP, join("\x00\x00\x00\x4d", randomBytes(r, 20+r.IntN(300))))
		if h = decodeOne(DecoderConfig{Inner: true}, capture.LinkRaw, random); h.Flags&FlagInner != 0 {
			invented++
		}
	}
	t.Logf("of %d: %d wrong, %d closed; of random data %d opened", packets, wrong, closed, invented)
	if wrong > 20 || closed > 100 || invented > 3 {
		t.Errorf("of %d: %d wrong, %d closed; of random data %d opened", packets, wrong, closed, invented)
	}
}
