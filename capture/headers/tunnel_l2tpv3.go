// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"encoding/binary"

	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// L2TP of version 3 does not say what a session carries, nor how long its cookie is: both ends
// have agreed on that before (RFC 3931, sections 4.1 and 4.6). What follows decides.

// l2tpv3UDP reads the header of a data message over UDP (RFC 3931, section 4.1.2.1).
func (w *walk) l2tpv3UDP() step {
	const header = 4
	if w.left() < header || w.be16(2) != 0 {
		return stop
	}
	w.o += header
	return w.l2tpv3()
}

// l2tpv3 reads the header of a data message over IP (RFC 3931, section 4.1.1.1). Session 0 is for
// control messages.
func (w *walk) l2tpv3() step {
	const header = 4
	if w.left() < header {
		return stop
	}
	start, session := w.o, binary.BigEndian.Uint32(w.d[w.o:])
	if session == 0 {
		return stop
	}
	w.doubtful = false
	w.o += header
	s := w.pseudowire()
	if s == stop {
		return w.unknown(unopenedTunnel, uint32(LayerL2TPv3))
	}
	w.noteBehind(LayerL2TPv3, start, session)
	return s
}

// pseudowire goes to the frame or packet behind a cookie of 0, 4 or 8 bytes and perhaps a sublayer
// of 4 bytes, and returns how to read it: as that for which most speaks.
func (w *walk) pseudowire() step {
	const most, enough = 12, 2
	best, at, s := enough-1, 0, stop
	for n := 0; n <= most; n += 4 {
		o := w.o + n
		if o >= len(w.d) {
			break
		}
		left := w.wireLeft(o)
		for _, reading := range [...]struct {
			step
			weight int
		}{
			{atEther, frameWeight(w.d, o, left)}, {atIP, weigh(typeByVersion(w.d, o), w.d[o:], left)}, {atPPP, w.carriesIP(n)},
		} {
			if reading.weight > best {
				best, at, s = reading.weight, n, reading.step
			}
		}
	}
	w.o += at
	return s
}

// frameWeight is weigh for an Ethernet frame at offset o of d.
func frameWeight(d []byte, o int, left int64) int {
	typ, at := behindEthernet(d, o)
	if at > len(d) {
		return 0
	}
	if typ == iana.TypeARP && isARP(d[at:]) {
		return 3
	}
	return weigh(typ, d[at:], left-int64(at-o))
}

// weigh says how much speaks for a datagram of an ethertype that has left bytes on the wire: its
// lengths, its checksum or a usual header, and that it fills the place.
func weigh(typ uint16, ip []byte, left int64) (weight int) {
	length := int64(0)
	switch {
	case typ == iana.TypeIPv6 && len(ip) >= 40 && ip[0]>>4 == 6:
		length, weight = length6(ip), 1
		if isUsual6(ip) {
			weight = 2
		}
	case typ == iana.TypeIPv4:
		total, sum, ok := checkIPv4(ip)
		if length = total; !ok {
			return 0
		}
		weight = [...]int{sumWrong: 1, sumRight: 3, sumLeft: 2, sumUnknown: 1}[sum]
	}
	switch {
	case length > left:
		return 0
	case length == left:
		weight++
	}
	return weight
}
