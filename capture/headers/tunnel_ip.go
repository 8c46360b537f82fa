// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"encoding/binary"

	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// authenticated reads the authentication header at the start of d (RFC 4302, section 2).
// It returns the protocol behind it and its length.
func authenticated(d []byte) (next uint8, length int) {
	if len(d) < 2 {
		return iana.ProtoNoNext, 0
	}
	return d[0], 4 * (2 + int(d[1]))
}

// etherIP reads an EtherIP header (RFC 3378, section 3). MikroTik's EoIP over IPv6 has the
// number of the tunnel in the reserved bits.
func (w *walk) etherIP() step {
	const header, version = 2, 3
	if w.left() < header || w.d[w.o]>>4 != version {
		return stop
	}
	w.note(LayerEtherIP, 0, header, uint32(w.be16(0)&0xfff))
	return w.goTo(header, atEther)
}

// eoip reads the GRE header of MikroTik's EoIP. As in PPTP, the upper half of the key is
// the length of the payload. The lower half is the number of the tunnel, and
// little-endian: see eoip.h of github.com/bbonev/eoip, or gre.c of tcpdump, which names
// the type.
func (w *walk) eoip(flags uint16) (s step, length int) {
	const header = 8
	if flags != greKey|1 || w.left() < header {
		return stop, -1
	}
	length = header + int(w.be16(4))
	w.note(LayerEoIP, 0, header, uint32(binary.LittleEndian.Uint16(w.d[w.o+6:])))
	return w.goTo(header, atEther), length
}

// redirected skips the redirect header of WCCP version 2, which lies between GRE and IP
// (draft-mclaggan-wccp-v2rev1, section 4.12.3). Version 1 has none. The first byte of
// the header has nothing but two flags, so it is no start of an IPv4 header.
func (w *walk) redirected() {
	const header = 4
	if w.left() > 0 && (w.d[w.o]>>4 != 4 || w.d[w.o]&15 < 5) {
		w.o += header
	}
}

// isARP reports whether d begins as ARP for IPv4 on Ethernet does (RFC 826).
func isARP(d []byte) bool {
	return len(d) >= 8 && binary.BigEndian.Uint64(d)>>16 == 0x0001_0800_0604
}
