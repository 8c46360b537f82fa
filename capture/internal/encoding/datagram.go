// SPDX-License-Identifier: Apache-2.0

package encoding

import (
	"encoding/binary"
	"math"
	"net/netip"
)

// Sizes of the headers that AppendDatagram makes.
const (
	headIPv4 = 20
	headIPv6 = 40
	headUDP  = 8
)

// AppendDatagram appends a UDP datagram with an IP header in front, as its receiver saw it.
// It has no checksums, and goes to the unspecified address, which also stands for a sender without an
// address. A payload that is too long for a datagram has a length of 0 before
// it, as jumbograms do (RFC 2675).
func AppendDatagram(p []byte, from netip.AddrPort, payload []byte) []byte {
	const udp, hops = 17, 64
	size := func(head int) uint16 {
		if n := head + len(payload); n <= math.MaxUint16 {
			return uint16(n)
		}
		return 0
	}
	if addr := from.Addr(); addr.Is6() {
		var ip [headIPv6]byte
		ip[0], ip[6], ip[7] = 6<<4, udp, hops
		binary.BigEndian.PutUint16(ip[4:], size(headUDP))
		a := addr.As16()
		copy(ip[8:], a[:])
		p = append(p, ip[:]...)
	} else {
		var ip [headIPv4]byte
		ip[0], ip[8], ip[9] = 4<<4|headIPv4/4, hops, udp
		binary.BigEndian.PutUint16(ip[2:], size(headIPv4+headUDP))
		if addr.IsValid() {
			a := addr.As4()
			copy(ip[12:], a[:])
		}
		p = append(p, ip[:]...)
	}
	var head [headUDP]byte
	binary.BigEndian.PutUint16(head[0:], from.Port())
	binary.BigEndian.PutUint16(head[4:], size(headUDP))
	return append(append(p, head[:]...), payload...)
}
