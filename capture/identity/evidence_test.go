// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/internal/fragments"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// pseudo4 and pseudo6 are the checksums that a card is to finish.
func pseudo4(proto, length int) int { return pseudo("\xc0\x00\x02\x01\xc6\x33\x64\x02", proto, length) }
func pseudo6(proto, length int) int {
	return pseudo(strings.Repeat("\x20", 16)+strings.Repeat("\x21", 16), proto, length)
}
func pseudo(ends string, proto, length int) int {
	return int(fragments.Sum(join(ends, be16(proto), be16(length))))
}

func segment(sum int, payload []byte) []byte {
	return join(be16(1000), be16(80), "seq.ack.\x50\x18\x20\x00", be16(sum), "\x00\x00", payload)
}

// TestEvidence cuts packets, and says which of them can be known: conclusive packets are in no
// doubt.
func TestEvidence(t *testing.T) {
	const l4, l6 = 14 + 20, 14 + 40 // where headers above IP begin
	fragment := with(sized4(7, iana.ProtoUDP, body), 6, "\x20\x08")
	fragment[10], fragment[11] = 0, 0
	vxlan := func(inner []byte) []byte {
		return ether6(sized6(iana.ProtoUDP, udpSum(iana.PortVXLAN, 0x1234, join("\x08\x00\x00\x00\x00\x00\x64\x00", inner))))
	}
	const inVXLAN = l6 + 8 + 8
	lldp := ether(0x88cc, body)
	all := ether4(sized4(0, iana.ProtoUDP, udpSum(53, 0, body)))
	for _, c := range []struct {
		name   string
		frame  []byte
		cut    int
		cfg    Config
		ignore string
		want   evidence
	}{
		{"whole", all, len(all), Config{}, "", conclusive},
		{"whole but for a trailer", join(all, "\x00\x00"), len(all), Config{}, "", conclusive},
		{"frame, whole but for a trailer", join(all, "\x00\x00"), len(all), Config{Kind: Frame}, "", inconclusive},
		{"UDP without checksum", all, 60, Config{}, "", inconclusive},
		{"one byte less", all, len(all) - 1, Config{}, "", inconclusive},
		{"UDP, identification", ether4(sized4(9, iana.ProtoUDP, udpSum(53, 0, body))), l4 + 8, Config{}, "", conclusive},
		{"UDP, identification, nothing above", ether4(sized4(9, iana.ProtoUDP, udpSum(53, 0, body))), l4 + 7, Config{}, "", inconclusive},
		{"TCP, identification", ether4(sized4(9, iana.ProtoTCP, segment(0, nil))), l4 + 12, Config{}, "", conclusive},
		{"TCP, identification, no acknowledgment number", ether4(sized4(9, iana.ProtoTCP, segment(0, nil))), l4 + 11, Config{}, "", inconclusive},
		{"UDP, identification ignored", ether4(sized4(9, iana.ProtoUDP, udpSum(53, 0, body))), l4 + 8, Config{}, "ip-id", inconclusive},
		{"wrong header checksum", with(ether4(sized4(9, iana.ProtoUDP, udpSum(53, 0, body))), 14+10, "\x12\x34"), l4 + 8, Config{}, "", conclusive},
		{"wrong header checksum, another length", with(ether4(sized4(9, iana.ProtoUDP, udpSum(53, 0, body))), 14+2, "\x01\x00"), l4 + 8, Config{}, "", inconclusive},
		{"wrong header checksum, nothing above", with(ether4(sized4(9, iana.ProtoUDP, udpSum(53, 0, body))), 14+10, "\x12\x34"), l4 + 7, Config{}, "", inconclusive},
		{"wrong header checksum, no identification", with(ether4(sized4(0, iana.ProtoUDP, udpSum(53, 0, body))), 14+10, "\x12\x34"), l4 + 8, Config{}, "", inconclusive},
		{"wrong header checksum, another UDP length", with(with(ether4(sized4(9, iana.ProtoUDP, udpSum(53, 0, body))), 14+10, "\x12\x34"), l4+4, "\x00\x20"), l4 + 8, Config{}, "", inconclusive},
		{"wrong header checksum, TCP", with(ether4(sized4(9, iana.ProtoTCP, segment(0, nil))), 14+10, "\x12\x34"), l4 + 12, Config{}, "", conclusive},
		{"wrong header checksum, TCP, a longer datagram", with(with(ether4(sized4(9, iana.ProtoTCP, segment(0, nil))), 14+10, "\x12\x34"), 14+2, "\x01\x00"), l4 + 12, Config{}, "tcp-seq", inconclusive},
		{"wrong header checksum, TCP, much behind it", join(with(ether4(sized4(9, iana.ProtoTCP, segment(0, nil))), 14+10, "\x12\x34"), make([]byte, 20)), l4 + 12, Config{}, "", inconclusive},
		{"wrong header checksum, TCP, a trailer", join(with(ether4(sized4(9, iana.ProtoTCP, segment(0, nil))), 14+10, "\x12\x34"), make([]byte, 10)), l4 + 12, Config{}, "", conclusive},
		{"header checksum left to the card", with(ether4(sized4(9, iana.ProtoUDP, udpSum(53, 0, body))), 14+10, "\x00\x00"), l4 + 8, Config{}, "", conclusive},
		{"UDP, checksum", ether4(sized4(0, iana.ProtoUDP, udpSum(53, 0x1234, body))), l4 + 8, Config{}, "", checksummed},
		{"UDP, checksum over less", with(ether4(sized4(0, iana.ProtoUDP, udpSum(53, 0x1234, body))), l4+4, "\x00\x20"), l4 + 8, Config{}, "", inconclusive},
		{"UDP, part of the checksum", ether4(sized4(0, iana.ProtoUDP, udpSum(53, 0x1234, body))), l4 + 7, Config{}, "", inconclusive},
		{"UDP, checksum ignored", ether4(sized4(0, iana.ProtoUDP, udpSum(53, 0x1234, body))), l4 + 8, Config{}, "l4-checksum", inconclusive},
		{"UDP, checksum left", ether4(sized4(0, iana.ProtoUDP, udpSum(53, pseudo4(iana.ProtoUDP, 168), body))), l4 + 8, Config{}, "", inconclusive},
		{"UDP, checksum left without length", ether4(sized4(0, iana.ProtoUDP, udpSum(53, pseudo4(iana.ProtoUDP, 0), body))), l4 + 8, Config{}, "", inconclusive},
		{"IPv6 UDP, checksum", ether6(sized6(iana.ProtoUDP, udpSum(53, 0x1234, body))), l6 + 8, Config{}, "", checksummed},
		{"IPv6 UDP, checksum left", ether6(sized6(iana.ProtoUDP, udpSum(53, pseudo6(iana.ProtoUDP, 168), body))), l6 + 40, Config{}, "", inconclusive},
		{"TCP with payload", ether6(sized6(iana.ProtoTCP, segment(0, body))), l6 + 12, Config{}, "", conclusive},
		{"TCP, no acknowledgment number", ether6(sized6(iana.ProtoTCP, segment(0, body))), l6 + 11, Config{}, "", inconclusive},
		{"TCP, unknown payload", ether6(sized6(iana.ProtoTCP, segment(0, body[:40]))), l6 + 12, Config{}, "", inconclusive},
		{"TCP, little payload", ether6(sized6(iana.ProtoTCP, segment(0, body[:40]))), l6 + 13, Config{}, "", conclusive},
		{"TCP without payload", with(ether6(sized6(iana.ProtoTCP, segment(0, body[:12]))), l6+12, "\x80"), l6 + 16, Config{}, "", inconclusive},
		{"TCP without payload, checksum", with(ether6(sized6(iana.ProtoTCP, segment(0x1234, body[:12]))), l6+12, "\x80"), l6 + 18, Config{}, "", checksummed},
		{"TCP, numbers ignored", ether6(sized6(iana.ProtoTCP, segment(0x1234, body))), l6 + 18, Config{}, "tcp-seq", inconclusive},
		{"SYN, checksum", ether4(sized4(0, iana.ProtoTCP, with(segment(0x1234, body[:12]), 12, "\x80\x02"))), l4 + 20, Config{}, "", checksummed},
		{"SYN, mss ignored", ether4(sized4(0, iana.ProtoTCP, with(segment(0x1234, body[:12]), 12, "\x80\x02"))), l4 + 20, Config{}, "mss", inconclusive},
		{"no SYN, mss ignored", ether4(sized4(0, iana.ProtoTCP, with(segment(0x1234, body[:12]), 12, "\x80\x10"))), l4 + 20, Config{}, "mss", checksummed},
		{"TCP, header ignored", ether4(sized4(0, iana.ProtoTCP, with(segment(0x1234, body[:12]), 12, "\x80\x10"))), l4 + 20, Config{}, "tcp-header", inconclusive},
		{"TCP with payload, header ignored", ether6(sized6(iana.ProtoTCP, segment(0, body))), l6 + 12, Config{}, "tcp-header", conclusive},
		{"TCP, NAT", ether6(sized6(iana.ProtoTCP, segment(0x1234, body))), l6 + 11, Config{}, "nat", inconclusive},
		{"ICMP", ether4(sized4(0, iana.ProtoICMP, join("\x08\x00\x12\x34\x00\x01\x00\x02", body))), l4 + 4, Config{}, "", checksummed},
		{"ICMP, no checksum", ether4(sized4(0, iana.ProtoICMP, join("\x08\x00\x00\x00\x00\x01\x00\x02", body))), l4 + 40, Config{}, "", inconclusive},
		{"ICMP error, quote", ether4(sized4(0, iana.ProtoICMP, join("\x0b\x00\x12\x34\x00\x00\x00\x00", sized4(9, iana.ProtoUDP, udpSum(53, 0, body))))), l4 + 8 + 28, Config{}, "", conclusive},
		{"ICMP error, part of a quote", ether4(sized4(0, iana.ProtoICMP, join("\x0b\x00\x12\x34\x00\x00\x00\x00", sized4(9, iana.ProtoUDP, udpSum(53, 0, body))))), l4 + 8 + 27, Config{}, "", checksummed},
		{"ESP", ether6(sized6(iana.ProtoESP, join("spi.\x00\x00\x00\x01", body))), l6 + 8, Config{}, "", conclusive},
		{"ESP, no number", ether6(sized6(iana.ProtoESP, join("spi.\x00\x00\x00\x01", body))), l6 + 7, Config{}, "", inconclusive},
		{"SCTP", ether6(sized6(iana.ProtoSCTP, join("porttag.CRC.", body))), l6 + 12, Config{}, "", conclusive},
		{"SCTP, checksum left", ether6(sized6(iana.ProtoSCTP, join("porttag.\x00\x00\x00\x00", body))), l6 + 20, Config{}, "", inconclusive},
		{"GRE, sequence", ether6(sized6(iana.ProtoGRE, join("\x30\x00\x65\x58key.seq.", body))), l6 + 12, Config{}, "", conclusive},
		{"GRE, part of it", ether6(sized6(iana.ProtoGRE, join("\x30\x00\x65\x58key.seq.", body))), l6 + 11, Config{}, "", inconclusive},
		{"IPv4 fragment", ether4(fragment), l4 + 8, Config{}, "", conclusive},
		{"IPv4 fragment without number", with(ether4(fragment), 14+4, "\x00\x00"), l4 + 8, Config{}, "", inconclusive},
		{"IPv6 fragment", ether6(sized6(iana.ProtoFragment, join("\x11\x00\x00\x09iden", body))), l6 + 8, Config{}, "", conclusive},
		{"IPv6 fragment, part of its number", ether6(sized6(iana.ProtoFragment, join("\x11\x00\x00\x09iden", body))), l6 + 7, Config{}, "", inconclusive},
		{"tunnel, its checksum", vxlan(all), inVXLAN + l4 + 8, Config{}, "", inconclusive},
		{"tunnel, number inside", vxlan(ether4(sized4(9, iana.ProtoUDP, udpSum(53, 0, body)))), inVXLAN + l4 + 8, Config{}, "ip-id", conclusive},
		{"tunnel, wrong header checksum inside", vxlan(with(ether4(sized4(9, iana.ProtoUDP, udpSum(53, 0, body))), 14+10, "\x12\x34")), inVXLAN + l4 + 8, Config{}, "ip-id", conclusive},
		{"tunnel, wrong lengths inside", vxlan(with(ether4(sized4(9, iana.ProtoUDP, udpSum(53, 0, body))), 14+2, "\x01\x00")), inVXLAN + l4 + 8, Config{}, "ip-id", inconclusive},
		{"tunnel, opened", vxlan(ether4(sized4(9, iana.ProtoUDP, udpSum(53, 0, body)))), inVXLAN + l4 + 8, Config{Kind: Inner}, "", conclusive},
		{"tunnel, opened, number ignored", vxlan(ether4(sized4(9, iana.ProtoUDP, udpSum(53, 0, body)))), inVXLAN + l4 + 8, Config{Kind: Inner}, "ip-id", inconclusive},
		{"tunnel, number outside", ether4(sized4(9, iana.ProtoIPv6, sized6(iana.ProtoUDP, udpSum(53, 0, body)))), l4 + 48, Config{}, "", conclusive},
		{"tunnel, opened, number outside", ether4(sized4(9, iana.ProtoIPv6, sized6(iana.ProtoUDP, udpSum(53, 0, body)))), l4 + 48, Config{Kind: Inner}, "", inconclusive},
		{"without IP", lldp, 60, Config{}, "", inconclusive},
		{"without IP, whole", lldp, len(lldp), Config{}, "", conclusive},
		{"ARP, all but padding", join(arpFrame, make([]byte, 18)), len(arpFrame), Config{}, "", conclusive},
		{"bytes, enough", ether4(sized4(9, iana.ProtoUDP, udpSum(53, 0, body))), 1000, Config{Bytes: 28}, "", conclusive},
		{"bytes, too few", ether4(sized4(9, iana.ProtoUDP, udpSum(53, 0, body))), 1000, Config{Bytes: 27}, "", inconclusive},
		{"bytes, all", all, 1000, Config{Bytes: len(all) - 14}, "", conclusive},
		{"bytes of a frame", ether4(sized4(9, iana.ProtoUDP, udpSum(53, 0, body))), 1000, Config{Kind: Frame, Bytes: 14 + 28}, "", conclusive},
		{"bytes of a tagged frame", vlan(ether4(sized4(9, iana.ProtoUDP, udpSum(53, 0, body)))), 1000, Config{Kind: Frame, Bytes: 14 + 28}, "vlan", conclusive},
		{"too few of a tagged frame", vlan(ether4(sized4(9, iana.ProtoUDP, udpSum(53, 0, body)))), 1000, Config{Kind: Frame, Bytes: 14 + 28}, "", inconclusive},
		{"bytes without IP", lldp, 1000, Config{Bytes: 64}, "", inconclusive},
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
				New(c.cfg).FromFrames(make([]headers.Protocol, len(b.Frames)), b, 0),
				New(c.cfg).FromHeaders(b, 0, decode(headers.NewDecoder(headers.DecoderConfig{Inner: c.cfg.Kind == Inner}), b)),
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
