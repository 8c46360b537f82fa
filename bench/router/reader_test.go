// SPDX-License-Identifier: Apache-2.0

package router_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
)

// record is one packet as stored. The reader only knows the lab's formats: little-endian
// pcap, also compressed, and pcapng with enhanced packet blocks and decimal clocks.
type record struct {
	time  int64 // nanoseconds since 1970
	point int   // pcapng interface
	link  layers.LinkType
	data  []byte
}

func readRecords(t *testing.T, path string) []record {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(path, ".gz") {
		content = unpack(t, content)
	}
	switch binary.LittleEndian.Uint32(content) {
	case 0x0A0D0D0A:
		return readPcapNG(content)
	case 0xA1B23C4D:
		return readPcap(content, 1)
	case 0xA1B2C3D4:
		return readPcap(content, 1000)
	}
	t.Fatalf("%s: not a little-endian capture", path)
	return nil
}

func unpack(t *testing.T, content []byte) []byte {
	t.Helper()
	stream, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(stream)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

func readPcap(content []byte, unit int64) []record {
	word := binary.LittleEndian.Uint32
	link := layers.LinkType(word(content[20:]))
	var all []record
	for rest := content[24:]; len(rest) > 0; {
		time := int64(word(rest))*1e9 + int64(word(rest[4:]))*unit
		end := 16 + word(rest[8:])
		all = append(all, record{time: time, link: link, data: rest[16:end]})
		rest = rest[end:]
	}
	return all
}

func readPcapNG(content []byte) []record {
	word := binary.LittleEndian.Uint32
	var links []layers.LinkType
	var units []int64
	var all []record
	for rest := content; len(rest) > 0; rest = rest[word(rest[4:]):] {
		body := rest[8 : word(rest[4:])-4]
		switch word(rest) {
		case 1:
			links = append(links, layers.LinkType(word(body)))
			units = append(units, unitOf(body[8:]))
		case 6:
			point := int(word(body))
			ticks := int64(word(body[4:]))<<32 | int64(word(body[8:]))
			all = append(all, record{ticks * units[point], point, links[point], body[20 : 20+word(body[12:])]})
		}
	}
	return all
}

// unitOf returns the nanoseconds of an interface's clock tick from its
// options: if_tsresol has code 9 and holds a negative power of ten.
func unitOf(options []byte) int64 {
	for len(options) >= 4 {
		code, length := binary.LittleEndian.Uint16(options), binary.LittleEndian.Uint16(options[2:])
		if code == 9 {
			return int64(math.Pow10(9 - int(options[4])))
		}
		options = options[4+(length+3)&^3:]
	}
	return 1000
}

// linkLinuxSLL2 is LINKTYPE_LINUX_SLL2 (276) in gopacket, whose link types have 8 bits.
// It has no decoder for it: the header has 20 bytes and begins with the protocol.
const linkLinuxSLL2 layers.LinkType = 276 & 0xFF

// sighting is one record of a capture.
type sighting struct {
	time     int64  // nanoseconds since 1970
	point    int    // where it was seen: an interface of a file, or a file
	identity string // the datagram without hop limit, DSCP, ECN, DF and checksum, else the frame without tags
	frame    string
	hops     int       // TTL or hop limit, -1 without IP
	tags     int       // VLAN tags
	ends     [3]string // protocol, and addresses with ports, of TCP and UDP
}

// readCapture reads a file's records; point numbers the file. With inner it returns the
// content of VXLAN and GENEVE, without the checksums of TCP and UDP.
func readCapture(t *testing.T, path string, point int, inner bool) []sighting {
	t.Helper()
	var all []sighting
	for _, r := range readRecords(t, path) {
		if inner {
			r.data = insideOf(t, r.data)
		}
		one := dissect(r.data, r.link)
		if inner {
			one.identity = withoutChecksum(one.identity)
		}
		one.time = r.time
		one.point = point + r.point
		all = append(all, one)
	}
	return all
}

// insideOf returns the frame that a tunnel carries.
func insideOf(t *testing.T, data []byte) []byte {
	t.Helper()
	packet := decode(data, layers.LinkTypeEthernet)
	for _, kind := range []gopacket.LayerType{layers.LayerTypeVXLAN, layers.LayerTypeGeneve} {
		if tunnel := packet.Layer(kind); tunnel != nil {
			return tunnel.LayerPayload()
		}
	}
	t.Fatalf("no tunnel: %x", data)
	return nil
}

// checksumAt is where TCP and UDP have their checksum.
var checksumAt = map[layers.IPProtocol]int{layers.IPProtocolTCP: 16, layers.IPProtocolUDP: 6}

// withoutChecksum masks the checksum of a datagram's TCP or UDP header, if it has one.
func withoutChecksum(datagram string) string {
	masked := []byte(datagram)
	if protocol, header := transport(masked); header != nil {
		clear(header[checksumAt[protocol]:][:2])
	}
	return string(masked)
}

// transport returns the TCP or UDP header of a datagram and the rest.
func transport(datagram []byte) (protocol layers.IPProtocol, header []byte) {
	first := 0
	switch datagram[0] >> 4 {
	case 4:
		ip := gopacket.NewPacket(datagram, layers.LayerTypeIPv4, gopacket.NoCopy).Layer(layers.LayerTypeIPv4).(*layers.IPv4)
		protocol, header, first = ip.Protocol, ip.Payload, int(ip.FragOffset)
	case 6:
		packet := gopacket.NewPacket(datagram, layers.LayerTypeIPv6, gopacket.NoCopy)
		ip := packet.Layer(layers.LayerTypeIPv6).(*layers.IPv6)
		protocol, header = ip.NextHeader, ip.Payload
		if fragment, ok := packet.Layer(layers.LayerTypeIPv6Fragment).(*layers.IPv6Fragment); ok {
			protocol, header, first = fragment.NextHeader, fragment.Payload, int(fragment.FragmentOffset)
		}
	}
	if checksumAt[protocol] == 0 || first != 0 {
		return 0, nil
	}
	return protocol, header
}

// endsOf returns the protocol and the ends of a TCP or UDP datagram.
func endsOf(datagram string, from, to net.IP) [3]string {
	protocol, header := transport([]byte(datagram))
	if header == nil {
		return [3]string{}
	}
	port := func(at int) uint16 { return binary.BigEndian.Uint16(header[at:]) }
	one, other := fmt.Sprint(from, " ", port(0)), fmt.Sprint(to, " ", port(2))
	return [3]string{fmt.Sprint(int(protocol)), min(one, other), max(one, other)}
}

func dissect(data []byte, link layers.LinkType) sighting {
	one := sighting{frame: string(data), identity: string(data), hops: -1}
	packet := decode(data, link)
	for _, layer := range packet.Layers() {
		switch header := layer.(type) {
		case *layers.Dot1Q:
			one.tags++
			one.identity = string(data[:12]) + string(header.Contents[2:]) + string(header.Payload)
		case *layers.IPv4:
			one.hops = int(header.TTL)
			one.identity = maskIPv4(header)
			one.ends = endsOf(one.identity, header.SrcIP, header.DstIP)
			return one
		case *layers.IPv6:
			one.hops = int(header.HopLimit)
			one.identity = maskIPv6(header)
			one.ends = endsOf(one.identity, header.SrcIP, header.DstIP)
			return one
		}
	}
	return one
}

func decode(data []byte, link layers.LinkType) gopacket.Packet {
	if link != linkLinuxSLL2 {
		return gopacket.NewPacket(data, link, gopacket.NoCopy)
	}
	ethertype := layers.EthernetType(binary.BigEndian.Uint16(data))
	return gopacket.NewPacket(data[20:], ethertype, gopacket.NoCopy)
}

func maskIPv4(header *layers.IPv4) string {
	masked := append(bytes.Clone(header.Contents), header.Payload...)
	masked[1], masked[6], masked[8], masked[10], masked[11] = 0, masked[6]&^0x40, 0, 0, 0
	return string(masked)
}

func maskIPv6(header *layers.IPv6) string {
	masked := append(bytes.Clone(header.Contents), header.Payload...)
	masked[0], masked[1], masked[7] = masked[0]&0xF0, masked[1]&0x0F, 0
	return string(masked)
}
