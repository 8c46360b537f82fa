package flow

import (
	"encoding/binary"

	"github.com/flowdedup/flowdedup/capture"
)

// Tunnel is what a packet travels in.
type Tunnel uint8

// The tunnels that identity Inner opens.
const (
	NoTunnel Tunnel = iota
	IPinIP
	GRE
	ERSPAN
	VXLAN
	GENEVE
	GTPU
	// tunnelKinds is how many kinds there are.
	tunnelKinds int = iota
)

var tunnelNames = [tunnelKinds]string{"none", "IP-in-IP", "GRE", "ERSPAN", "VXLAN", "GENEVE", "GTP-U"}

// String returns the name of the protocol.
func (t Tunnel) String() string { return nameOf(tunnelNames[:], uint8(t)) }

// tunnelOf returns the outermost tunnel of frame i of b that identity Inner opens.
func tunnelOf(b *capture.Batch, i int) Tunnel {
	var h Header
	decodeSlow(&h, b, i)
	outer, data := h, b.Data(i)
	openTunnels(&h, data, b.Frames[i].WireLen)
	if h.Flags&FlagInner == 0 {
		return NoTunnel
	}
	return outer.tunnel(data)
}

// tunnel names the tunnel that was opened behind h.
func (h *Header) tunnel(frame []byte) Tunnel {
	switch h.Proto {
	case protoIPv4, protoIPv6:
		return IPinIP
	case protoGRE:
		if t := binary.BigEndian.Uint16(frame[h.L4+2:]); t == typeERSPAN2 || t == typeERSPAN3 {
			return ERSPAN
		}
		return GRE
	}
	switch h.DstPort {
	case portGENEVE:
		return GENEVE
	case portGTPU:
		return GTPU
	}
	return VXLAN
}
