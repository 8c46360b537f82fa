// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"testing"

	"github.com/flowdedup/flowdedup/capture"
)

// pseudo4 and pseudo6 are the checksums that a card is to finish.
func pseudo4(proto, length int) int {
	return int(foldSum(sumWords([]byte("\xc0\x00\x02\x01\xc6\x33\x64\x02")) + uint64(proto) + uint64(length)))
}

func pseudo6(proto, length int) int {
	return int(foldSum(8*0x2020 + 8*0x2121 + uint64(proto) + uint64(length)))
}

func segment(sum int, payload []byte) []byte {
	return join(be16(1000), be16(80), "seq.ack.\x50\x18\x20\x00", be16(sum), "\x00\x00", payload)
}

// TestEvidence cuts packets, and says which of them can be known: conclusive ones are in no
// doubt.
func TestEvidence(t *testing.T) {
	const l4, l6 = 14 + 20, 14 + 40 // where headers above IP begin
	fragment := with(sized4(7, protoUDP, body), 6, "\x20\x08")
	fragment[10], fragment[11] = 0, 0
	vxlan := func(inner []byte) []byte {
		return ether6(sized6(protoUDP, udpSum(portVXLAN, 0x1234, join("\x08\x00\x00\x00\x00\x00\x64\x00", inner))))
	}
	const inVXLAN = l6 + 8 + 8
	lldp := ether(0x88cc, body)
	all := ether4(sized4(0, protoUDP, udpSum(53, 0, body)))
	for _, c := range []struct {
		name   string
		frame  []byte
		cut    int
		cfg    IdentityConfig
		ignore string
		want   evidence
	}{
		{"whole", all, len(all), IdentityConfig{}, "", conclusive},
		{"whole but for a trailer", join(all, "\x00\x00"), len(all), IdentityConfig{}, "", conclusive},
		{"frame, whole but for a trailer", join(all, "\x00\x00"), len(all), IdentityConfig{Kind: Frame}, "", inconclusive},
		{"UDP without checksum", all, 60, IdentityConfig{}, "", inconclusive},
		{"one byte less", all, len(all) - 1, IdentityConfig{}, "", inconclusive},
		{"UDP, identification", ether4(sized4(9, protoUDP, udpSum(53, 0, body))), l4 + 8, IdentityConfig{}, "", conclusive},
		{"UDP, identification, nothing above", ether4(sized4(9, protoUDP, udpSum(53, 0, body))), l4 + 7, IdentityConfig{}, "", inconclusive},
		{"UDP, identification ignored", ether4(sized4(9, protoUDP, udpSum(53, 0, body))), l4 + 8, IdentityConfig{}, "ip-id", inconclusive},
		{"wrong header checksum", with(ether4(sized4(9, protoUDP, udpSum(53, 0, body))), 14+10, "\x12\x34"), l4 + 8, IdentityConfig{}, "", inconclusive},
		{"header checksum left to the card", with(ether4(sized4(9, protoUDP, udpSum(53, 0, body))), 14+10, "\x00\x00"), l4 + 8, IdentityConfig{}, "", conclusive},
		{"UDP, checksum", ether4(sized4(0, protoUDP, udpSum(53, 0x1234, body))), l4 + 8, IdentityConfig{}, "", checksummed},
		{"UDP, checksum over less", with(ether4(sized4(0, protoUDP, udpSum(53, 0x1234, body))), l4+4, "\x00\x20"), l4 + 8, IdentityConfig{}, "", inconclusive},
		{"UDP, part of the checksum", ether4(sized4(0, protoUDP, udpSum(53, 0x1234, body))), l4 + 7, IdentityConfig{}, "", inconclusive},
		{"UDP, checksum ignored", ether4(sized4(0, protoUDP, udpSum(53, 0x1234, body))), l4 + 8, IdentityConfig{}, "l4-checksum", inconclusive},
		{"UDP, checksum left", ether4(sized4(0, protoUDP, udpSum(53, pseudo4(protoUDP, 168), body))), l4 + 8, IdentityConfig{}, "", inconclusive},
		{"UDP, checksum left without length", ether4(sized4(0, protoUDP, udpSum(53, pseudo4(protoUDP, 0), body))), l4 + 8, IdentityConfig{}, "", inconclusive},
		{"IPv6 UDP, checksum", ether6(sized6(protoUDP, udpSum(53, 0x1234, body))), l6 + 8, IdentityConfig{}, "", checksummed},
		{"IPv6 UDP, checksum left", ether6(sized6(protoUDP, udpSum(53, pseudo6(protoUDP, 168), body))), l6 + 40, IdentityConfig{}, "", inconclusive},
		{"TCP with payload", ether6(sized6(protoTCP, segment(0, body))), l6 + 12, IdentityConfig{}, "", conclusive},
		{"TCP, no acknowledgment number", ether6(sized6(protoTCP, segment(0, body))), l6 + 11, IdentityConfig{}, "", inconclusive},
		{"TCP, unknown payload", ether6(sized6(protoTCP, segment(0, body[:40]))), l6 + 12, IdentityConfig{}, "", inconclusive},
		{"TCP, little payload", ether6(sized6(protoTCP, segment(0, body[:40]))), l6 + 13, IdentityConfig{}, "", conclusive},
		{"TCP without payload", with(ether6(sized6(protoTCP, segment(0, body[:12]))), l6+12, "\x80"), l6 + 16, IdentityConfig{}, "", inconclusive},
		{"TCP without payload, checksum", with(ether6(sized6(protoTCP, segment(0x1234, body[:12]))), l6+12, "\x80"), l6 + 18, IdentityConfig{}, "", checksummed},
		{"TCP, numbers ignored", ether6(sized6(protoTCP, segment(0x1234, body))), l6 + 18, IdentityConfig{}, "tcp-seq", inconclusive},
		{"TCP, NAT", ether6(sized6(protoTCP, segment(0x1234, body))), l6 + 11, IdentityConfig{}, "nat", inconclusive},
		{"ICMP", ether4(sized4(0, protoICMP, join("\x08\x00\x12\x34\x00\x01\x00\x02", body))), l4 + 4, IdentityConfig{}, "", checksummed},
		{"ICMP, no checksum", ether4(sized4(0, protoICMP, join("\x08\x00\x00\x00\x00\x01\x00\x02", body))), l4 + 40, IdentityConfig{}, "", inconclusive},
		{"ICMP error, quote", ether4(sized4(0, protoICMP, join("\x0b\x00\x12\x34\x00\x00\x00\x00", sized4(9, protoUDP, udpSum(53, 0, body))))), l4 + 8 + 28, IdentityConfig{}, "", conclusive},
		{"ICMP error, part of a quote", ether4(sized4(0, protoICMP, join("\x0b\x00\x12\x34\x00\x00\x00\x00", sized4(9, protoUDP, udpSum(53, 0, body))))), l4 + 8 + 27, IdentityConfig{}, "", checksummed},
		{"ESP", ether6(sized6(protoESP, join("spi.\x00\x00\x00\x01", body))), l6 + 8, IdentityConfig{}, "", conclusive},
		{"ESP, no number", ether6(sized6(protoESP, join("spi.\x00\x00\x00\x01", body))), l6 + 7, IdentityConfig{}, "", inconclusive},
		{"SCTP", ether6(sized6(protoSCTP, join("porttag.CRC.", body))), l6 + 12, IdentityConfig{}, "", conclusive},
		{"SCTP, checksum left", ether6(sized6(protoSCTP, join("porttag.\x00\x00\x00\x00", body))), l6 + 20, IdentityConfig{}, "", inconclusive},
		{"GRE, sequence", ether6(sized6(protoGRE, join("\x30\x00\x65\x58key.seq.", body))), l6 + 12, IdentityConfig{}, "", conclusive},
		{"GRE, part of it", ether6(sized6(protoGRE, join("\x30\x00\x65\x58key.seq.", body))), l6 + 11, IdentityConfig{}, "", inconclusive},
		{"IPv4 fragment", ether4(fragment), l4 + 8, IdentityConfig{}, "", conclusive},
		{"IPv4 fragment without number", with(ether4(fragment), 14+4, "\x00\x00"), l4 + 8, IdentityConfig{}, "", inconclusive},
		{"IPv6 fragment", ether6(sized6(protoFragment, join("\x11\x00\x00\x09iden", body))), l6 + 8, IdentityConfig{}, "", conclusive},
		{"IPv6 fragment, part of its number", ether6(sized6(protoFragment, join("\x11\x00\x00\x09iden", body))), l6 + 7, IdentityConfig{}, "", inconclusive},
		{"tunnel, its checksum", vxlan(all), inVXLAN + l4 + 8, IdentityConfig{}, "", inconclusive},
		{"tunnel, number inside", vxlan(ether4(sized4(9, protoUDP, udpSum(53, 0, body)))), inVXLAN + l4 + 8, IdentityConfig{}, "ip-id", conclusive},
		{"tunnel, opened", vxlan(ether4(sized4(9, protoUDP, udpSum(53, 0, body)))), inVXLAN + l4 + 8, IdentityConfig{Kind: Inner}, "", conclusive},
		{"tunnel, opened, number ignored", vxlan(ether4(sized4(9, protoUDP, udpSum(53, 0, body)))), inVXLAN + l4 + 8, IdentityConfig{Kind: Inner}, "ip-id", inconclusive},
		{"tunnel, number outside", ether4(sized4(9, protoIPv6, sized6(protoUDP, udpSum(53, 0, body)))), l4 + 48, IdentityConfig{}, "", conclusive},
		{"tunnel, opened, number outside", ether4(sized4(9, protoIPv6, sized6(protoUDP, udpSum(53, 0, body)))), l4 + 48, IdentityConfig{Kind: Inner}, "", inconclusive},
		{"without IP", lldp, 60, IdentityConfig{}, "", inconclusive},
		{"without IP, whole", lldp, len(lldp), IdentityConfig{}, "", conclusive},
		{"ARP, all but padding", join(arpFrame, make([]byte, 18)), len(arpFrame), IdentityConfig{}, "", conclusive},
		{"bytes, enough", ether4(sized4(9, protoUDP, udpSum(53, 0, body))), 1000, IdentityConfig{Bytes: 28}, "", conclusive},
		{"bytes, too few", ether4(sized4(9, protoUDP, udpSum(53, 0, body))), 1000, IdentityConfig{Bytes: 27}, "", inconclusive},
		{"bytes, all", all, 1000, IdentityConfig{Bytes: len(all) - 14}, "", conclusive},
		{"bytes of a frame", ether4(sized4(9, protoUDP, udpSum(53, 0, body))), 1000, IdentityConfig{Kind: Frame, Bytes: 14 + 28}, "", conclusive},
		{"bytes of a tagged frame", vlan(ether4(sized4(9, protoUDP, udpSum(53, 0, body)))), 1000, IdentityConfig{Kind: Frame, Bytes: 14 + 28}, "vlan", conclusive},
		{"too few of a tagged frame", vlan(ether4(sized4(9, protoUDP, udpSum(53, 0, body)))), 1000, IdentityConfig{Kind: Frame, Bytes: 14 + 28}, "", inconclusive},
		{"bytes without IP", lldp, 1000, IdentityConfig{Bytes: 64}, "", inconclusive},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.ignore != "" {
				ignore, err := ParseIgnore(c.ignore)
				if err != nil {
					t.Fatal(err)
				}
				c.cfg.Ignore = ignore
			}
			// Among others, so that kernels take it.
			b := newBatch(capture.LinkEthernet, append(repeat(all, 20), c.frame, all)...)
			f := &b.Frames[20]
			f.CapLen = min(f.CapLen, uint32(c.cut))
			for _, m := range []*Messages{
				NewIdentity(c.cfg).FromFrames(make([]Protocol, len(b.Frames)), b, 0),
				NewIdentity(c.cfg).FromHeaders(b, 0, decode(DecoderConfig{Inner: c.cfg.Kind == Inner}, b)),
			} {
				got := conclusive
				for _, d := range m.Doubts() {
					switch {
					case d.Number != 20:
					case d.Checksum:
						got = checksummed
					default:
						got = inconclusive
					}
				}
				if got != c.want {
					t.Errorf("got %d, want %d", got, c.want)
				}
			}
		})
	}
}
