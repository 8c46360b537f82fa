// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"encoding/binary"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
)

// integrityOf judges a frame with a length on the wire.
func integrityOf(cfg headers.DecoderConfig, link capture.LinkType, data []byte, wire int) Integrity {
	b := newBatch(link, data)
	b.Frames[0].WireLen = uint32(wire)
	return IntegrityOf(&decode(headers.NewDecoder(cfg), b)[0], b, 0)
}

// plainSum is the sum of RFC 1071, section 4.1, word by word.
func plainSum(parts ...[]byte) uint16 {
	all := []byte{}
	for _, p := range parts {
		all = append(all, p...)
	}
	if len(all)%2 != 0 {
		all = append(all, 0)
	}
	sum := uint32(0)
	for ; len(all) > 0; all = all[2:] {
		sum += uint32(binary.BigEndian.Uint16(all))
		sum = sum>>16 + sum&0xffff
	}
	return uint16(sum)
}

// TestOnesSum compares the sum with the RFC's algorithm and example.
func TestOnesSum(t *testing.T) {
	swapped := func(sum uint16) uint16 { return sum<<8 | sum>>8 }
	if got := swapped(foldOnes(onesSum(0, []byte{0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7}))); got != 0xddf2 {
		t.Errorf("the example of RFC 1071, section 3: %#x", got)
	}
	r := rand.New(rand.NewPCG(1, 1))
	for n := range 3000 {
		p := make([]byte, n)
		for i := range p {
			if p[i] = 0xff; n%3 != 0 { // many carries, or random bytes
				p[i] = byte(r.Uint32())
			}
		}
		head := p[:r.IntN(n+1)&^1]
		want := plainSum(p)
		if got := swapped(foldOnes(onesSum(onesSum(0, head), p[len(head):]))); got != want {
			t.Fatalf("%d bytes: %#x, want %#x", n, got, want)
		}
	}
}

// serialized returns what gopacket makes of layers, with checksums.
func serialized(t testing.TB, all ...gopacket.SerializableLayer) []byte {
	t.Helper()
	buf := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(buf, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, all...); err != nil {
		t.Fatal(err)
	}
	return append([]byte(nil), buf.Bytes()...)
}

// summedSegments are packets with the right checksums, by version and protocol.
func summedSegments(t testing.TB, payload []byte) map[string][]byte {
	t.Helper()
	ip4 := func(proto layers.IPProtocol) *layers.IPv4 {
		return &layers.IPv4{Version: 4, TTL: 64, Protocol: proto, SrcIP: []byte{10, 0, 0, 1}, DstIP: []byte{10, 0, 0, 2}}
	}
	ip6 := func(proto layers.IPProtocol) *layers.IPv6 {
		return &layers.IPv6{Version: 6, HopLimit: 64, NextHeader: proto, SrcIP: packet6[8:24], DstIP: packet6[24:40]}
	}
	upper := func(ip gopacket.NetworkLayer, l interface {
		gopacket.SerializableLayer
		SetNetworkLayerForChecksum(gopacket.NetworkLayer) error
	}) []byte {
		if err := l.SetNetworkLayerForChecksum(ip); err != nil {
			t.Fatal(err)
		}
		return serialized(t, ip.(gopacket.SerializableLayer), l, gopacket.Payload(payload))
	}
	return map[string][]byte{
		"tcp4":  upper(ip4(layers.IPProtocolTCP), &layers.TCP{SrcPort: 1000, DstPort: 80, ACK: true, Seq: 1 << 31}),
		"udp4":  upper(ip4(layers.IPProtocolUDP), &layers.UDP{SrcPort: 1000, DstPort: 53}),
		"icmp4": serialized(t, ip4(layers.IPProtocolICMPv4), &layers.ICMPv4{TypeCode: 0x0800, Id: 7, Seq: 8}, gopacket.Payload(payload)),
		"tcp6":  upper(ip6(layers.IPProtocolTCP), &layers.TCP{SrcPort: 1000, DstPort: 80, ACK: true}),
		"udp6":  upper(ip6(layers.IPProtocolUDP), &layers.UDP{SrcPort: 1000, DstPort: 53}),
		"icmp6": upper(ip6(layers.IPProtocolICMPv6), &layers.ICMPv6{TypeCode: 0x8000}),
	}
}

// TestIntegritySums judges packets of all lengths whose checksums gopacket made, and each of
// them with a byte changed, or cut.
func TestIntegritySums(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for n := range 200 {
		payload := make([]byte, n)
		for i := range payload {
			payload[i] = byte(r.Uint32())
		}
		for name, packet := range summedSegments(t, payload) {
			frame := ether(iana.TypeIPv4, packet)
			if packet[0]>>4 == 6 {
				frame = ether(iana.TypeIPv6, packet)
			}
			frame = append(frame, make([]byte, max(60-len(frame), 0))...)
			whole := 14 + len(packet)
			if got := integrityOf(headers.DecoderConfig{}, capture.LinkEthernet, frame, len(frame)); got != ValidChecksum {
				t.Fatalf("%s, %d bytes: %v", name, n, got)
			}
			head := map[byte]int{4: 20, 6: 40}[packet[0]>>4]
			cut := 14 + head + r.IntN(len(packet)-head)
			if got := integrityOf(headers.DecoderConfig{}, capture.LinkEthernet, frame[:cut], len(frame)); got != Truncated {
				t.Fatalf("%s, %d bytes cut to %d: %v", name, whole, cut, got)
			}
			if got := integrityOf(headers.DecoderConfig{}, capture.LinkEthernet, frame[:whole], len(frame)+4); got != ValidChecksum {
				t.Fatalf("%s: cut behind the datagram: %v", name, got)
			}
			at := whole - 1 - r.IntN(n+1) // in the payload, or the last byte of a header
			if n == 0 && strings.HasPrefix(name, "tcp") {
				at = whole - 4 // the checksum
			}
			frame[at] ^= 1 << r.IntN(8)
			if got := integrityOf(headers.DecoderConfig{}, capture.LinkEthernet, frame, len(frame)); got != WrongChecksum {
				t.Fatalf("%s, %d bytes, byte %d changed: %v", name, n, at, got)
			}
		}
	}
}

// TestIntegrity judges what has no checksum, or none that says anything.
func TestIntegrity(t *testing.T) {
	p := summedSegments(t, []byte("some payload"))
	fragment4 := ip4(1, iana.ProtoUDP, p["udp4"][20:])
	fragment4[6] = 0x20
	vxlan := func(inner []byte) []byte {
		return udp4(4789, join("\x08\x00\x00\x00\x00\x00\x07\x00", ether(iana.TypeIPv4, inner)))
	}
	noUDP4, noUDP6 := with(p["udp4"], 26, "\x00\x00"), with(p["udp6"], 46, "\x00\x00")
	for _, c := range []struct {
		name   string
		inner  bool
		packet []byte
		more   int // bytes on the wire that were not captured
		want   Integrity
	}{
		{"UDP over IPv4 without a checksum", false, noUDP4, 0, NoChecksum},
		{"UDP over IPv6 without a checksum", false, noUDP6, 0, WrongChecksum},
		{"first fragment", false, fragment4, 0, NoChecksum},
		{"later fragment", false, with(fragment4, 6, "\x00\x09"), 0, NoChecksum},
		{"options of IPv4", false, join("\x46\x00", be16(4+len(p["udp4"])), p["udp4"][4:20], "\x83\x03\x04\x00", p["udp4"][20:]), 0, NoChecksum},
		{"extension header", false, ip6(1, iana.ProtoDstOpts, join([]byte{iana.ProtoUDP, 0, 1, 4, 0, 0, 0, 0}, p["udp6"][40:])), 0, NoChecksum},
		{"another protocol", false, ip4(1, iana.ProtoSCTP, make([]byte, 20)), 0, NoChecksum},
		{"TCP header in part", false, ip4(1, iana.ProtoTCP, make([]byte, 19)), 0, NoChecksum},
		{"UDP length beyond IP", false, with(p["udp4"], 24, "\x7f"), 0, NoChecksum},
		{"UDP length 0", false, with(p["udp4"], 24, "\x00\x00"), 0, NoChecksum},
		{"UDP header in part", false, ip4(1, iana.ProtoUDP, make([]byte, 7)), 0, NoChecksum},
		{"UDP options behind the datagram", false, func() []byte {
			longer := append(append([]byte(nil), p["udp4"]...), 1, 2, 3)
			return with(longer, 2, string(be16(len(longer))))
		}(), 0, ValidChecksum},
		{"left to a network card", false, with(p["tcp4"], 36, string(func() []byte {
			sum := plainSum(p["tcp4"][12:20], be16(iana.ProtoTCP), be16(len(p["tcp4"])-20))
			return be16(int(sum))
		}())), 0, WrongChecksum},
		{"without a length", false, with(p["tcp4"], 2, "\x00\x00"), 0, ValidChecksum},
		{"without a length, cut", false, with(p["tcp4"], 2, "\x00\x00"), 1, Truncated},
		{"without a length, IPv6", false, with(p["udp6"], 4, "\x00\x00"), 0, ValidChecksum},
		{"cut", false, p["tcp6"][:50], 22, Truncated},
		{"cut behind the datagram", false, p["tcp4"], 9, ValidChecksum},
		{"without IP", false, []byte{0, 1, 2, 3}, 0, NoChecksum},
		{"without IP, cut", false, []byte{0, 1, 2, 3}, 1, Truncated},
		{"in a tunnel", true, vxlan(p["tcp4"]), 0, ValidChecksum},
		{"wrong in a tunnel", true, vxlan(with(p["tcp4"], 40, "\x00")), 0, WrongChecksum},
		{"tunnel without a checksum", false, with(vxlan(with(p["tcp4"], 40, "\x00")), 26, "\x00\x00"), 0, NoChecksum},
		{"cut before it was tunneled", true, vxlan(p["tcp4"][:30]), 0, Truncated},
	} {
		if got := integrityOf(headers.DecoderConfig{Inner: c.inner}, capture.LinkRaw, c.packet, len(c.packet)+c.more); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestIntegrityByTshark judges all packets of the project's captures as tshark does.
func TestIntegrityByTshark(t *testing.T) {
	if _, err := exec.LookPath("tshark"); err != nil {
		t.Skip(err)
	}
	names, err := filepath.Glob("../../testdata/pcaps/*.pcap*")
	if err != nil || len(names) == 0 {
		t.Fatal(len(names), err)
	}
	seen := map[Integrity]int{}
	for _, name := range names {
		lines := checksumsByTshark(t, name)
		d, h := headers.NewDecoder(headers.DecoderConfig{Inner: true}), make([]headers.Header, 1)
		eachBatch(t, name, func(b *capture.Batch) {
			for i := range b.Frames {
				d.Decode(h, b, i)
				got := IntegrityOf(&h[0], b, i)
				// tshark sums what a mirror has cut, too.
				cut := got == Truncated && (b.Frames[i].CapLen < b.Frames[i].WireLen || h[0].Flags&headers.FlagInner != 0)
				if want, ok := statusOf(&h[0], lines[0]); ok && got != want && (!cut || want == ValidChecksum) {
					t.Errorf("%s: packet %q: %v, want %v", filepath.Base(name), lines[0], got, want)
				}
				seen[got]++
				lines = lines[1:]
			}
		})
		if len(lines) > 0 {
			t.Errorf("%s: %d packets more", name, len(lines))
		}
	}
	for _, kind := range []Integrity{NoChecksum, ValidChecksum, WrongChecksum, Truncated} {
		if seen[kind] == 0 {
			t.Errorf("no packet is %v: %v", kind, seen)
		}
	}
}

// checksumsByTshark returns, of each packet, its number and what tshark says of the checksums
// of TCP, UDP, ICMP and ICMPv6: one for each header.
func checksumsByTshark(t *testing.T, name string) []string {
	t.Helper()
	out, err := exec.Command("tshark", "-r", name, "-o", "tcp.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE", "-o", "ip.defragment:FALSE", "-o", "ipv6.defragment:FALSE",
		"-T", "fields", "-e", "frame.number", "-e", "tcp.checksum.status", "-e", "udp.checksum.status", "-e", "icmp.checksum.status", "-e", "icmpv6.checksum.status").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}

// statusOf returns what a line says of the innermost header. An error of ICMP quotes others.
func statusOf(h *headers.Header, line string) (Integrity, bool) {
	fields := strings.Split(line, "\t")
	column, ok := map[uint8]int{iana.ProtoTCP: 1, iana.ProtoUDP: 2, iana.ProtoICMP: 3, iana.ProtoICMPv6: 4}[h.Proto]
	if !ok || h.Version == 0 || fields[column] == "" {
		return 0, false
	}
	all := strings.Split(fields[column], ",")
	status := all[0]
	if h.Proto == iana.ProtoUDP {
		status = all[len(all)-1]
	}
	return map[string]Integrity{"0": WrongChecksum, "1": ValidChecksum, "2": NoChecksum, "3": NoChecksum, "4": WrongChecksum}[status], true
}

// FuzzIntegrity checks that no bytes lead to a panic, that a sum is right by the RFC, and that
// a right checksum becomes wrong if a bit changes.
func FuzzIntegrity(f *testing.F) {
	for _, p := range summedSegments(f, []byte("payload")) {
		f.Add(p, uint32(len(p)), uint16(30))
		f.Add(p[:len(p)-3], uint32(len(p)), uint16(1))
	}
	for _, c := range tunnelCases {
		f.Add(c.Outer, uint32(0), uint16(60))
	}
	f.Fuzz(func(t *testing.T, data []byte, wire uint32, flip uint16) {
		for _, inner := range []bool{false, true} {
			cfg := headers.DecoderConfig{Inner: inner}
			got, h := integrityOf(cfg, capture.LinkRaw, data, int(wire)), decode(headers.NewDecoder(cfg), newBatch(capture.LinkRaw, data))[0]
			if got != ValidChecksum && got != WrongChecksum {
				continue
			}
			segment, pseudo := data[h.L4:h.End], []byte{}
			if h.Proto == iana.ProtoUDP {
				segment = segment[:binary.BigEndian.Uint16(segment[4:])]
			}
			switch {
			case h.Proto == iana.ProtoICMP:
			case h.Version == 6:
				pseudo = join(data[h.Start+8:h.Start+40], be32(uint32(len(segment))), be32(uint32(h.Proto)))
			default:
				pseudo = join(data[h.Start+12:h.Start+20], []byte{0, h.Proto}, be16(len(segment)))
			}
			none := h.Proto == iana.ProtoUDP && segment[6]|segment[7] == 0
			if right := plainSum(pseudo, segment) == 0xffff && !none; right != (got == ValidChecksum) {
				t.Fatalf("%v of %x", got, data)
			}
			at := int(flip/8) % len(segment)
			if h.Proto == iana.ProtoUDP && at/2 == 2 || got == WrongChecksum {
				continue // a different length
			}
			other := with(data, int(h.L4)+at, string([]byte{segment[at] ^ 1<<(flip%8)}))
			if again := integrityOf(cfg, capture.LinkRaw, other, int(wire)); again == ValidChecksum && !inner {
				t.Fatalf("byte %d changed: %x", at, other)
			}
		}
	})
}

// BenchmarkIntegrity judges packets of usual lengths.
func BenchmarkIntegrity(b *testing.B) {
	for _, n := range []int{0, 1460} {
		packet := ether(iana.TypeIPv4, summedSegments(b, make([]byte, n))["tcp4"])
		batch, d, h := newBatch(capture.LinkEthernet, packet), headers.NewDecoder(headers.DecoderConfig{}), make([]headers.Header, 1)
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			b.SetBytes(int64(len(packet)))
			for b.Loop() {
				d.Decode(h, batch, 0)
				IntegrityOf(&h[0], batch, 0)
			}
		})
	}
}
