// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"encoding/binary"
	"slices"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/enum"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// TunnelSample measures which tunnels packets travel in, from a sample at equal distances:
// every packet at first, every second one once the sample is full, and so on. The sample
// depends only on the stream. Each time the stream doubles, some two thousand more packets are
// decoded. The zero value is ready for use.
type TunnelSample struct {
	kinds [4096]Tunnel
	n     int
	shift uint   // log2 of the distance
	seen  uint64 // packets
	// Ports are the UDP ports of tunnels; nil are the usual ones.
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
	var counts [tunnelKinds]int
	for _, k := range s.kinds[:s.n] {
		counts[k]++
	}
	if s.n == 0 || counts[noTunnel] == s.n {
		return 0, nil
	}
	for k := noTunnel + 1; int(k) < tunnelKinds; k++ {
		if counts[k] > 0 {
			kinds = append(kinds, k)
		}
	}
	slices.SortStableFunc(kinds, func(a, b Tunnel) int { return counts[b] - counts[a] })
	return 1 - float64(counts[noTunnel])/float64(s.n), kinds
}

// Tunnel is a kind of tunnel that a packet travels in.
type Tunnel uint8

// The tunnels that identity Inner opens.
const (
	noTunnel Tunnel = iota
	tunnelIPinIP
	tunnelGRE
	tunnelERSPAN
	tunnelVXLAN
	tunnelGENEVE
	tunnelGTPU
	tunnelL2TP
	tunnelLISP
	tunnelMPLSinIP
	tunnelEthernetInIP
	tunnelEtherIP
	tunnelEoIP
	tunnelTZSP
	tunnelJMirror
	tunnelL2TPv3
	tunnelCAPWAP
	tunnelLWAPP
	tunnelTeredo
	tunnelGUE
	tunnelSkip
	// tunnelKinds is how many kinds there are.
	tunnelKinds int = iota
)

var tunnelNames = [tunnelKinds]string{
	"none", "IP-in-IP", "GRE", "ERSPAN", "VXLAN", "GENEVE", "GTP-U",
	"L2TP", "LISP", "MPLS-in-IP", "Ethernet-in-IP", "EtherIP", "EoIP", "TZSP", "jmirror",
	"L2TPv3", "CAPWAP", "LWAPP", "Teredo", "GUE", "--tunnel",
}

// String returns the name of the protocol.
func (t Tunnel) String() string { return enum.Name(tunnelNames[:], t) }

// tunnelOf returns the outermost tunnel of frame i of b, if identity Inner opens it.
func (t *Tunnels) tunnelOf(b *capture.Batch, i int) Tunnel {
	var h Header
	decodeSlow(&h, b, i)
	outer, data := h, b.Data(i)
	t.open(&h, data, b.Frames[i].WireLen, nil)
	if h.Flags&FlagInner == 0 {
		return noTunnel
	}
	return t.tunnel(&outer, data)
}

// tunnelsByKind has the tunnels that the protocol and the ports of a header announce.
var tunnelsByKind = [layerKinds]Tunnel{
	LayerIPinIP: tunnelIPinIP, LayerGRE: tunnelGRE, LayerVXLAN: tunnelVXLAN, LayerGENEVE: tunnelGENEVE,
	LayerGTPU: tunnelGTPU, LayerL2TP: tunnelL2TP, LayerLISP: tunnelLISP, LayerMPLSinIP: tunnelMPLSinIP,
	LayerEthernetInIP: tunnelEthernetInIP, LayerEtherIP: tunnelEtherIP, LayerTZSP: tunnelTZSP,
	LayerJMirror: tunnelJMirror, LayerL2TPv3: tunnelL2TPv3, LayerCAPWAP: tunnelCAPWAP, LayerLWAPP: tunnelLWAPP, LayerTeredo: tunnelTeredo,
	LayerGUE: tunnelGUE, LayerSkip: tunnelSkip,
}

// tunnel returns the kind of the tunnel that was opened behind h.
func (t *Tunnels) tunnel(h *Header, frame []byte) Tunnel {
	if h.Proto == iana.ProtoGRE {
		switch binary.BigEndian.Uint16(frame[h.L4+2:]) {
		case iana.TypeERSPAN2, iana.TypeERSPAN3:
			return tunnelERSPAN
		case iana.TypeEoIP:
			return tunnelEoIP
		}
	}
	return tunnelsByKind[t.announced(h).kind]
}
