// SPDX-License-Identifier: Apache-2.0

package capture

import "strconv"

// LinkType is a LINKTYPE_ number as assigned by the tcpdump group
// (https://www.tcpdump.org/linktypes.html): the header that a frame begins with.
type LinkType uint32

// Link types that have a name here.
const (
	LinkNull         LinkType = 0
	LinkEthernet     LinkType = 1
	LinkTokenRing    LinkType = 6
	LinkARCNET       LinkType = 7
	LinkSLIP         LinkType = 8
	LinkPPP          LinkType = 9
	LinkFDDI         LinkType = 10
	LinkRawDLT12     LinkType = 12 // DLT_RAW of most systems, found in files
	LinkRawDLT14     LinkType = 14 // DLT_RAW of OpenBSD, found in files
	LinkPPPHDLC      LinkType = 50
	LinkPPPEther     LinkType = 51
	LinkSymantec     LinkType = 99
	LinkATMRFC1483   LinkType = 100
	LinkRaw          LinkType = 101
	LinkCHDLC        LinkType = 104
	LinkIEEE80211    LinkType = 105
	LinkFrameRelay   LinkType = 107
	LinkLoop         LinkType = 108
	LinkEnc          LinkType = 109
	LinkLinuxSLL     LinkType = 113
	LinkPFLog        LinkType = 117
	LinkPrism        LinkType = 119
	LinkIPoverFC     LinkType = 122
	LinkSunATM       LinkType = 123
	LinkRadiotap     LinkType = 127
	LinkARCNETLinux  LinkType = 129
	LinkIEEE1394     LinkType = 138
	LinkUser2        LinkType = 149 // macOS wrote PKTAP under this number
	LinkAVS          LinkType = 163
	LinkPPPPPPD      LinkType = 166
	LinkJuniperEther LinkType = 178
	LinkJuniperPPP   LinkType = 179
	LinkJuniperFR    LinkType = 180
	LinkJuniperCHDLC LinkType = 181
	LinkPPI          LinkType = 192
	LinkIEEE802154   LinkType = 195 // with a check sequence
	LinkERF          LinkType = 197
	LinkPPPWithDir   LinkType = 204
	LinkCHDLCWithDir LinkType = 205
	LinkFRelayDir    LinkType = 206
	LinkMPLS         LinkType = 219
	LinkIPNet        LinkType = 226
	LinkIPv4         LinkType = 228
	LinkIPv6         LinkType = 229
	LinkIEEE802154N  LinkType = 230 // without
	LinkNFLog        LinkType = 239
	LinkNetAnalyzer  LinkType = 240
	LinkNetAnalyzerT LinkType = 241 // transparent: with preamble
	LinkIPoverIB     LinkType = 242
	LinkPKTAP        LinkType = 258
	LinkEPON         LinkType = 259
	LinkEthernetMP   LinkType = 274
	LinkLinuxSLL2    LinkType = 276
	LinkBRCM         LinkType = 281 // tag of a Broadcom switch in front of the ethertype
	LinkBRCMPrepend  LinkType = 282 // in front of the frame
	LinkIEEE802154T  LinkType = 283 // behind TAP's header
	LinkDSA          LinkType = 284 // tag of a Marvell switch
	LinkEDSA         LinkType = 285 // with an ethertype of its own
)

var linkNames = map[LinkType]string{
	LinkNull: "NULL", LinkEthernet: "ETHERNET", LinkTokenRing: "TOKEN_RING", LinkARCNET: "ARCNET_BSD",
	LinkSLIP: "SLIP", LinkPPP: "PPP", LinkFDDI: "FDDI", LinkRawDLT12: "RAW", LinkRawDLT14: "RAW",
	LinkPPPHDLC: "PPP_HDLC", LinkPPPEther: "PPP_ETHER", LinkATMRFC1483: "ATM_RFC1483", LinkRaw: "RAW",
	LinkCHDLC: "C_HDLC", LinkIEEE80211: "IEEE802_11", LinkFrameRelay: "FRELAY", LinkLoop: "LOOP",
	LinkEnc: "ENC", LinkLinuxSLL: "LINUX_SLL", LinkPFLog: "PFLOG", LinkPrism: "IEEE802_11_PRISM",
	LinkSunATM: "SUNATM", LinkRadiotap: "IEEE802_11_RADIOTAP", LinkUser2: "USER2", LinkAVS: "IEEE802_11_AVS",
	LinkPPPPPPD: "PPP_PPPD", LinkPPI: "PPI", LinkPPPWithDir: "PPP_WITH_DIR", LinkCHDLCWithDir: "C_HDLC_WITH_DIR",
	LinkFRelayDir: "FRELAY_WITH_DIR", LinkMPLS: "MPLS", LinkIPNet: "IPNET", LinkIPv4: "IPV4", LinkIPv6: "IPV6",
	LinkNFLog: "NFLOG", LinkNetAnalyzer: "NETANALYZER", LinkIPoverIB: "IPOIB", LinkPKTAP: "PKTAP",
	LinkEthernetMP: "ETHERNET_MPACKET", LinkLinuxSLL2: "LINUX_SLL2", LinkIEEE802154: "IEEE802_15_4_WITHFCS",
	LinkIEEE802154N: "IEEE802_15_4_NOFCS", LinkIEEE802154T: "IEEE802_15_4_TAP",
	LinkSymantec: "SYMANTEC_FIREWALL", LinkIPoverFC: "IP_OVER_FC", LinkARCNETLinux: "ARCNET_LINUX",
	LinkIEEE1394: "APPLE_IP_OVER_IEEE1394", LinkJuniperEther: "JUNIPER_ETHER", LinkJuniperPPP: "JUNIPER_PPP",
	LinkJuniperFR: "JUNIPER_FRELAY", LinkJuniperCHDLC: "JUNIPER_CHDLC", LinkERF: "ERF",
	LinkNetAnalyzerT: "NETANALYZER_TRANSPARENT", LinkEPON: "EPON", LinkBRCM: "DSA_TAG_BRCM",
	LinkBRCMPrepend: "DSA_TAG_BRCM_PREPEND", LinkDSA: "DSA_TAG_DSA", LinkEDSA: "DSA_TAG_EDSA",
}

// String returns the name without its LINKTYPE_ prefix, or the number.
func (t LinkType) String() string {
	if s, ok := linkNames[t]; ok {
		return s
	}
	return strconv.FormatUint(uint64(t), 10)
}
