// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/dedup"
	"github.com/flowdedup/flowdedup/capture/internal/frametest"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// TestAnonymous has truncated packets, each twice with a different time to live, as anonymizers leave
// them: header checksums are wrong, also in other ways for the copy, and there are none above. Only
// identifications number them, if all lengths are right.
func TestAnonymous(t *testing.T) {
	const packets = 100
	for _, c := range []struct {
		name   string
		proto  int
		change func(ip []byte)
		want   int // copies
	}{
		{"UDP", iana.ProtoUDP, func([]byte) {}, packets},
		{"ICMP", iana.ProtoICMP, func([]byte) {}, packets},
		{"ESP", iana.ProtoESP, func([]byte) {}, packets},
		{"fragments", iana.ProtoUDP, func(ip []byte) { ip[6] = 0x20 }, packets},
		{"later fragments", iana.ProtoUDP, func(ip []byte) { ip[7] = 50 }, packets},
		{"no identification", iana.ProtoUDP, func(ip []byte) { copy(ip[4:], "\x00\x00") }, 0},
		{"longer than the frame", iana.ProtoUDP, func(ip []byte) { ip[2]++ }, 0},
		{"shorter than the frame", iana.ProtoUDP, func(ip []byte) { ip[3] -= 11 }, 0},
		{"another length of UDP", iana.ProtoUDP, func(ip []byte) { ip[25]++ }, 0},
	} {
		for link, before := range map[capture.LinkType][]byte{
			capture.LinkEthernet: frametest.Ether4(nil), capture.LinkRaw: nil, capture.LinkLinuxSLL2: frametest.SLL2(1, 0, frametest.MAC(2), iana.TypeIPv4, nil),
		} {
			r, b := rand.New(rand.NewPCG(1, 2)), &capture.Batch{}
			at := b.AppendInterface(capture.Interface{LinkType: link})
			for i := range 2 * packets {
				payload := make([]byte, 200) // with 8 bytes in which only UDP has a length
				copy(payload, frametest.UDPSum(53, 0, payload[8:]))
				ip := frametest.IP4(byte(7), c.proto, payload)
				copy(ip[4:], frametest.BE16(1000+i/2))
				ip[8] -= byte(i % 2)
				copy(ip[10:], frametest.BE16(1+r.IntN(0xffff)))
				c.change(ip)
				frame := frametest.Join(before, ip)
				b.Append(capture.Frame{Interface: at, Time: 1e18 + int64(i)*1000, WireLen: uint32(len(frame))}, frame[:len(before)+50])
			}
			if f := find(t, dedup.Config{}, b); int(f.copies) != c.want || c.want == 0 && f.undecidable != 2*packets {
				t.Errorf("%s, %v: %d copies, want %d; %d undecidable", c.name, link, f.copies, c.want, f.undecidable)
			}
		}
	}
}
