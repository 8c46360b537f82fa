// SPDX-License-Identifier: Apache-2.0

package flow

import "encoding/binary"

// plausible reports whether a walk has found a packet that fits its place. The identifier
// of a tunnel may stand in other traffic by chance: a port by which it is recognized may
// be that of any program. So the packet must be IP of a length that the tunnel has room
// for, with the right checksum if it has one, or ARP. The tunnel ends at end on the wire.
func (w *walk) plausible(end uint64) bool {
	ends := uint64(0)
	if w.h.Version != 0 {
		ends = w.h.wireEnd(w.d)
	}
	switch w.h.Version {
	case 4:
		header := w.d[w.h.Start:w.h.End]
		length := 4 * int(header[0]&15)
		return ends <= end && length <= len(header) && headerSum(header[:length]) == 0xffff
	case 6:
		return ends == end || w.frame >= 0 && ends < end
	}
	return w.frame >= 0 && w.typ == typeARP && isARP(w.d[min(w.nonIP.body, len(w.d)):])
}

// isARP reports whether d begins as ARP for IPv4 on Ethernet does (RFC 826).
func isARP(d []byte) bool {
	return len(d) >= 8 && binary.BigEndian.Uint64(d)>>16 == 0x0001_0800_0604
}
