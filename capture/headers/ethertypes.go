// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// plainType reports whether an ethertype announces a protocol that is known to carry no IP
// (IEEE registration authority; IANA, "IEEE 802 Numbers"). Types of cooked captures that are no
// ethertypes count as such.
func plainType(t uint16) bool {
	switch t {
	case iana.TypeARP, iana.TypeRARP, 0x0842, // Wake-on-LAN
		0x22ea, 0x22f0, 0x22f4, 0x88f5, 0x88f6, // MSRP, AVTP, IS-IS of TRILL, MVRP, MMRP
		0x6000, 0x6001, 0x6002, 0x6003, 0x6004, 0x6005, 0x6006, 0x6007, // DEC
		0x809b, 0x80f3, 0x8137, 0x8138, 0x8191, // AppleTalk, AARP, IPX, NetBIOS
		0x8808, 0x8809, 0x8863, 0x888e, 0x88c7, // flow control, LACP, PPPoE discovery, EAPOL
		0x887b, 0x88e1, 0x8912, 0x893a, // HomePlug, IEEE 1905.1
		0x8892, 0x88a4, 0x88ab, 0x88cd, 0x88b8, 0x88b9, 0x88ba, 0x88e3, // industrial Ethernet, IEC 61850
		0x88a2, 0x8906, 0x8914, 0x8915, // storage, RoCE
		0x88cc, 0x88f7, 0x88fb, 0x8902, 0x88f8, 0x9000: // LLDP, PTP, PRP, CFM, NC-SI, loopback
		return true
	}
	return t <= maxLength
}

// leadsOn reports whether etherType follows an ethertype.
func leadsOn(t uint16) bool {
	switch t {
	case iana.TypeIPv4, iana.TypeIPv6, iana.TypeMPLS, iana.TypeMPLSUp, iana.TypePPPoE, iana.TypePBB, iana.TypeBridging, iana.TypeFabricPath, iana.TypeNSH, iana.TypeVNTag, iana.TypeHSR,
		iana.TypeETag, iana.TypeCMD, iana.TypeArista, iana.TypeMACsec, iana.TypeRTag, iana.TypeTRILL, iana.TypeBATMAN, iana.TypeRealtek,
		iana.TypeEDSA:
		return true
	}
	return iana.IsVLAN(t)
}

const (
	sapSNAP   = 0xaa
	sapISO    = 0xfe // a network layer protocol identifier follows
	sapRawIPX = 0xff // Novell's frames of 802.3 without 802.2 begin with two of these
)

// plainSAP reports whether a destination service access point of 802.2 belongs to a known
// protocol (IEEE, "Logical Link Control addresses").
func plainSAP(sap byte) bool {
	switch sap &^ 1 {
	case 0x00, 0x02, 0x04, 0x06, 0x08, 0x0c, 0x0e, 0x10, 0x42, 0x4e, 0x7e, 0x80, 0x82, 0x8e, 0x98, 0xbc, 0xe0, 0xf0, 0xf4, 0xf8, 0xfc, 0xfe:
		return true
	}
	return sap == sapRawIPX
}

// TypeOffset returns the offset of the type field that announces a header at offset at, in a
// frame of a link type: two bytes before the header, unless the link header has it elsewhere.
func TypeOffset(link capture.LinkType, at uint32) uint32 {
	switch {
	case link == capture.LinkLinuxSLL2 && at == 20:
		return 0
	case link == capture.LinkIPoverIB && at == 44:
		return 40
	case link == capture.LinkSymantec && at == symantecHeader:
		return symantecType
	}
	return at - 2
}
