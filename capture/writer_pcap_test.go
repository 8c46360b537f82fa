package capture

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"
)

func TestSeveralPcap(t *testing.T) {
	for i := range pcapKinds {
		for j := range pcapKinds {
			t.Run(pcapKinds[i].name+"+"+pcapKinds[j].name, func(t *testing.T) {
				// Link type Ethernet with a frame check sequence of 4 bytes.
				const link = 1 | 1<<26 | 2<<28
				a, b := forgePcap(i, 70, link, 96), forgePcap(j, 90, link, 1500)
				sources := func() []Source { return []Source{source(t, a.bytes(), "a"), source(t, b.bytes(), "b")} }
				check(t, func() Source { return Merge(sources(), nil) }, true, alike(anyClock))
				check(t, func() Source { return Concat(sources()) }, false, alike(anyClock))

				out := split(t, Merge(sources(), nil), true, func() bool { return false }).kept.Bytes()
				magic := uint32(0xA1B2C3D4)
				if pcapKinds[i].magic == 0xA1B23C4D || pcapKinds[j].magic == 0xA1B23C4D {
					magic = 0xA1B23C4D
				}
				want := &forge{order: binary.LittleEndian}
				want.pcapHeader(magic, 4, 1500, link)
				if !bytes.Equal(out[:pcapHeaderLen], want.bytes()) {
					t.Errorf("file header % x, want % x", out[:pcapHeaderLen], want.bytes())
				}
			})
		}
	}
}

func TestSeveralPcapUnlimited(t *testing.T) {
	a, b := forgePcap(0, 5, 1, 0), forgePcap(1, 5, 1, 1500)
	out := split(t, Merge([]Source{source(t, a.bytes(), "a"), source(t, b.bytes(), "b")}, nil), true, func() bool { return false }).kept.Bytes()
	if snap := binary.LittleEndian.Uint32(out[16:]); snap != 0 {
		t.Errorf("snap length %d, want 0 (no limit)", snap)
	}
}

// TestExtremeTimes has fractions of a second and more, at both ends of what 32
// bits of seconds can say.
func TestExtremeTimes(t *testing.T) {
	for _, seconds := range []uint32{0, 1<<31 - 1, 1 << 31, 1<<32 - 1} {
		for _, fraction := range []uint32{0, 999_999, 1_999_999, 1<<32 - 1} {
			g := &forge{order: binary.BigEndian}
			g.pcapHeader(0xA1B2C3D4, 4, 0, 1)
			g.record(seconds, fraction, []byte("x"), 1)
			other := forgePcap(0, 1, 1, 0)
			r := split(t, Concat([]Source{source(t, g.bytes(), "a"), source(t, other.bytes(), "b")}), false, func() bool { return false })
			if err := alike(anyClock)(packets(t, r.kept.Bytes()), r.wantKept); err != nil {
				t.Errorf("%d.%d: %v", seconds, fraction, err)
			}
		}
	}
}

// TestPcapgoReads reads the outputs with another library.
func TestPcapgoReads(t *testing.T) {
	r := split(t, modes[1].open(t, 40), true, none)
	old, err := pcapgo.NewReader(&r.kept)
	if err != nil {
		t.Fatal(err)
	}
	old.SetSnaplen(1 << 30) // it does not know that 0 means no limit
	for i, want := range r.wantKept {
		data, info, err := old.ReadPacketData()
		if err != nil || string(data) != want.data || info.Timestamp.UnixNano() != want.time || uint32(info.Length) != want.wire {
			t.Fatalf("pcap packet %d: %v, %v", i, info, err)
		}
	}

	g := forgePcap(1, 40, 1, 0)
	r = split(t, Merge([]Source{source(t, g.bytes(), "a"), source(t, forgePcap(2, 40, 101, 0).bytes(), "b")}, nil), true, none)
	ng, err := pcapgo.NewNgReader(&r.kept, pcapgo.NgReaderOptions{WantMixedLinkType: true})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range r.wantKept {
		data, info, err := ng.ReadPacketData()
		if err != nil || string(data) != want.data || info.Timestamp.UnixNano() != want.time || uint32(info.Length) != want.wire ||
			info.AncillaryData[0].(layers.LinkType) != layers.LinkType(want.link) {
			t.Fatalf("pcapng packet %d: %v, %v", i, info, err)
		}
	}
	if app := ng.SectionInfo().Application; app != "flowdedup" {
		t.Errorf("written by %q", app)
	}
}

func TestCopyPcap(t *testing.T) {
	for i, k := range pcapKinds {
		t.Run(k.name, func(t *testing.T) {
			g := forgePcap(i, 300, 1, 65535)
			check(t, func() Source { return source(t, g.bytes(), k.name) }, false, alike(exactly))
			checkCopy(t, g)
		})
	}
}

func TestCopyPcapNG(t *testing.T) {
	for _, order := range []byteOrder{binary.LittleEndian, binary.BigEndian} {
		t.Run(order.String(), func(t *testing.T) {
			g := forgeNG(order, 200)
			check(t, func() Source { return source(t, g.bytes(), "ng") }, false, alike(exactly))
			checkCopy(t, g)
		})
	}
}

// checkCopy compares the copy of a file with its pieces: all that are no
// packets, less those not to be copied, and the kept packets, byte for byte, with the
// section lengths unset.
func checkCopy(t *testing.T, g *forge) {
	t.Helper()
	for _, p := range patterns {
		var want, wantDup []byte
		rnd, n := rand.New(rand.NewPCG(1, 2)), 0
		for i, piece := range g.pieces {
			if len(piece) >= minSectionLen && binary.LittleEndian.Uint32(piece) == BlockSectionHeader {
				piece = bytes.Clone(piece)
				binary.LittleEndian.PutUint64(piece[sectionLengthAt:], unknownLength)
			}
			if len(piece) >= minBlockLen && (le.Uint32(piece) == BlockCustomNoCopy || binary.BigEndian.Uint32(piece) == BlockCustomNoCopy) {
				continue
			}
			drop := false
			if g.packet[i] {
				drop = p.drop(rnd, n)
				n++
			}
			if !drop {
				want = append(want, piece...)
			}
			if drop || !g.packet[i] {
				wantDup = append(wantDup, piece...)
			}
		}
		rnd, n = rand.New(rand.NewPCG(1, 2)), 0
		r := split(t, source(t, g.bytes(), "copy"), false, func() bool { n++; return p.drop(rnd, n-1) })
		if !bytes.Equal(r.kept.Bytes(), want) || !bytes.Equal(r.dup.Bytes(), wantDup) {
			t.Errorf("%s: the copy differs from the file's pieces", p.name)
		}
	}
}

func TestCopyConcatenatedPcapNG(t *testing.T) {
	a, b := forgeNG(binary.LittleEndian, 60), forgeNG(binary.BigEndian, 50)
	open := func() Source { return Concat([]Source{source(t, a.bytes(), "a"), source(t, b.bytes(), "b")}) }
	check(t, open, false, alike(exactly))
	a.pieces, a.packet = append(a.pieces, b.pieces...), append(a.packet, b.packet...)
	checkCopy(t, a)
}
