// SPDX-License-Identifier: Apache-2.0

package traits

import (
	"encoding/binary"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
)

// pairFrame is an Ethernet frame of UDP in IPv4.
func pairFrame(src, dst byte, fragment, srcPort, dstPort uint16, data []byte) []byte {
	f := append([]byte("\x02\x00\x00\x00\x00\x02\x02\x00\x00\x00\x00\x01"), 8, 0, 0x45, 0)
	f = binary.BigEndian.AppendUint16(f, uint16(28+len(data)))
	f = binary.BigEndian.AppendUint16(f, 7)
	f = append(binary.BigEndian.AppendUint16(f, fragment), 64, 17, 0, 0, 10, 0, 0, src, 10, 0, 0, dst)
	f = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(f, srcPort), dstPort)
	f = binary.BigEndian.AppendUint16(f, uint16(8+len(data)))
	return append(append(f, 0, 0), data...)
}

// TestPairs gives the same hash to both directions, other ports, fragments and what a tunnel carries,
// and a different hash to other hosts.
func TestPairs(t *testing.T) {
	plain := pairFrame(1, 2, 0, 1000, 53, make([]byte, 32))
	vxlan := func(inner []byte) []byte {
		return pairFrame(8, 9, 0, 40000, 4789, append([]byte{8, 0, 0, 0, 0, 0, 5, 0}, inner...))
	}
	b := &capture.Batch{}
	at := b.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet})
	for _, f := range [][]byte{
		plain,
		pairFrame(2, 1, 0, 53, 1000, make([]byte, 32)),
		pairFrame(1, 2, 0, 5, 6, make([]byte, 32)),
		pairFrame(1, 2, 0x2000, 1000, 53, make([]byte, 32)),
		pairFrame(1, 2, 5, 0x1212, 0x3434, make([]byte, 32)),
		vxlan(plain),
		pairFrame(8, 9, 0, 1000, 53, make([]byte, 32)), // from here on others
		pairFrame(8, 9, 0x2000, 40000, 4789, append([]byte{8, 0, 0, 0, 0, 0, 5, 0}, plain...)),
		pairFrame(9, 8, 9, 0, 0, make([]byte, 64)),
		make([]byte, 60),
	} {
		b.Append(capture.Frame{Interface: at, WireLen: uint32(len(f))}, f)
	}
	got := append([]uint64(nil), NewPairReader(nil).Read(b)...)
	for i, want := range []int{0, 0, 0, 0, 0, 0, 6, 6, 6, 9} {
		if got[i] != got[want] {
			t.Errorf("frame %d has %x, and not %x", i, got[i], got[want])
		}
	}
	if got[0] == got[6] || got[9] != 0 {
		t.Errorf("%x", got)
	}
}
