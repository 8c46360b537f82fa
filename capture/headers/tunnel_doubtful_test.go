// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// TestDoubtful checks that a tunnel which is not believed is none, unless it may only be
// cut off.
func TestDoubtful(t *testing.T) {
	decoder := NewDecoder(DecoderConfig{Inner: true})
	for _, c := range udpTunnelCases {
		b := newBatch(capture.LinkRaw, c.Outer)
		layers := decoder.Layers(nil, b, 0)
		if last := layers[len(layers)-1]; (c.Carried == nil) != (len(layers) == 1) || last.Kind == LayerUnread {
			t.Errorf("%s: %+v", c.Name, layers)
		}
		cut := newBatch(capture.LinkRaw, c.Outer[:min(36, len(c.Outer)-1)])
		cut.Frames[0].WireLen = uint32(len(c.Outer))
		layers = decoder.Layers(nil, cut, 0)
		if last := layers[len(layers)-1]; last.Kind != LayerUnread || len(layers) != 2 {
			t.Errorf("%s, cut: %+v", c.Name, layers)
		}
	}
}

// TestRandomDatagrams sends random data to the ports of tunnels, as programs that encrypt do. All but
// few keep the addresses outside.
func TestRandomDatagrams(t *testing.T) {
	const datagrams = 100_000
	r := rand.New(rand.NewPCG(35, 36))
	for _, to := range usualPorts {
		n, b := 0, &capture.Batch{}
		for range datagrams {
			b = newBatch(capture.LinkRaw, ip4(1, iana.ProtoUDP, udp(50000, int(to.port), randomBytes(r, 16+r.IntN(200)))))
			if h := decode(NewDecoder(DecoderConfig{Inner: true}), b)[0]; h.Flags&FlagInner != 0 {
				n++
			}
		}
		t.Logf("%d (%v): %d of %d opened", to.port, to.kind, n, datagrams)
		if n > 3 {
			t.Errorf("%d (%v): %d of %d opened", to.port, to.kind, n, datagrams)
		}
	}
}

// TestOrdinaryDatagrams checks that other programs may use the ports of tunnels that are
// recognized by their content.
func TestOrdinaryDatagrams(t *testing.T) {
	dns := "\x01\x00\x81\x80\x00\x01\x00\x01\x00\x00\x00\x00\x07example\x03com\x00\x00\x01\x00\x01\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x3c\x00\x04\x0a\x00\x00\x01"
	quic := "\x45\xee\x01\x02\x03\x04\x05\x06\x45\x17\x00\x2b\x59\x01\x22\x03\x40\x11\x71\x3c what looks like IPv4"
	for _, port := range []int{iana.PortL2TP, iana.PortLISP, iana.PortMPLS, iana.PortJMirror, iana.PortTZSP, iana.PortVXLAN, iana.PortCAPWAP, iana.PortLWAPP, iana.PortTeredo, iana.PortGUE} {
		for i, payload := range []string{dns, quic, string(make([]byte, 64)), "\x00\x02" + string(make([]byte, 64)), "short", ""} {
			d := udp4(port, []byte(payload))
			if h := decodeOne(DecoderConfig{Inner: true}, capture.LinkRaw, d); h.Flags&FlagInner != 0 || h.Start != 0 {
				t.Errorf("port %d, payload %d: %+v", port, i, h)
			}
		}
	}
}
