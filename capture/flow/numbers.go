// SPDX-License-Identifier: Apache-2.0

package flow

// IP protocol numbers (IANA, "Assigned Internet Protocol Numbers").
const (
	protoHopByHop = 0
	protoICMP     = 1
	protoIGMP     = 2
	protoIPv4     = 4
	protoTCP      = 6
	protoUDP      = 17
	protoDCCP     = 33
	protoIPv6     = 41
	protoRouting  = 43
	protoFragment = 44
	protoGRE      = 47
	protoESP      = 50
	protoAH       = 51
	protoICMPv6   = 58
	protoNoNext   = 59
	protoDstOpts  = 60
	protoEIGRP    = 88
	protoOSPF     = 89
	protoEtherIP  = 97
	protoPIM      = 103
	protoIPComp   = 108
	protoVRRP     = 112
	protoL2TP     = 115
	protoSCTP     = 132
	protoMobility = 135
	protoUDPLite  = 136
	protoMPLS     = 137
	protoHIP      = 139
	protoShim6    = 140
	protoEthernet = 143
)

// Ethertypes (IEEE registration authority).
const (
	typeIPv4       = 0x0800
	typeIPv6       = 0x86dd
	typeVLAN       = 0x8100 // 802.1Q
	typeQinQ       = 0x88a8 // 802.1ad
	typeQinQOld    = 0x9100 // in use before 802.1ad
	typeQinQOld2   = 0x9200 // likewise
	typeMPLS       = 0x8847
	typeMPLSUp     = 0x8848 // upstream-assigned labels, RFC 5332
	typePPPoE      = 0x8864 // session stage, RFC 2516
	typePBB        = 0x88e7 // 802.1ah service tag
	typeBridging   = 0x6558 // an Ethernet frame
	typeFabricPath = 0x8903
	typeNSH        = 0x894f // RFC 8300
	typeVNTag      = 0x8926
	typeETag       = 0x893f // 802.1BR
	typeCMD        = 0x8909 // Cisco metadata
	typeHSR        = 0x892f // IEC 62439-3
	typeArista     = 0xd28b // Arista Networks
	typeMACsec     = 0x88e5 // IEEE 802.1AE
	typeRTag       = 0xf1c1 // IEEE 802.1CB
	typeTRILL      = 0x22f3 // RFC 7178
	typeBATMAN     = 0x4305 // B.A.T.M.A.N. advanced
	typeRealtek    = 0x8899 // tags of Realtek switches, and their management
	typeEDSA       = 0xdada // Marvell switches, as Linux programs them
	typeARP        = 0x0806
	typeRARP       = 0x8035
	typePPP        = 0x880b
	typeERSPAN2    = 0x88be
	typeERSPAN3    = 0x22eb
	typeWCCP       = 0x883e // in GRE
	typeEoIP       = 0x6400 // in GRE, MikroTik's
	// Of protocols that state their length:
	typeGOOSE   = 0x88b8
	typeGSE     = 0x88b9
	typeSamples = 0x88ba
	typeLLDP    = 0x88cc
	typePTP     = 0x88f7
)

// UDP ports that stand for a tunnel.
const (
	portL2TP     = 1701
	portGTPU     = 2152
	portLISP     = 4341
	portVXLAN    = 4789
	portVXLANGPE = 4790
	portGENEVE   = 6081
	portMPLS     = 6635
	portVXLANOld = 8472 // Linux's default, older than the assignment
	portJMirror  = 30030
	portTZSP     = 37008
)

func isVLAN(t uint16) bool {
	return t == typeVLAN || t == typeQinQ || t == typeQinQOld || t == typeQinQOld2
}

// portMask has all bits set for protocols whose header begins with two ports.
var portMask = [256]uint32{
	protoTCP: ^uint32(0), protoUDP: ^uint32(0), protoDCCP: ^uint32(0), protoSCTP: ^uint32(0), protoUDPLite: ^uint32(0),
}

// isExtension marks the IPv6 extension headers that are followed to the upper protocol.
var isExtension = [256]bool{
	protoHopByHop: true, protoRouting: true, protoFragment: true, protoAH: true, protoDstOpts: true,
	protoMobility: true, protoHIP: true, protoShim6: true,
}
