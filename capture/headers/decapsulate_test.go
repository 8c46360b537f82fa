// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"errors"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// TestDecapsulatorDoubts checks that what a mirror sends without the bit that says that VXLAN
// has an identifier is taken if it is a packet.
func TestDecapsulatorDoubts(t *testing.T) {
	unflagged := func(p []byte) []byte { return join("\x00\x00\x00\x00\x00\x00\x64\x00", p) }
	for _, c := range []struct {
		name    string
		kind    LayerKind
		payload []byte
		want    Inside
		err     error
	}{
		{"packet", LayerVXLAN, unflagged(ether(iana.TypeIPv4, packet4)), Inside{LayerVXLAN, 100, 8, capture.LinkEthernet, uint32(14 + len(packet4))}, nil},
		{"arp", LayerVXLAN, unflagged(arpFrame), Inside{LayerVXLAN, 100, 8, capture.LinkEthernet, uint32(len(arpFrame))}, nil},
		{"wrong checksum", LayerVXLAN, unflagged(ether(iana.TypeIPv4, broken4)), Inside{}, ErrTunnelHeader},
		{"other data", LayerVXLAN, unflagged([]byte("no frame, but as long as one")), Inside{}, ErrTunnelHeader},
		{"eoip", LayerGRE, join("\x20\x01\x64\x00\x00\x2a\x05\x00", arpFrame), Inside{LayerEoIP, 5, 8, capture.LinkEthernet, uint32(len(arpFrame))}, nil},
	} {
		var d Decapsulator
		if in, err := d.Read(c.kind, c.payload); in != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %+v, %v, want %+v, %v", c.name, in, err, c.want, c.err)
		}
	}
}

// TestReadTZSP checks what the tags of TZSP say, and that a cut header leads nowhere.
func TestReadTZSP(t *testing.T) {
	const head = "\x01\x00\x00\x01\x00\x0a\x01\xc8\x29\x02\x05\xdc\x01"
	in, err := ReadTZSP(join(head, arpFrame))
	if want := (Inside{At: len(head), Link: capture.LinkEthernet, Wire: 1500}); in != want || err != nil {
		t.Errorf("%+v, %v, want %+v", in, err, want)
	}
	for n := range len(head) {
		if _, err := ReadTZSP([]byte(head[:n])); !errors.Is(err, ErrTunnelHeader) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	if _, err := ReadTZSP([]byte("\x01\x04\x00\x00\x01")); !errors.Is(err, ErrTunnelControl) {
		t.Errorf("keepalive: %v", err)
	}
}
