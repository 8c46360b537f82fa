// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/capturetest"
	"github.com/flowdedup/flowdedup/capture/internal/encoding"
)

func TestSeveralPcap(t *testing.T) {
	for i := range capturetest.PcapKinds {
		for j := range capturetest.PcapKinds {
			if testing.Short() && j != (i+1)%len(capturetest.PcapKinds) {
				continue
			}
			t.Run(capturetest.PcapKinds[i].Name+"+"+capturetest.PcapKinds[j].Name, func(t *testing.T) {
				// Link type Ethernet with a frame check sequence of 4 bytes.
				const link = 1 | 1<<26 | 2<<28
				a, b := capturetest.Pcap(i, 70, link, 96), capturetest.Pcap(j, 90, link, 1500)
				sources := func() []capture.Source { return []capture.Source{source(t, a.Bytes(), "a"), source(t, b.Bytes(), "b")} }
				check(t, func() capture.Source { return Merge(sources(), nil) }, true, alike(anyClock))
				check(t, func() capture.Source { return Concat(sources()) }, false, alike(anyClock))

				out := split(t, Merge(sources(), nil), true, func() bool { return false }).kept.Bytes()
				magic := uint32(0xA1B2C3D4)
				if capturetest.PcapKinds[i].Magic == 0xA1B23C4D || capturetest.PcapKinds[j].Magic == 0xA1B23C4D {
					magic = 0xA1B23C4D
				}
				want := &capturetest.File{Order: binary.LittleEndian}
				want.PcapHeader(magic, 4, 1500, link)
				if !bytes.Equal(out[:PcapHeaderLen], want.Bytes()) {
					t.Errorf("file header % x, want % x", out[:PcapHeaderLen], want.Bytes())
				}
			})
		}
	}
}

func TestSeveralPcapUnlimited(t *testing.T) {
	a, b := capturetest.Pcap(0, 5, 1, 0), capturetest.Pcap(1, 5, 1, 1500)
	out := split(t, Merge([]capture.Source{source(t, a.Bytes(), "a"), source(t, b.Bytes(), "b")}, nil), true, func() bool { return false }).kept.Bytes()
	if snap := binary.LittleEndian.Uint32(out[16:]); snap != 0 {
		t.Errorf("snap length %d, want 0 (no limit)", snap)
	}
}

// TestExtremeTimes has fractions of a second and more, at both ends of what 32
// bits of seconds can say.
func TestExtremeTimes(t *testing.T) {
	for _, seconds := range []uint32{0, 1<<31 - 1, 1 << 31, 1<<32 - 1} {
		for _, fraction := range []uint32{0, 999_999, 1_999_999, 1<<32 - 1} {
			g := &capturetest.File{Order: binary.BigEndian}
			g.PcapHeader(0xA1B2C3D4, 4, 0, 1)
			g.Record(seconds, fraction, []byte("x"), 1)
			other := capturetest.Pcap(0, 1, 1, 0)
			r := split(t, Concat([]capture.Source{source(t, g.Bytes(), "a"), source(t, other.Bytes(), "b")}), false, func() bool { return false })
			if err := alike(anyClock)(packets(t, r.kept.Bytes()), r.wantKept); err != nil {
				t.Errorf("%d.%d: %v", seconds, fraction, err)
			}
		}
	}
}

// TestPcapgoReads reads the outputs with pcapgo.
func TestPcapgoReads(t *testing.T) {
	r := split(t, modes[1].open(t, 40), true, none)
	old, err := pcapgo.NewReader(&r.kept)
	if err != nil {
		t.Fatal(err)
	}
	old.SetSnaplen(1 << 30) // it does not know that 0 means no limit
	for i, want := range r.wantKept {
		data, info, err := old.ReadPacketData()
		if err != nil || string(data) != want.Data || info.Timestamp.UnixNano() != want.Time || uint32(info.Length) != want.Wire {
			t.Fatalf("pcap packet %d: %v, %v", i, info, err)
		}
	}

	g := capturetest.Pcap(1, 40, 1, 0)
	r = split(t, Merge([]capture.Source{source(t, g.Bytes(), "a"), source(t, capturetest.Pcap(2, 40, 101, 0).Bytes(), "b")}, nil), true, none)
	ng, err := pcapgo.NewNgReader(&r.kept, pcapgo.NgReaderOptions{WantMixedLinkType: true})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range r.wantKept {
		data, info, err := ng.ReadPacketData()
		if err != nil || string(data) != want.Data || info.Timestamp.UnixNano() != want.Time || uint32(info.Length) != want.Wire ||
			info.AncillaryData[0].(layers.LinkType) != layers.LinkType(want.Link) {
			t.Fatalf("pcapng packet %d: %v, %v", i, info, err)
		}
	}
	if app := ng.SectionInfo().Application; app != "flowdedup" {
		t.Errorf("written by %q", app)
	}
}

func TestCopyPcap(t *testing.T) {
	for i, k := range capturetest.PcapKinds {
		t.Run(k.Name, func(t *testing.T) {
			g := capturetest.Pcap(i, 300, 1, 65535)
			check(t, func() capture.Source { return source(t, g.Bytes(), k.Name) }, false, alike(exactly))
			checkCopy(t, g)
		})
	}
}

func TestCopyPcapNG(t *testing.T) {
	for _, order := range []capturetest.Order{binary.LittleEndian, binary.BigEndian} {
		t.Run(order.String(), func(t *testing.T) {
			g := capturetest.NG(order, 200)
			check(t, func() capture.Source { return source(t, g.Bytes(), "ng") }, false, alike(exactly))
			checkCopy(t, g)
		})
	}
}

// checkCopy compares the copy of a file with its pieces: all that are no
// packets, less those not to be copied, and the kept packets, byte for byte, with the
// section lengths unset.
func checkCopy(t *testing.T, g *capturetest.File) {
	t.Helper()
	for _, p := range capturetest.Patterns {
		var want, wantDup []byte
		rnd, n := rand.New(rand.NewPCG(1, 2)), 0
		for i, piece := range g.Pieces {
			if len(piece) >= encoding.MinSectionLen && binary.LittleEndian.Uint32(piece) == capture.BlockSectionHeader {
				piece = bytes.Clone(piece)
				binary.LittleEndian.PutUint64(piece[sectionLengthAt:], encoding.UnknownLength)
			}
			if len(piece) >= encoding.MinBlockLen && (le.Uint32(piece) == capture.BlockCustomNoCopy || binary.BigEndian.Uint32(piece) == capture.BlockCustomNoCopy) {
				continue
			}
			drop := false
			if g.Packet[i] {
				drop = p.Drop(rnd, n)
				n++
			}
			if !drop {
				want = append(want, piece...)
			}
			if drop || !g.Packet[i] {
				wantDup = append(wantDup, piece...)
			}
		}
		rnd, n = rand.New(rand.NewPCG(1, 2)), 0
		r := split(t, source(t, g.Bytes(), "copy"), false, func() bool { n++; return p.Drop(rnd, n-1) })
		if !bytes.Equal(r.kept.Bytes(), want) || !bytes.Equal(r.dup.Bytes(), wantDup) {
			t.Errorf("%s: the copy differs from the file's pieces", p.Name)
		}
	}
}

func TestCopyConcatenatedPcapNG(t *testing.T) {
	a, b := capturetest.NG(binary.LittleEndian, 60), capturetest.NG(binary.BigEndian, 50)
	open := func() capture.Source {
		return Concat([]capture.Source{source(t, a.Bytes(), "a"), source(t, b.Bytes(), "b")})
	}
	check(t, open, false, alike(exactly))
	a.Pieces, a.Packet = append(a.Pieces, b.Pieces...), append(a.Packet, b.Packet...)
	checkCopy(t, a)
}

// TestDerivedPcap writes one pcap input as packets out of tunnels are written: little-endian,
// whether its records are encoded so or not.
func TestDerivedPcap(t *testing.T) {
	for name, c := range map[string]struct {
		order    capturetest.Order
		magic    uint32
		minor    uint16
		fraction uint32 // of the second record
		second   []byte // its time as written, the time before if its own is none
	}{
		"as it is":       {binary.LittleEndian, magicNanoseconds, 4, 999_999_999, []byte{7, 0, 0, 0, 0xff, 0xc9, 0x9a, 0x3b}},
		"too large":      {binary.LittleEndian, magicNanoseconds, 4, 1e9 + 5, []byte{7, 0, 0, 0, 1, 0, 0, 0}},
		"microseconds":   {binary.LittleEndian, magicMicroseconds, 4, 3, []byte{7, 0, 0, 0, 3, 0, 0, 0}},
		"big-endian":     {binary.BigEndian, magicNanoseconds, 4, 5, []byte{7, 0, 0, 0, 5, 0, 0, 0}},
		"before 2.4":     {binary.LittleEndian, magicNanoseconds, 3, 5, []byte{7, 0, 0, 0, 5, 0, 0, 0}},
		"no nanoseconds": {binary.LittleEndian, magicMicroseconds, 4, 1e6, []byte{7, 0, 0, 0, 1, 0, 0, 0}},
	} {
		file := func(o capturetest.Order, minor uint16, second []byte) []byte {
			out := append(capturetest.PcapHeader(o, c.magic, 2, minor, 0, 1), capturetest.PcapRecord(nil, o, 7, 1, 3, 60)...)
			out = capturetest.PcapRecord(append(out, "one"...), o, 7, c.fraction, 4, 60)
			if second != nil {
				copy(out[len(out)-16:], second)
			}
			out = capturetest.PcapRecord(append(out, "more"...), o, 9, 2, 1, 60)
			return append(out, '3')
		}
		var out bytes.Buffer
		w := NewWriter(&out, WriterOptions{Format: capture.FormatPcap, Derived: true})
		if err := capturetest.Each(t, open(t, file(c.order, c.minor, nil), Options{}), func(b *capture.Batch) {
			if err := w.Write(b, nil); err != nil {
				t.Fatal(err)
			}
		}); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if want := file(binary.LittleEndian, 4, c.second); !bytes.Equal(out.Bytes(), want) {
			t.Errorf("%s: %x\nwant %x", name, out.Bytes(), want)
		}
	}
}
