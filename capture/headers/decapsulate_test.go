// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"errors"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// TestDecapsulatorBelieves checks that a port that the user named is believed: whatever lies behind
// the header of its tunnel is a packet.
func TestDecapsulatorBelieves(t *testing.T) {
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
		{"wrong checksum", LayerVXLAN, unflagged(ether(iana.TypeIPv4, broken4)), Inside{LayerVXLAN, 100, 8, capture.LinkEthernet, uint32(14 + len(broken4))}, nil},
		{"cut in IP", LayerVXLAN, unflagged(ether(iana.TypeIPv4, packet4[:10])), Inside{LayerVXLAN, 100, 8, capture.LinkEthernet, 24}, nil},
		{"lldp", LayerVXLAN, unflagged(ether(0x88cc, []byte("lldp"))), Inside{LayerVXLAN, 100, 8, capture.LinkEthernet, 18}, nil},
		{"unknown type", LayerGENEVE, join("\x00\x00\x65\x58\x00\x00\x64\x00", ether(0x88b5, packet4)), Inside{LayerGENEVE, 100, 8, capture.LinkEthernet, uint32(14 + len(packet4))}, nil},
		{"header only", LayerVXLAN, unflagged(nil), Inside{}, ErrTunnelContent},
		{"header cut", LayerVXLAN, make([]byte, 7), Inside{}, ErrTunnelHeader},
		{"control", LayerGENEVE, []byte("\x00\x80\x65\x58\x00\x00\x64\x00"), Inside{}, ErrTunnelControl},
		{"other data", LayerVXLAN, unflagged([]byte("no frame, but as long as one")), Inside{LayerVXLAN, 100, 8, capture.LinkEthernet, 28}, nil},
		{"eoip", LayerGRE, join("\x20\x01\x64\x00\x00\x2a\x05\x00", arpFrame), Inside{LayerEoIP, 5, 8, capture.LinkEthernet, uint32(len(arpFrame))}, nil},
	} {
		var d Decapsulator
		if in, err := d.Read(c.kind, c.payload); err == nil && in != c.want || !errors.Is(err, c.err) {
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
