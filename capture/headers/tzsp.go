// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"encoding/binary"

	"github.com/flowdedup/flowdedup/capture"
)

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

// ReadTZSP reads the header of the TaZmen Sniffer Protocol at the beginning of the payload of
// a UDP datagram, as Wireshark's packet-tzsp.c and RouterOS have it: version, type,
// encapsulated protocol, then tagged fields. Its errors are the errors of [Decapsulator.Read], and
// ErrTunnelControl. It takes time linear in the length of the header, and allocates nothing.
func ReadTZSP(d []byte) (in Inside, err error) {
	const header, version = 4, 1
	if len(d) < header || d[0] != version {
		return in, ErrTunnelHeader
	}
	if d[1] != tzspReceived && d[1] != tzspTransmit {
		return in, ErrTunnelControl // a keepalive, for instance
	}
	at, wire := header, 0
	for {
		if at == len(d) {
			return in, ErrTunnelHeader
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
			return in, ErrTunnelHeader
		}
		value := d[at+1 : at+1+int(d[at])]
		if tag == tzspLength && len(value) == 2 {
			wire = int(binary.BigEndian.Uint16(value))
		}
		at += 1 + len(value)
	}
	link, known := tzspLinks[binary.BigEndian.Uint16(d[2:])]
	if !known || at == len(d) {
		return in, ErrTunnelContent
	}
	return Inside{At: at, Link: link, Wire: uint32(max(wire, len(d)-at))}, nil
}
