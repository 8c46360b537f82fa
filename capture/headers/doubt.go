// SPDX-License-Identifier: Apache-2.0

package headers

import "github.com/flowdedup/flowdedup/capture/internal/iana"

// doubt says which packets in a tunnel are weighed before they are believed. Any program may use
// the port by which a tunnel is recognized, and encrypted data look like anything.
type doubt uint8

const (
	certain  doubt = iota
	ofFrames       // frames without IP; the type of a frame that leads to IP is enough
	ofAll
)

// believed reports whether the header of a tunnel and the packet that a walk has found in it
// weigh enough.
func (w *walk) believed() bool {
	if w.doubt == certain || w.doubt == ofFrames && w.h.Version != 0 {
		return true
	}
	inside, ip, start, end := weight(0), 0, int(w.h.Start), int64(w.end)
	if w.frame >= 0 {
		inside, ip = weighFrame(w.d, w.frame, end)
	}
	switch {
	case w.h.Version == 0 || ip == start:
	case w.frame < 0:
		inside = weighIP(w.d[start:], end-int64(start))
	default: // other headers than tags lie between
		inside += weighIP(w.d[start:], end-int64(start))
	}
	return weight(w.belief)+inside >= leastInTunnel
}

// close marks that the tunnel behind h stays closed, and returns why, if that counts: not if it
// carries no packet, as messages of control, nor if it was cut before its content.
func (h *Header) close(kind LayerKind, d []byte, w *walk, disbelieved bool) Unopened {
	what := w.unopened
	switch {
	case what.Kind == unopenedControl:
		return Unopened{}
	case disbelieved || w.noIP:
		what = Unopened{uint32(kindBehind(kind, h, d)), unopenedTunnel}
	case what.Kind == 0:
		return Unopened{}
	}
	h.Flags |= FlagClosed
	return what
}

// believeVXLAN weighs a VXLAN header by its flags and reserved bits (RFC 7348, section 5), and the
// fields of group policies (draft-smith-vxlan-group-policy). Zeros without the bit of the
// identifier say little.
func (w *walk) believeVXLAN() {
	const validID, policy = 0x08, 0x80
	d := w.d[w.o:]
	reserved, last := d[1]|d[2]|d[3], d[7]
	belief := weight(0)
	switch d[0] {
	case validID:
		belief = 8 + choose(reserved == 0, 22, -2)
	case validID | policy:
		belief = 3 + choose(d[1]&^0x48 == 0, 5, -2)
	case 0:
		belief = choose(reserved == 0, 8, -2)
	default:
		belief = -2 + choose(reserved == 0, 22, -2)
	}
	belief += choose(last != 0, -2, choose(d[0] == 0, 4, 7))
	w.belief, w.doubt = int8(belief), ofFrames
	if d[0]&validID == 0 {
		w.doubt = ofAll
	}
}

// believeGPE weighs a header of VXLAN-GPE with a protocol field (draft-ietf-nvo3-vxlan-gpe,
// section 3).
func (w *walk) believeGPE() {
	const validID, hasProtocol, protocols = 0x08, 0x04, 5
	d := w.d[w.o:]
	belief := choose(d[0] == validID|hasProtocol, 6, -2) + choose(d[1]|d[2] == 0, 14, -2)
	belief += choose(d[3]-1 < protocols, 4, -4) + choose(d[7] == 0, 7, -2)
	w.belief, w.doubt = int8(belief), ofAll
}

// believeGENEVE weighs a header of GENEVE by its reserved bits and options (RFC 8926, section 3.4).
func (w *walk) believeGENEVE() {
	d := w.d[w.o:]
	belief := 3 + choose(w.typ == iana.TypeBridging, 13, 0) + choose(d[0] == 0, 5, 0)
	belief += choose(d[1]&0x3f == 0, 6, -4) + choose(d[7] == 0, 7, -4)
	w.belief, w.doubt = int8(belief), ofFrames
}
