// SPDX-License-Identifier: Apache-2.0

package headers

// Tunnels between access points and their controllers carry frames of 802.3 or 802.11.

// capwap reads the header of a CAPWAP data message (RFC 5415, section 4.3): frames of 802.3, or
// as they are in the air. Optional fields fill exactly the length that the header states.
func (w *walk) capwap() step {
	const least, version0, encrypted = 8, 0, 1
	const native, fragment, wireless, radio, keepAlive = 0x01, 0x80, 0x20, 0x10, 0x08
	const wifi = 1 // a wireless binding
	w.doubt = ofAll
	switch {
	case w.left() < least:
		return stop
	case w.d[w.o] == encrypted && isDTLS(w.d[w.o+4:]):
		w.doubt = certain
		return w.unknown(unopenedDTLS, uint32(LayerCAPWAP))
	case w.d[w.o] != version0:
		return stop
	}
	d := w.d[w.o:]
	length, binding, flags := 4*int(d[1]>>3), d[2]>>1&0x1f, d[3]
	size := least
	for _, field := range [...]byte{radio, wireless} {
		if flags&field != 0 && size < len(d) {
			size += (1 + int(d[size]) + 3) &^ 3
		}
	}
	switch {
	case length != size || length > len(d):
		return stop
	case flags&keepAlive != 0:
		return w.control()
	}
	w.belief = 8 // zeros, and the length
	w.note(LayerCAPWAP, 0, length, 0)
	w.o += length
	switch {
	case flags&fragment != 0:
		w.doubt = certain
		return w.unknown(unopenedFragment, uint32(LayerCAPWAP))
	case d[2]&native == 0:
		return atEther
	case binding > wifi: // some controllers leave it at 0
		w.doubt = certain
		return w.unknown(unopenedTunnel, uint32(LayerCAPWAP))
	}
	return w.tunneledWiFi()
}

// isDTLS reports whether a record of DTLS begins (RFC 6347, section 4.1).
func isDTLS(d []byte) bool {
	return len(d) >= 3 && d[0] >= 20 && d[0] <= 25 && d[1] == 0xfe && d[2] >= 0xfd
}

// lwapp reads the header of an LWAPP message (RFC 5412, section 3.2), which ends with the
// datagram. Data messages carry frames as they are in the air.
func (w *walk) lwapp() step {
	const header, version, control, fragment = 6, 0xc0, 0x04, 0x02
	w.doubt = ofAll
	if w.left() < header {
		return stop
	}
	flags := w.d[w.o]
	switch {
	case flags&version != 0 || int64(w.o+header)+int64(w.be16(2)) != w.wireEnd():
		return stop
	case flags&control != 0:
		return w.control()
	}
	w.belief = 15 // the length
	w.note(LayerLWAPP, 0, header, 0)
	w.o += header
	if flags&fragment != 0 {
		w.doubt = certain
		return w.unknown(unopenedFragment, uint32(LayerLWAPP))
	}
	return w.tunneledWiFi()
}

// tunneledWiFi reads a frame of 802.11. Some access points send the two bytes of its frame control
// in the other order. Encrypted frames are believed by the header before them.
func (w *walk) tunneledWiFi() step {
	s := w.wifi(true)
	if w.unopened.Kind != 0 {
		w.doubt = certain
	}
	return s
}
