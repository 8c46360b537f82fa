// SPDX-License-Identifier: Apache-2.0

package traits

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"testing"
	"unicode/utf8"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/internal/capturetest"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
)

// FuzzMark marks the packets of any capture. Comments are text, and only on copies. The marked
// file has all packets.
func FuzzMark(f *testing.F) {
	for _, order := range []capturetest.Order{binary.LittleEndian, binary.BigEndian} {
		f.Add(capturetest.NG(order, 6).Bytes(), uint64(1), true)
	}
	f.Add(capturetest.Pcap(1, 6, 1, 0).Bytes(), uint64(2), false)
	for _, s := range []described{{vlans: []uint16{1, 2}}, {mpls: []uint32{3}}, {vni: 4}, {pppoe: 5, ipv6: true}, {arp: true}, {iface: cooked}} {
		link := uint32(newMarkerBatch().Interfaces[s.iface].LinkType)
		g := &capturetest.File{Order: binary.LittleEndian}
		g.PcapHeader(0xA1B2C3D4, 4, 0, link)
		for i := range 3 {
			s.ttl = byte(i)
			data := s.bytes(f)
			g.Record(1, uint32(i), data, uint32(len(data)))
		}
		f.Add(g.Bytes(), uint64(3), s.vni > 0)
	}
	f.Fuzz(func(t *testing.T, data []byte, seed uint64, inner bool) {
		src, err := pcapfile.NewReader(bytes.NewReader(data), "fuzz", pcapfile.Options{})
		if err != nil {
			return
		}
		defer src.Close()
		r := rand.New(rand.NewPCG(seed, 1))
		m := newMarker(MarkerConfig{Decoder: headers.NewDecoder(headers.DecoderConfig{Inner: inner})}, 1+r.IntN(10))
		w := pcapfile.NewWriter(io.Discard, pcapfile.WriterOptions{Commented: true})
		packets := uint64(0)
		var b capture.Batch
		for src.Next(&b) == nil {
			digests, drop := make([]digest.Digest, len(b.Frames)), make([]uint64, (len(b.Frames)+63)/64)
			for i := range digests {
				digests[i][0] = r.Uint64N(3)
				drop[i/64] |= r.Uint64N(2) << (i % 64)
			}
			packets += uint64(len(b.Frames))
			out, _ := m.Mark(&b, digests, drop, nil, nil)
			for i := range out.Frames {
				text := out.Comments.Of(i)
				if copied := drop[i/64]>>(i%64)&1 == 1; copied != (len(text) > 0) || !utf8.Valid(text) {
					t.Fatalf("packet %d: %q", i, text)
				}
			}
			if err := w.Write(out, nil); err != nil {
				return // a link type that pcapng does not have
			}
		}
		if err := w.Close(); err == nil && w.Written() != packets {
			t.Fatalf("%d packets written, want %d", w.Written(), packets)
		}
	})
}
