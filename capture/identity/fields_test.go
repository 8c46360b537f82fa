// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"bytes"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// opened is a TCP segment over IPv4 with flags, a window and options.
func opened(flags byte, window int, options string) []byte {
	size := byte(20+len(options)+3) / 4
	head := join("\x03\xe8\x00\x50\x00\x00\x00\x01\x00\x00\x00\x02", []byte{size << 4, flags}, be16(window), "\x77\x88\x00\x00", options)
	return ether(iana.TypeIPv4, ip4(1, iana.ProtoTCP, join(head, make([]byte, int(size)*4-len(head)), "data")))
}

// opening is a segment with SYN and a maximum segment size, behind n bytes without effect.
func opening(n, size int) []byte {
	return opened(2, 100, string(join(bytes.Repeat([]byte{1}, n), "\x02\x04", be16(size), "\x04\x02")))
}

// route is an ICMP message with an option that records its route: a pointer, and addresses.
func route(pointer, addresses string) []byte {
	option := join("\x07\x0b", pointer, addresses, make([]byte, 8-len(addresses)), "\x00")
	ip := ip4(1, iana.ProtoICMP, join(option, "\x08\x00\x12\x34\x00\x01\x00\x01"))
	return ether(iana.TypeIPv4, with(ip, 0, "\x48"))
}

// inOptions is a TCP segment over IPv6 with options, with a content of a type.
func inOptions(proto int, kind byte, content string) []byte {
	options := join([]byte{iana.ProtoTCP, byte(len(content)+4)/8 - 1, kind, byte(len(content))}, content)
	return ether(iana.TypeIPv6, ip6(1, proto, join(options, tcp(1000, 80, []byte("request")))))
}

// toSegment is a datagram over segment routing, at one of two segments.
func toSegment(left byte, kind byte) []byte {
	header := join([]byte{iana.ProtoTCP, 4, kind, left, 1, 0, 0, 0}, bytes.Repeat([]byte{1}, 16), bytes.Repeat([]byte{2}, 16))
	ip := ip6(1, iana.ProtoRouting, join(header, tcp(1000, 80, []byte("request"))))
	return ether(iana.TypeIPv6, with(ip, 24, string(bytes.Repeat([]byte{left + 1}, 16))))
}

// alone has for each field a frame, and the same frame with only this field changed.
func alone() map[string][2][]byte {
	v4, v6 := ether(iana.TypeIPv4, packet4), ether(iana.TypeIPv6, packet6)
	tag := func(id int) []byte { return ether(iana.TypeVLAN, join(be16(id), be16(iana.TypeIPv4), packet4)) }
	return map[string][2][]byte{
		"ttl":         {v4, with(v4, 14+8, "\x3f")},
		"dscp":        {v4, with(v4, 14+1, string([]byte{v4[15] ^ 4}))},
		"ecn":         {v4, with(v4, 14+1, string([]byte{v4[15] ^ 1}))},
		"ip-checksum": {v4, with(v4, 14+10, "\x11\x22")},
		"ip-id":       {v4, with(v4, 14+4, "\xff\xfe")},
		"flow-label":  {v6, with(v6, 14+2, "\x77\x77")},
		"l4-checksum": {v4, with(v4, 14+20+6, "\x77\x77")},
		"mac":         {v4, with(v4, 0, "abcdefghijkl")},
		"vlan":        {tag(100), tag(200)},
		"tcp-seq":     {v6, with(v6, 14+40+4, "numbers!")},
		"nat":         {v4, with(v4, 14+12, "\x01\x02\x03\x04")},
		"df":          {v4, with(v4, 14+6, "\x40")},
		"mss":         {opening(0, 1460), opening(0, 1452)},
		"tcp-header":  {opened(0x10, 100, "\x08\x0a12345678"), opened(0xd0, 200, "\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01")},
		"ip-options":  {route("\x04", ""), route("\x08", "\x0a\x01\x02\x03")},
	}
}

// TestFieldsAlone ignores each field, by itself and with all others but one: frames that
// differ in a field are copies where it is ignored, and only there.
func TestFieldsAlone(t *testing.T) {
	frames := alone()
	if len(frames) != len(fieldNames) {
		t.Fatalf("frames for %d of %d fields", len(frames), len(fieldNames))
	}
	equal := func(name string, ignore Fields) bool {
		cfg := Config{Kind: Frame, Ignore: IgnoreOnly(ignore)}
		pair := frames[name]
		return identityOf(cfg, capture.LinkEthernet, pair[0]) == identityOf(cfg, capture.LinkEthernet, pair[1])
	}
	const all = Fields(1)<<len(fieldNames) - 1
	// Checksums belong to more than one field.
	covers := map[string]Fields{"l4-checksum": NAT, "mss": TCPHeader}
	for name := range frames {
		for i, ignored := range fieldNames {
			mask, err := ParseIgnore("none," + ignored)
			if err != nil {
				t.Fatal(err)
			}
			field := Fields(1) << i
			if got, want := equal(name, mask.Apply(Frame)), ignored == name || covers[name]&field != 0; got != want {
				t.Errorf("%s ignored: frames that differ in %s are copies: %v, want %v", ignored, name, got, want)
			}
			others := all &^ field
			if got, want := equal(name, others), ignored != name || covers[name] != 0; got != want {
				t.Errorf("all but %s ignored: frames that differ in %s are copies: %v, want %v", ignored, name, got, want)
			}
		}
	}
}
