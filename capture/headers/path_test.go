// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/frametest"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// TestPathOf reads the paths of frames of two LANs and of rings, and finds none in frames
// that only look like it.
func TestPathOf(t *testing.T) {
	v4 := ether(iana.TypeIPv4, ip4(1, iana.ProtoUDP, udp(1, 2, make([]byte, 40))))
	v6 := ether(iana.TypeIPv6, ip6(1, iana.ProtoUDP, udp(1, 2, make([]byte, 40))))
	whole := func(data []byte) tap { return onEthernet("", data) }
	// The datagram ends with what would be a trailer behind it.
	inside := prp(v4, 14, 0xa, 5)
	inside[16], inside[17] = byte((len(inside)-14)>>8), byte(len(inside)-14)
	inside6 := prp(v6, 14, 0xb, 5)
	inside6[18], inside6[19] = 0, byte(len(inside6)-14-40)
	unknown := prp(v4, 14, 0xa, 5)
	unknown[16], unknown[17] = 0, 0 // as with segmentation offload
	for name, c := range map[string]struct {
		tap
		path     Path
		sequence uint16
	}{
		"LAN A":               {whole(prp(v4, 14, 0xa, 5)), LANA, 5},
		"LAN B":               {whole(prp(v4, 14, 0xb, 0xfffe)), LANB, 0xfffe},
		"IPv6":                {whole(prp(v6, 14, 0xb, 7)), LANB, 7},
		"a VLAN":              {whole(prp(vlan(v4), 18, 0xa, 5)), LANA, 5},
		"two VLANs":           {whole(prp(qinq(v4), 22, 0xa, 5)), LANA, 5},
		"padded":              {whole(prp(padded60(ether(iana.TypeARP, []byte("some"))), 14, 0xb, 5)), LANB, 5},
		"padding uncounted":   {whole(join(padded60(ether(iana.TypeARP, []byte("some"))), be16(5), be16(0xb<<12|4+6), be16(trailerSuffix))), LANB, 5},
		"802.2":               {whole(prp(ether(40, make([]byte, 40)), 14, 0xa, 9)), LANA, 9},
		"check sequence":      {tap{Link: capture.LinkEthernet, Fcs: 4, Data: join(prp(v4, 14, 0xa, 5), "\xff\xff\xff\xff")}, LANA, 5},
		"undeclared sequence": {whole(frametest.Checked(prp(v4, 14, 0xb, 5))), LANB, 5},
		"undeclared, IPv6":    {whole(frametest.Checked(prp(v6, 14, 0xa, 5))), LANA, 5},
		"undeclared, VLANs":   {whole(frametest.Checked(prp(qinq(v4), 22, 0xa, 5))), LANA, 5},
		"undeclared, padded":  {whole(frametest.Checked(prp(padded60(ether(iana.TypeARP, []byte("some"))), 14, 0xb, 5))), LANB, 5},
		"undeclared, 802.2":   {whole(frametest.Checked(prp(ether(40, make([]byte, 40)), 14, 0xa, 9))), LANA, 9},
		"undeclared, ring":    {whole(frametest.Checked(hsr(v4, 1, 8))), hsrPaths | 1, 8},
		"ring":                {whole(hsr(v4, 0, 8)), hsrPaths, 8},
		"ring, other way":     {whole(hsr(v4, 1, 8)), hsrPaths | 1, 8},
		"ring in a VLAN":      {whole(vlan(hsr(v4, 1, 8))), hsrPaths | 1, 8},
		"ring, cut":           {tap{Link: capture.LinkEthernet, Cut: 20, Data: hsr(v4, 1, 8)[:30]}, hsrPaths | 1, 8},

		"no network":           {whole(v4), NoPath, 0},
		"no LAN":               {whole(prp(v4, 14, 0xc, 5)), NoPath, 0},
		"another length":       {whole(prp(v4, 15, 0xa, 5)), NoPath, 0},
		"of the datagram":      {whole(inside), NoPath, 0},
		"of the IPv6 one":      {whole(inside6), NoPath, 0},
		"of what has no end":   {whole(unknown), NoPath, 0},
		"of the 802.2 part":    {whole(prp(ether(46, make([]byte, 40)), 14, 0xa, 9)), NoPath, 0},
		"cut off":              {tap{Link: capture.LinkEthernet, Cut: 6, Data: v4}, NoPath, 0},
		"cut there":            {tap{Link: capture.LinkEthernet, Cut: 4, Data: prp(v4, 14, 0xa, 5)}, NoPath, 0},
		"another link":         {tap{Link: capture.LinkRaw, Data: prp(v4, 14, 0xa, 5)}, NoPath, 0},
		"a short tag":          {whole(hsr(v4, 1, 8)[:17]), NoPath, 0},
		"nothing":              {whole(nil), NoPath, 0},
		"wrong sequence":       {whole(join(prp(v4, 14, 0xa, 5), "\xff\xff\xff\xff")), NoPath, 0},
		"sequence cut off":     {tap{Link: capture.LinkEthernet, Cut: 1, Data: frametest.Checked(prp(v4, 14, 0xa, 5))}, NoPath, 0},
		"sequence, no LAN":     {whole(frametest.Checked(prp(v4, 14, 0xc, 5))), NoPath, 0},
		"sequence of datagram": {whole(frametest.Checked(inside)), NoPath, 0},
		"sequence, no frame":   {whole(frametest.Checked([]byte("\x88\xfb"))), NoPath, 0},
	} {
		b := batchOf([]tap{c.tap})
		if p, sequence := PathOf(b, 0); p != c.path || sequence != c.sequence {
			t.Errorf("%s: path %q, sequence %d, want %q, %d", name, p, sequence, c.path, c.sequence)
		}
	}
}

// TestPaths names the paths, and says which of a pair they are.
func TestPaths(t *testing.T) {
	for p, name := range map[Path]string{NoPath: "", LANA: "LAN A", LANB: "LAN B", hsrPaths: "HSR path 0", hsrPaths | 13: "HSR path 13"} {
		second := strings.HasSuffix(name, "B") || strings.HasSuffix(name, "3")
		if p.String() != name || p.IsSecond() != second || p.Ring() != strings.HasPrefix(name, "HSR") {
			t.Errorf("%q: %q, second %t, ring %t", name, p, p.IsSecond(), p.Ring())
		}
	}
}
