// SPDX-License-Identifier: Apache-2.0

package keys

import (
	"bytes"
	"cmp"
	"crypto/sha1" //nolint:gosec // the specification says so; nothing is protected by it
	"encoding/base64"
	"encoding/binary"
	"net/netip"

	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// replies maps types of ICMP and ICMPv6 messages to the types that answer them, and back.
var replies = func() (all [2]map[uint16]uint16) {
	for i, pairs := range [2][][2]uint16{
		{{8, 0}, {13, 14}, {15, 16}, {10, 9}, {17, 18}},
		{{128, 129}, {130, 131}, {133, 134}, {135, 136}, {139, 140}, {144, 145}},
	} {
		all[i] = map[uint16]uint16{}
		for _, p := range pairs {
			all[i][p[0]], all[i][p[1]] = p[1], p[0]
		}
	}
	return all
}()

// AppendCommunityID appends the Community ID of a flow, version 1 with seed 0, as Zeek and
// Suricata log it: both directions have the same. It is "1:" and the SHA-1 of seed, ends and
// protocol in base64 (https://github.com/corelight/community-id-spec). Of ICMP and ICMPv6 the
// ports are type and code. UDP-Lite counts as UDP, and DCCP has no ports, as in tshark.
//
// It appends nothing for TCP, UDP and SCTP without ports, nor if an address is not valid: a flow
// without ports is of fragments, which these programs reassemble.
func AppendCommunityID(text []byte, src, dst netip.Addr, proto uint8, srcPort, dstPort uint16) []byte {
	if !src.IsValid() || !dst.IsValid() || src.BitLen() != dst.BitLen() {
		return text
	}
	ports, oneWay := true, false
	if proto == iana.ProtoUDPLite {
		proto = iana.ProtoUDP
	}
	switch proto {
	case iana.ProtoTCP, iana.ProtoUDP, iana.ProtoSCTP:
		if srcPort|dstPort == 0 {
			return text
		}
	case iana.ProtoICMP, iana.ProtoICMPv6:
		answers := replies[0]
		if proto == iana.ProtoICMPv6 {
			answers = replies[1]
		}
		if answer, ok := answers[srcPort]; ok {
			dstPort = answer
		} else {
			oneWay = true
		}
	default:
		ports = false
	}
	a, b := src.AsSlice(), dst.AsSlice()
	if order := bytes.Compare(a, b); !oneWay && (order > 0 || order == 0 && ports && srcPort > dstPort) {
		a, b, srcPort, dstPort = b, a, dstPort, srcPort
	}
	var buf [2 + 2*16 + 2 + 4]byte // begins with the seed
	m := append(append(append(buf[:2], a...), b...), proto, 0)
	if ports {
		m = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(m, srcPort), dstPort)
	}
	sum := sha1.Sum(m) //nolint:gosec // as above
	return base64.StdEncoding.AppendEncode(append(text, "1:"...), sum[:])
}

// CommunityID16 returns the Community ID of an IPv4 key of kind Flow or Biflow with whole
// addresses. It is "" for other keys, keys without ports, and ICMP, as keys do not hold its type.
func (c Config) CommunityID16(key [16]byte) string {
	return c.communityID(netip.AddrFrom4([4]byte(key[:])), netip.AddrFrom4([4]byte(key[dst4:])), c.Mask4, key[tail4:])
}

// CommunityID48 is CommunityID16 for IPv6.
func (c Config) CommunityID48(key [48]byte) string {
	return c.communityID(netip.AddrFrom16([16]byte(key[:])), netip.AddrFrom16([16]byte(key[dst6:])), c.Mask6, key[tail6:])
}

func (c Config) communityID(src, dst netip.Addr, mask int, tail []byte) string {
	proto := tail[4]
	if c.Kind != Flow && c.Kind != Biflow || cmp.Or(mask, src.BitLen()) != src.BitLen() || proto == iana.ProtoICMP || proto == iana.ProtoICMPv6 {
		return ""
	}
	return string(AppendCommunityID(nil, src, dst, proto, binary.BigEndian.Uint16(tail), binary.BigEndian.Uint16(tail[2:])))
}
