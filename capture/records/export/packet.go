package export

import (
	"encoding/binary"
	"net/netip"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/flow"
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
	switch {
	case h.Flags&flow.FlagFragment != 0 && h.Proto == udp:
		r.counts.Fragments++
		return false
	case h.Proto != udp || h.L4 == 0 || h.L4+headUDP > h.End:
		r.counts.Foreign++
		return false
	}
	frame := r.batch.Data(i)
	head := frame[h.L4:h.End]
	size := len(head)
	if n := int(binary.BigEndian.Uint16(head[4:])); n >= headUDP {
		size = min(size, n)
	}
	from, _, _ := addresses(frame[h.Start:h.End], h.Version)
	if !from.IsUnspecified() {
		m.from = netip.AddrPortFrom(from, h.SrcPort)
	}
	if f.Time != capture.NoTime {
		m.received = f.Time
	}
	m.input = uint32(r.batch.Sections[r.batch.Interfaces[f.Interface].Section].Input)
	m.data = head[headUDP:size:size]
	if !m.parse() {
		r.counts.Foreign++
		return false
	}
	return true
}
