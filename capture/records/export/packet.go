// SPDX-License-Identifier: Apache-2.0

package export

import (
	"encoding/binary"
	"net/netip"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
)

const (
	udp     = 17
	headUDP = 8
)

// addresses returns the addresses of an IP header, and its type of service.
func addresses(ip []byte, version uint8) (source, destination netip.Addr, tos uint8) {
	switch {
	case version == 4 && len(ip) >= 20:
		return netip.AddrFrom4([4]byte(ip[12:])), netip.AddrFrom4([4]byte(ip[16:])), ip[1]
	case version == 6 && len(ip) >= 40:
		return netip.AddrFrom16([16]byte(ip[8:])).Unmap(), netip.AddrFrom16([16]byte(ip[24:])).Unmap(),
			uint8(binary.BigEndian.Uint16(ip) >> 4)
	}
	return source, destination, 0
}

// open finds the message of frame i. It counts frames that have none.
func (r *Reader) open(m *message, i int) bool {
	f, h := &r.batch.Frames[i], &r.heads[i]
	if f.Time != capture.NoTime {
		m.received = f.Time
	}
	if h.Proto != udp || h.Version == 0 {
		r.counts.Foreign++
		return false
	}
	ip := r.batch.Data(i)[h.Start:h.End]
	fragment := h.Flags&headers.FlagFragment != 0 && (h.L4 == 0 || !isCut(ip, h.Version))
	var datagram []byte
	switch {
	case fragment:
		if datagram = r.fragments.Add(ip, max(m.received, r.now)); datagram == nil {
			return false
		}
	case h.L4 != 0:
		datagram = ip[h.L4-h.Start:]
	}
	m.input = uint32(r.batch.Sections[r.batch.Interfaces[f.Interface].Section].Input)
	if from, _, _ := addresses(ip, h.Version); !r.openDatagram(m, datagram, from) {
		r.counts.Foreign++
		return false
	}
	if fragment {
		r.fragments.Want()
	}
	return true
}

// openDatagram finds the message of a UDP datagram.
func (r *Reader) openDatagram(m *message, datagram []byte, from netip.Addr) bool {
	if len(datagram) < headUDP {
		return false
	}
	if from.IsValid() && !from.IsUnspecified() {
		m.from = netip.AddrPortFrom(from, binary.BigEndian.Uint16(datagram))
	}
	size := len(datagram)
	if n := int(binary.BigEndian.Uint16(datagram[4:])); n >= headUDP {
		size, m.cut = min(size, n), n > size
	}
	m.data = datagram[headUDP:size:size]
	return m.parse()
}

// isCut reports whether an IP packet was not captured whole.
func isCut(ip []byte, version uint8) bool {
	if version == 4 {
		return int(binary.BigEndian.Uint16(ip[2:])) > len(ip)
	}
	return 40+int(binary.BigEndian.Uint16(ip[4:])) > len(ip)
}
