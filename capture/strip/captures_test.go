// SPDX-License-Identifier: Apache-2.0

package strip

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/capture/internal/capturetest"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
)

// identitiesOf returns the digests and protocols of all frames of a batch.
func identitiesOf(kind identity.Kind, b *capture.Batch) (digests []digest.Digest, protocols []headers.Protocol) {
	n := len(b.Frames)
	digests, protocols = make([]digest.Digest, n), make([]headers.Protocol, n)
	identity.New(identity.Config{Kind: kind}).FromFrames(protocols, b, 0).Sum(digests, digest.NewAES([16]byte{1}))
	return digests, protocols
}

// checkStrip strips a batch and compares it with what it was: the same packets by identity,
// without the headers that were to be taken off. It returns the result.
func checkStrip(t *testing.T, taken Headers, b *capture.Batch) *capture.Batch {
	t.Helper()
	source := *b
	source.Buf, source.Frames = bytes.Clone(b.Buf), slices.Clone(b.Frames)
	kind := identity.L3
	if taken&Tunnel != 0 {
		kind = identity.Inner
	}
	s := New(Config{Headers: taken})
	out := s.Strip(b, nil)
	checkRecords(t, source.Buf, source.Frames, out)
	before, protocols := identitiesOf(kind, &source)
	after, _ := identitiesOf(identity.L3, out)
	unopened, _ := identitiesOf(identity.L3, &source)
	stats := Stats{}
	for i := range out.Frames {
		old, f := &source.Frames[i], &out.Frames[i]
		same := bytes.Equal(source.Data(i), out.Data(i))
		if !same {
			stats.Stripped++
		}
		left := remaining(taken, out, i)
		if left {
			stats.Left++
		}
		want := before[i]
		if same && left {
			want = unopened[i]
		}
		// The identity of other frames than IP and Ethernet behind tags includes the type,
		// which changed.
		typed := protocols[i] == headers.NonIP && (source.Interfaces[old.Interface].LinkType != eth || taken&(MPLS|PPPoE) != 0)
		if after[i] != want && !typed {
			t.Fatalf("strip %v: frame %d is another packet: %v %x, was %v %x", taken, i, out.Interfaces[f.Interface], out.Data(i), source.Interfaces[old.Interface], source.Data(i))
		}
		if f.Time != old.Time || out.Interfaces[f.Interface].CapturePoint != source.Interfaces[old.Interface].CapturePoint {
			t.Fatalf("frame %d has another time or capture point", i)
		}
	}
	if stats != s.Stats() {
		t.Fatalf("strip %v: counted %+v, %+v by the result", taken, s.Stats(), stats)
	}
	return out
}

// remaining reports whether a frame still has a header that was to be taken off.
func remaining(taken Headers, b *capture.Batch, i int) bool {
	for _, l := range headers.NewDecoder(headers.DecoderConfig{Inner: taken&Tunnel != 0}).Layers(nil, b, i) {
		kind := l.Kind
		if kind == headers.LayerUnread {
			kind = headers.LayerKind(l.ID)
		}
		switch {
		case kind == headers.LayerVLAN && taken&VLAN != 0, kind == headers.LayerMPLS && taken&MPLS != 0,
			kind == headers.LayerPPPoE && taken&PPPoE != 0, kind.Tunnel() && taken&Tunnel != 0,
			kind == headers.LayerArista && taken&Arista != 0:
			return true
		}
	}
	return false
}

var combinations = []Headers{VLAN, MPLS, PPPoE, Tunnel, VLAN | MPLS | PPPoE, VLAN | Tunnel, Arista, all}

// checkCapture strips a capture in all ways, as far as it can be read, and reads the result.
func checkCapture(t *testing.T, name string) {
	for _, taken := range combinations {
		src, err := pcapfile.Open(name, pcapfile.Options{})
		if capture.IsDamage(err) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		w := pcapfile.NewWriter(&out, pcapfile.WriterOptions{Derived: taken&Tunnel != 0})
		var wants []capturetest.Packet
		err = capturetest.Each(t, src, func(b *capture.Batch) {
			if len(b.Frames) > 3000 {
				b.Frames = b.Frames[:3000]
				b.Blocks = slices.DeleteFunc(b.Blocks, func(k capture.Block) bool { return k.Before > 3000 })
			}
			// Each batch has a Stripper of its own here, so interfaces would be numbered anew.
			if taken&Tunnel == 0 {
				b = checkStrip(t, taken, b)
				for i := range b.Frames {
					wants = append(wants, capturetest.PacketOf(b, i))
				}
				if err := w.Write(b, nil); err != nil {
					t.Fatal(err)
				}
				return
			}
			checkStrip(t, taken, b)
		})
		if err != nil && !capture.IsDamage(err) {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		written, err := pcapfile.NewReader(&out, name, pcapfile.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := capturetest.PacketsOf(t, written); !slices.Equal(got, wants) {
			t.Fatalf("strip %v: read %d packets again, want %d", taken, len(got), len(wants))
		}
	}
}

func TestCaptures(t *testing.T) {
	names, err := filepath.Glob(filepath.Join("..", "..", "testdata", "pcaps", "*.pcap*"))
	if err != nil || len(names) == 0 {
		t.Fatal("no captures", err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) { checkCapture(t, name) })
	}
}

func TestSharedCaptures(t *testing.T) { capturetest.EachShared(t, checkCapture) }

// batchOf returns a frame in a record of each kind, with a further record behind it.
func batchOf(link capture.LinkType, data []byte, wire uint32, kind uint8) *capture.Batch {
	var order capturetest.Order = binary.LittleEndian
	if kind&1 != 0 {
		order = binary.BigEndian
	}
	b := &capture.Batch{
		Sections:   []capture.Section{{Format: capture.FormatPcapNG, BigEndian: kind&1 != 0}},
		Interfaces: []capture.Interface{{LinkType: link, TicksPerSecond: 1e6, FCSLen: kind >> 4 & 4}},
	}
	add := func(record []byte, head int) {
		at := uint32(len(b.Buf))
		b.Frames = append(b.Frames, capture.Frame{
			Data: at + uint32(head), CapLen: uint32(len(data)), WireLen: wire, Record: at, RecordLen: uint32(len(record)),
		})
		b.Buf = append(b.Buf, record...)
	}
	g := &capturetest.File{Order: order}
	options := [][]byte{g.Option(3, []byte("hash")), g.Option(2, g.U32(nil, uint32(kind)<<5)), g.End()}
	switch kind >> 1 & 3 {
	case 0:
		b.Sections[0] = capture.Section{Format: capture.FormatPcap, BigEndian: kind&1 != 0, RecordHeader: 16}
		add(append(capturetest.PcapRecord(nil, order, 1, 2, uint32(len(data)), wire), data...), 16)
	case 1:
		add(capturetest.PacketBlock(order, 0, 7, wire, data, options...), 28)
	case 2:
		add(capturetest.ObsoleteBlock(order, 0, 0, 7, wire, data), 28)
	case 3:
		wire = uint32(len(data))
		add(capturetest.SimpleBlock(order, wire, data), 12)
	}
	b.Buf = append(b.Buf, "the next record"...)
	return b
}

// FuzzStrip checks that no bytes in any record lead to a panic, to a change outside of the
// record, or to the next packet.
func FuzzStrip(f *testing.F) {
	for i, c := range cases {
		f.Add(uint32(c.link), c.before, uint32(len(c.before)), uint8(c.headers), uint8(i))
	}
	f.Fuzz(func(t *testing.T, link uint32, data []byte, wire uint32, taken, kind uint8) {
		if kind&0x40 == 0 || uint32(len(data)) > wire { // otherwise as much as the capture says
			wire = max(wire, uint32(len(data)))
		}
		b := batchOf(capture.LinkType(link), data, wire, kind)
		s := New(Config{Headers: Headers(taken)})
		before, frames := bytes.Clone(b.Buf), slices.Clone(b.Frames)
		checkRecords(t, before, frames, s.Strip(b, nil))
		// No frame is changed twice.
		if stats := s.Stats(); stats.Stripped > 1 || stats.Left > 1 {
			t.Fatal(fmt.Sprint(stats))
		}
		if kind&0x40 == 0 && wire == uint32(len(data)) {
			checkStrip(t, Headers(taken)&all, batchOf(capture.LinkType(link), data, wire, kind))
		}
	})
}
