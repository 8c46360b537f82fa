// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"bytes"
	"compress/gzip"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/capturetest"
)

// peerPackets returns what gopacket's readers make of a capture, up to their
// first error.
func peerPackets(t *testing.T, data []byte) ([]seen, error) {
	t.Helper()
	if zr, err := gzip.NewReader(bytes.NewReader(data)); err == nil {
		if data, err = io.ReadAll(zr); err != nil {
			return nil, err
		}
	}
	var r interface {
		ReadPacketData() ([]byte, gopacket.CaptureInfo, error)
	}
	var err error
	if bytes.HasPrefix(data, []byte{0x0a, 0x0d, 0x0d, 0x0a}) {
		opt := pcapgo.NgReaderOptions{WantMixedLinkType: true}
		r, err = pcapgo.NewNgReader(bytes.NewReader(data), opt)
	} else {
		r, err = pcapgo.NewReader(bytes.NewReader(data))
	}
	if err != nil {
		return nil, err
	}
	var out []seen
	for {
		packet, info, err := r.ReadPacketData()
		if err == io.EOF {
			return out, nil
		} else if err != nil {
			return out, err
		}
		p := seen{time: info.Timestamp.UnixNano(), wireLen: uint32(info.Length), data: string(packet)}
		if len(info.AncillaryData) > 0 {
			if link, ok := info.AncillaryData[0].(layers.LinkType); ok {
				p.iface.LinkType = capture.LinkType(link)
			}
		}
		out = append(out, p)
	}
}

// compareWithPeer checks all that the peer read, and that it read all.
func compareWithPeer(t *testing.T, data []byte) {
	t.Helper()
	want, err := peerPackets(t, data)
	if err != nil && len(want) == 0 {
		t.Skip("pcapgo cannot read it: ", err)
	}
	src, openErr := NewReader(bytes.NewReader(data), "test", Options{})
	if openErr != nil {
		t.Fatal(openErr)
	}
	got := readAll(t, src)
	if len(got.packets) < len(want) || err == nil && len(got.packets) != len(want) {
		t.Fatalf("%d packets, want %d (%v)", len(got.packets), len(want), err)
	}
	for i, w := range want {
		g := got.packets[i]
		switch {
		case g.time == capture.NoTime: // pcapgo makes a time up
			g.time = w.time
		case g.time == math.MaxInt64: // it overflows
			g.time = w.time
		case g.iface.TicksPerSecond == 1024: // it computes these in floating point
			if d := g.time - w.time; -1000 < d && d < 1000 {
				g.time = w.time
			}
		}
		// It keeps 8 bits of a link type.
		if w.iface.LinkType != 0 && g.iface.LinkType&0xFF != w.iface.LinkType {
			t.Fatalf("packet %d: link type %v, want %v", i, g.iface.LinkType, w.iface.LinkType)
		}
		if g.time != w.time || g.data != w.data || g.wireLen != w.wireLen {
			t.Fatalf("packet %d: time %d, %d of %d bytes; want time %d, %d of %d bytes",
				i, g.time, len(g.data), g.wireLen, w.time, len(w.data), w.wireLen)
		}
	}
}

func TestSharedAgainstPcapgo(t *testing.T) {
	dir := capturetest.Shared(t)
	names, err := filepath.Glob(filepath.Join(dir, "*.pcap*"))
	if err != nil {
		t.Fatal(err)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return filepath.Ext(name) == ".json" })
	compared := 0
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			compareWithPeer(t, data)
			compared++
		})
	}
	if compared < 60 {
		t.Errorf("compared only %d of %d captures", compared, len(names))
	}
}

func TestGeneratedAgainstPcapgo(t *testing.T) {
	for name, data := range pcapVariants() {
		t.Run(name, func(t *testing.T) { compareWithPeer(t, data) })
	}
	t.Run("pcapng", func(t *testing.T) { compareWithPeer(t, ngVariants()) })
}
