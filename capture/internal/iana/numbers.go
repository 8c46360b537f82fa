// SPDX-License-Identifier: Apache-2.0

// Package iana has the numbers that IANA and the IEEE have assigned: IP protocols, ethertypes
// and the UDP ports of tunnels.
package iana

// IP protocol numbers (IANA, "Assigned Internet Protocol Numbers").
const (
	ProtoHopByHop = 0
	ProtoICMP     = 1
	ProtoIGMP     = 2
	ProtoIPv4     = 4
	ProtoTCP      = 6
	ProtoUDP      = 17
	ProtoDCCP     = 33
	ProtoIPv6     = 41
	ProtoRouting  = 43
	ProtoFragment = 44
	ProtoGRE      = 47
	ProtoESP      = 50
	ProtoAH       = 51
	ProtoICMPv6   = 58
	ProtoNoNext   = 59
	ProtoDstOpts  = 60
	ProtoEIGRP    = 88
	ProtoOSPF     = 89
	ProtoEtherIP  = 97
	ProtoPIM      = 103
	ProtoIPComp   = 108
	ProtoVRRP     = 112
	ProtoL2TP     = 115
	ProtoSCTP     = 132
	ProtoMobility = 135
	ProtoUDPLite  = 136
	ProtoMPLS     = 137
	ProtoHIP      = 139
	ProtoShim6    = 140
	ProtoEthernet = 143
)

// Ethertypes (IEEE registration authority).
const (
	TypeIPv4       = 0x0800
	TypeIPv6       = 0x86dd
	TypeVLAN       = 0x8100 // 802.1Q
	TypeQinQ       = 0x88a8 // 802.1ad
	TypeQinQOld    = 0x9100 // in use before 802.1ad
	TypeQinQOld2   = 0x9200 // likewise
	TypeMPLS       = 0x8847
	TypeMPLSUp     = 0x8848 // upstream-assigned labels, RFC 5332
	TypePPPoE      = 0x8864 // session stage, RFC 2516
	TypePBB        = 0x88e7 // 802.1ah service tag
	TypeBridging   = 0x6558 // an Ethernet frame
	TypeFabricPath = 0x8903
	TypeNSH        = 0x894f // RFC 8300
	TypeVNTag      = 0x8926
	TypeETag       = 0x893f // 802.1BR
	TypeCMD        = 0x8909 // Cisco metadata
	TypeHSR        = 0x892f // IEC 62439-3
	TypeArista     = 0xd28b // Arista Networks
	TypeMACsec     = 0x88e5 // IEEE 802.1AE
	TypeRTag       = 0xf1c1 // IEEE 802.1CB
	TypeTRILL      = 0x22f3 // RFC 7178
	TypeBATMAN     = 0x4305 // B.A.T.M.A.N. advanced
	TypeRealtek    = 0x8899 // tags of Realtek switches, and their management
	TypeEDSA       = 0xdada // Marvell switches, as Linux programs them
	TypeARP        = 0x0806
	TypeRARP       = 0x8035
	TypePPP        = 0x880b
	TypeERSPAN2    = 0x88be
	TypeERSPAN3    = 0x22eb
	TypeWCCP       = 0x883e // in GRE
	TypeEoIP       = 0x6400 // in GRE, MikroTik's
	TypeMirror     = 0x8949 // in GRE, mirrored by switches of NVIDIA
	// Of protocols that state their length:
	TypeGOOSE   = 0x88b8
	TypeGSE     = 0x88b9
	TypeSamples = 0x88ba
	TypeLLDP    = 0x88cc
	TypePTP     = 0x88f7
)

// UDP ports that stand for a tunnel.
const (
	PortL2TP     = 1701
	PortGTPU     = 2152
	PortTeredo   = 3544
	PortLISP     = 4341
	PortVXLAN    = 4789
	PortVXLANGPE = 4790
	PortCAPWAP   = 5247 // of data
	PortGUE      = 6080
	PortGENEVE   = 6081
	PortMPLS     = 6635
	PortVXLANOld = 8472  // Linux's default, older than the assignment
	PortLWAPP    = 12222 // of data
	PortJMirror  = 30030
	PortTZSP     = 37008
)

func IsVLAN(t uint16) bool {
	return t == TypeVLAN || t == TypeQinQ || t == TypeQinQOld || t == TypeQinQOld2
}

// PortMask has all bits set for protocols whose header begins with two ports.
var PortMask = [256]uint32{
	ProtoTCP: ^uint32(0), ProtoUDP: ^uint32(0), ProtoDCCP: ^uint32(0), ProtoSCTP: ^uint32(0), ProtoUDPLite: ^uint32(0),
}

// IsExtension marks the IPv6 extension headers that are followed to the upper protocol.
var IsExtension = [256]bool{
	ProtoHopByHop: true, ProtoRouting: true, ProtoFragment: true, ProtoAH: true, ProtoDstOpts: true,
	ProtoMobility: true, ProtoHIP: true, ProtoShim6: true,
}
