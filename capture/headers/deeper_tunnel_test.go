// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/frametest"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// checkPlainTunnel compares Tunnels.Plain with Layers, and returns the kind of the tunnel that it finds.
func checkPlainTunnel(t *testing.T, frame []byte) (kind LayerKind) {
	t.Helper()
	h := decodeOne(DecoderConfig{Inner: true}, capture.LinkEthernet, frame)
	kind, id, ok := usualTunnels.Plain(frame, h.Start)
	if !ok {
		return 0
	}
	var identified []Layer
	for _, l := range layersOf(true, capture.LinkEthernet, frame) {
		if l.Kind.Tunnel() || l.Kind.HasID() {
			identified = append(identified, l)
		}
	}
	if len(identified) != 1 || identified[0].Kind != kind || kind.HasID() && identified[0].ID != id {
		t.Fatalf("frame %x: IP at %d: a tunnel %v:%d, want %s", frame, h.Start, kind, id, describeLayers(identified))
	}
	return kind
}

// TestPlainTunnel has tunnels of all sorts, changed and cut.
func TestPlainTunnel(t *testing.T) {
	found, random := map[LayerKind]int{}, rand.New(rand.NewPCG(17, 18))
	for _, c := range frametest.TunnelCases {
		typ := map[byte]int{4: iana.TypeIPv4, 6: iana.TypeIPv6}[c.Outer[0]>>4]
		whole := ether(typ, c.Outer)
		for n := range whole {
			found[checkPlainTunnel(t, whole[:n])]++
		}
		found[checkPlainTunnel(t, frametest.VLAN(whole))]++
		for range 2000 {
			at := 12 + random.IntN(min(len(whole), 110)-12)
			found[checkPlainTunnel(t, frametest.With(whole, at, string([]byte{whole[at] ^ 1<<random.IntN(8)})))]++
		}
	}
	for _, kind := range []LayerKind{LayerIPinIP, LayerGRE, LayerERSPAN, LayerVXLAN, LayerGENEVE, LayerGTPU} {
		if found[kind] < 1000 {
			t.Errorf("%d of kind %v", found[kind], kind)
		}
	}
}

// FuzzPlainTunnel compares any frame at any start.
func FuzzPlainTunnel(f *testing.F) {
	for _, c := range frametest.TunnelCases {
		f.Add(ether(iana.TypeIPv4, c.Outer), uint32(64))
	}
	f.Fuzz(func(t *testing.T, frame []byte, start uint32) {
		checkPlainTunnel(t, frame)
		usualTunnels.Plain(frame, start)
	})
}
