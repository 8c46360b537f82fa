// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// TestTrailers checks that what a switch adds behind a payload that states its length does
// not count, and that all of the payload does.
func TestTrailers(t *testing.T) {
	lldp := join("\x02\x07\x04", mac(7), "\x04\x02\x07", "1", "\x06\x02\x00\x78", "\xfe\x34\x00\x12\x0f\x01", make([]byte, 48), "\x00\x00")
	ptp := join("\x00\x02\x00\x2c", make([]byte, 30), be16(77), "\x00\x00", make([]byte, 6))
	sampled := join("\x40\x00", be16(8+56), "\x00\x00\x00\x00", "\x60\x36", make([]byte, 54))
	cfg := Config{Kind: L3}
	stamp := "\x60\x00\x00\x01\x12\x34\x56\x78\x00\x0a\x00\x01"
	for name, frame := range map[string][]byte{
		"goose": goose(1), "gse": with(goose(1), 12, "\x88\xb9"), "sampled values": ether(iana.TypeSamples, sampled),
		"ptp": ether(iana.TypePTP, ptp), "lldp": ether(iana.TypeLLDP, lldp),
	} {
		plain := identityOf(cfg, capture.LinkEthernet, frame)
		for _, trailer := range []string{"a", "\x00\x00", stamp, fcs, "\x01\xf4\xa0\x53\x88\xfb"} {
			for _, before := range [][]byte{frame, padded60(frame), vlan(frame)} {
				if got := identityOf(cfg, capture.LinkEthernet, join(before, trailer)); got != plain {
					t.Errorf("%s with trailer %x:\n%x\n%x", name, trailer, got, plain)
				}
			}
		}
		for at := 18; at < len(frame)-2; at++ {
			if got := identityOf(cfg, capture.LinkEthernet, with(frame, at, string([]byte{frame[at] ^ 0x40}))); got == plain {
				t.Errorf("%s: byte %d does not count", name, at)
			}
		}
	}
	for name, frame := range map[string][]byte{
		"lldp without its end": ether(iana.TypeLLDP, lldp[:len(lldp)-2]), "goose that states too much": with(goose(1), 16, "\x7f\xff"),
		"ptp that states too little": with(ether(iana.TypePTP, ptp), 16, "\x00\x21"),
	} {
		if got := identityOf(cfg, capture.LinkEthernet, join(frame, stamp)); got == identityOf(cfg, capture.LinkEthernet, frame) {
			t.Errorf("%s: a trailer does not count", name)
		}
	}
}
