// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"encoding/binary"
	"errors"
	"strconv"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// Inside is the packet that a tunnel carries.
type Inside struct {
	Kind LayerKind        // of the tunnel
	ID   uint32           // as in Layer
	At   int              // where the frame begins in the payload
	Link capture.LinkType // the first header of the frame
	// Wire is the length of the frame on the wire. It exceeds the captured length if the
	// datagram in the frame states more.
	Wire uint32
}

// Why a tunnel has no frame; test with errors.Is.
var (
	ErrTunnelHeader  = errors.New("cut short, or no header of the tunnel")
	ErrTunnelContent = errors.New("carries no valid frame")
	ErrTunnelControl = errors.New("carries no packet by its type")
)

// Decapsulator reads headers of tunnels. The zero value is ready. Only one goroutine may use
// it.
type Decapsulator struct {
	walk  walk
	head  Header
	notes notes
	first [4]Layer
}

// Read reads the header at the beginning of a payload: for LayerVXLAN and LayerGENEVE the
// payload of a UDP datagram, for LayerGRE of an IP datagram. LayerGRE includes LayerERSPAN,
// LayerNVGRE and LayerPPTP. Whoever names a port has said what comes there, so any packet is valid. It takes time linear in the number of headers of the frame inside,
// and allocates nothing.
func (d *Decapsulator) Read(kind LayerKind, payload []byte) (in Inside, err error) {
	d.head, d.notes.list = Header{}, d.first[:0]
	d.walk = walk{d: payload, h: &d.head, frame: -1, notes: &d.notes}
	w := &d.walk
	s := stop
	switch kind {
	case LayerVXLAN:
		s = w.vxlan()
	case LayerGENEVE:
		s = w.geneve()
	case LayerGRE:
		s, _ = w.gre()
	}
	if w.unopened.Kind == unopenedControl {
		return in, ErrTunnelControl
	}
	if len(d.notes.list) == 0 || w.o > len(payload) {
		return in, ErrTunnelHeader
	}
	in = Inside{Kind: d.notes.list[0].Kind, ID: d.notes.list[0].ID, At: w.o}
	in.Link = w.linkAt(s)
	if in.Link == 0 || in.At == len(payload) {
		return in, ErrTunnelContent
	}
	w.notes = nil
	w.run(s)
	end := uint64(len(payload))
	if d.head.Version != 0 {
		if wire := d.head.WireEnd(payload); wire > end && wire <= uint64(len(payload))+1<<16 {
			end = wire
		}
	}
	in.Wire = uint32(end - uint64(in.At))
	return in, nil
}

// linkAt returns the link type for a step, 0 if there is none.
func (w *walk) linkAt(s step) capture.LinkType {
	switch s {
	case atEther:
		return capture.LinkEthernet
	case atIP, atIP4, atIP6:
		return capture.LinkRaw
	case atPPP:
		return capture.LinkPPP
	case atMPLS:
		return capture.LinkMPLS
	case atType:
		switch w.typ {
		case iana.TypeBridging:
			return capture.LinkEthernet
		case iana.TypeIPv4, iana.TypeIPv6:
			return capture.LinkRaw
		case iana.TypeMPLS, iana.TypeMPLSUp:
			return capture.LinkMPLS
		}
	}
	return 0
}

// TunnelName names a tunnel by its protocol and, if it has a number, its number.
func TunnelName(kind LayerKind, id uint32) string {
	switch {
	case kind == 0:
		return "tunnel"
	case id == 0 && !kind.HasID(), id == 0 && (kind == LayerGRE || kind == LayerERSPAN || kind == LayerEtherIP):
		return kind.String() // without a number: without a key, and ERSPAN of type I
	}
	return kind.String() + ":" + strconv.FormatUint(uint64(id), 10)
}

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
