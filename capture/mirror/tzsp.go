package mirror

import (
	"encoding/binary"
	"errors"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/flow"
)

// errControl says that a datagram is no copy of a packet.
var errControl = errors.New("no copy of a packet")

// Types of TZSP datagrams.
const (
	tzspReceived = 0
	tzspTransmit = 1 // a packet to be sent, from a program to a sensor
)

// tzspLinks are the link types of TZSP's encapsulated protocols.
var tzspLinks = map[uint16]capture.LinkType{
	1: capture.LinkEthernet, 18: capture.LinkIEEE80211, 119: capture.LinkPrism, 127: capture.LinkAVS,
}

// Tags of TZSP. All but the first two have a length.
const (
	tzspPad    = 0
	tzspEnd    = 1
	tzspLength = 41 // of the packet on the wire, 16 bits
)

// tzsp reads the header of the TaZmen Sniffer Protocol, as Wireshark's packet-tzsp.c and
// RouterOS have it: version, type, encapsulated protocol, then tagged fields.
func tzsp(d []byte) (in flow.Inside, err error) {
	const header, version = 4, 1
	if len(d) < header || d[0] != version {
		return in, flow.ErrTunnelHeader
	}
	if d[1] != tzspReceived && d[1] != tzspTransmit {
		return in, errControl // a keepalive, for instance
	}
	at, wire := header, 0
	for {
		if at == len(d) {
			return in, flow.ErrTunnelHeader
		}
		tag := d[at]
		at++
		if tag == tzspEnd {
			break
		}
		if tag == tzspPad {
			continue
		}
		if at == len(d) || at+1+int(d[at]) > len(d) {
			return in, flow.ErrTunnelHeader
		}
		value := d[at+1 : at+1+int(d[at])]
		if tag == tzspLength && len(value) == 2 {
			wire = int(binary.BigEndian.Uint16(value))
		}
		at += 1 + len(value)
	}
	link, known := tzspLinks[binary.BigEndian.Uint16(d[2:])]
	if !known || at == len(d) {
		return in, flow.ErrTunnelContent
	}
	return flow.Inside{At: at, Link: link, Wire: uint32(max(wire, len(d)-at))}, nil
}
