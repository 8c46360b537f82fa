package router_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
)

// linkLinuxSLL2 is what gopacket, whose link types have 8 bits, makes of
// LINKTYPE_LINUX_SLL2 (276). It has no decoder for it: the header has 20 bytes
// and begins with the protocol.
const linkLinuxSLL2 layers.LinkType = 276 & 0xFF

// sighting is one record of a capture.
type sighting struct {
	time     int64  // nanoseconds since 1970
	point    int    // where it was seen: an interface of a file, or a file
	identity string // the datagram without hop limit, DSCP, ECN and checksum, else the frame without tags
	frame    string
	hops     int // TTL or hop limit, -1 without IP
	tags     int // VLAN tags
}

// readCapture reads a file's records; point numbers the file.
func readCapture(t *testing.T, path string, point int) []sighting {
	t.Helper()
	var all []sighting
	for _, r := range readRecords(t, path) {
		one := dissect(r.data, r.link)
		one.time = r.time
		one.point = point + r.point
		all = append(all, one)
	}
	return all
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
			return one
		case *layers.IPv6:
			one.hops = int(header.HopLimit)
			one.identity = maskIPv6(header)
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
	masked[1], masked[8], masked[10], masked[11] = 0, 0, 0, 0
	return string(masked)
}

func maskIPv6(header *layers.IPv6) string {
	masked := append(bytes.Clone(header.Contents), header.Payload...)
	masked[0], masked[1], masked[7] = masked[0]&0xF0, masked[1]&0x0F, 0
	return string(masked)
}
