// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"encoding/binary"
	"slices"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// TunnelSample measures which tunnels packets travel in, from a sample at equal distances:
// every packet at first, every second packet once the sample is full, and so on. The sample
// depends only on the stream. Each time the stream doubles, some two thousand more packets are
// decoded. The zero value is ready for use.
type TunnelSample struct {
	kinds [4096]Tunnel
	n     int
	shift uint   // log2 of the distance
	seen  uint64 // packets
	// Ports are the UDP ports of tunnels; nil stands for the usual ports.
	Ports *Tunnels
}

// Add samples the next packets of the stream.
func (s *TunnelSample) Add(b *capture.Batch) {
	end := s.seen + uint64(len(b.Frames))
	for {
		at := uint64(s.n) << s.shift
		if at >= end {
			break
		}
		if s.n == len(s.kinds) {
			s.halve()
		}
		s.kinds[s.n] = s.Ports.or().tunnelOf(b, int(at-s.seen))
		s.n++
	}
	s.seen = end
}

// halve drops every second packet of the sample.
func (s *TunnelSample) halve() {
	s.n /= 2
	for i := range s.n {
		s.kinds[i] = s.kinds[2*i]
	}
	s.shift++
}

// Share returns the share of packets that travel in tunnels, from 0 to 1, and the kinds
// of these tunnels, the most frequent first.
func (s *TunnelSample) Share() (share float64, kinds []Tunnel) {
	var counts [layerKinds]int
	for _, k := range s.kinds[:s.n] {
		counts[k]++
	}
	if s.n == 0 || counts[0] == s.n {
		return 0, nil
	}
	for k, n := range counts {
		if k > 0 && n > 0 {
			kinds = append(kinds, Tunnel(k))
		}
	}
	slices.SortStableFunc(kinds, func(a, b Tunnel) int { return counts[b] - counts[a] })
	return 1 - float64(counts[0])/float64(s.n), kinds
}

// Tunnel is a kind of tunnel that a packet travels in: a LayerKind, 0 for none.
type Tunnel LayerKind

// tunnelNames are the names that people read, of the tunnels that identity Inner opens.
var tunnelNames = [layerKinds]string{
	LayerIPinIP: "IP-in-IP", LayerGRE: "GRE", LayerERSPAN: "ERSPAN", LayerVXLAN: "VXLAN", LayerGENEVE: "GENEVE", LayerGTPU: "GTP-U",
	LayerL2TP: "L2TP", LayerLISP: "LISP", LayerMPLSinIP: "MPLS-in-IP", LayerEthernetInIP: "Ethernet-in-IP", LayerEtherIP: "EtherIP",
	LayerEoIP: "EoIP", LayerTZSP: "TZSP", LayerJMirror: "jmirror", LayerL2TPv3: "L2TPv3", LayerCAPWAP: "CAPWAP", LayerLWAPP: "LWAPP",
	LayerTeredo: "Teredo", LayerGUE: "GUE", LayerSkip: "--tunnel",
}

// String returns the name of the protocol.
func (t Tunnel) String() string { return tunnelNames[t] }

// tunnelOf returns the outermost tunnel of frame i of b, if identity Inner opens it.
func (t *Tunnels) tunnelOf(b *capture.Batch, i int) Tunnel {
	var h Header
	decodeSlow(&h, b, i)
	outer, data := h, b.Data(i)
	t.open(&h, data, b.Frames[i].WireLen, nil)
	if h.Flags&FlagInner == 0 {
		return 0
	}
	return t.tunnel(&outer, data)
}

// tunnel returns the kind of the tunnel that was opened behind h.
func (t *Tunnels) tunnel(h *Header, frame []byte) Tunnel {
	if h.Proto == iana.ProtoGRE {
		switch binary.BigEndian.Uint16(frame[h.L4+2:]) {
		case iana.TypeERSPAN2, iana.TypeERSPAN3:
			return Tunnel(LayerERSPAN)
		case iana.TypeEoIP:
			return Tunnel(LayerEoIP)
		}
	}
	return Tunnel(t.announced(h).kind)
}
