package capture

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/flowdedup/flowdedup/capture/internal/forge"
)

func TestSeveralPcap(t *testing.T) {
	for i := range forge.PcapKinds {
		for j := range forge.PcapKinds {
			t.Run(forge.PcapKinds[i].Name+"+"+forge.PcapKinds[j].Name, func(t *testing.T) {
				// Link type Ethernet with a frame check sequence of 4 bytes.
				const link = 1 | 1<<26 | 2<<28
				a, b := forge.Pcap(i, 70, link, 96), forge.Pcap(j, 90, link, 1500)
				sources := func() []Source { return []Source{source(t, a.Bytes(), "a"), source(t, b.Bytes(), "b")} }
				check(t, func() Source { return Merge(sources(), nil) }, true, alike(anyClock))
				check(t, func() Source { return Concat(sources()) }, false, alike(anyClock))

				out := split(t, Merge(sources(), nil), true, func() bool { return false }).kept.Bytes()
				magic := uint32(0xA1B2C3D4)
				if forge.PcapKinds[i].Magic == 0xA1B23C4D || forge.PcapKinds[j].Magic == 0xA1B23C4D {
					magic = 0xA1B23C4D
				}
				want := &forge.File{Order: binary.LittleEndian}
				want.PcapHeader(magic, 4, 1500, link)
				if !bytes.Equal(out[:pcapHeaderLen], want.Bytes()) {
					t.Errorf("file header % x, want % x", out[:pcapHeaderLen], want.Bytes())
				}
			})
		}
	}
}

func TestSeveralPcapUnlimited(t *testing.T) {
	a, b := forge.Pcap(0, 5, 1, 0), forge.Pcap(1, 5, 1, 1500)
	out := split(t, Merge([]Source{source(t, a.Bytes(), "a"), source(t, b.Bytes(), "b")}, nil), true, func() bool { return false }).kept.Bytes()
	if snap := binary.LittleEndian.Uint32(out[16:]); snap != 0 {
		t.Errorf("snap length %d, want 0 (no limit)", snap)
	}
}

// TestExtremeTimes has fractions of a second and more, at both ends of what 32
// bits of seconds can say.
func TestExtremeTimes(t *testing.T) {
	for _, seconds := range []uint32{0, 1<<31 - 1, 1 << 31, 1<<32 - 1} {
		for _, fraction := range []uint32{0, 999_999, 1_999_999, 1<<32 - 1} {
			g := &forge.File{Order: binary.BigEndian}
			g.PcapHeader(0xA1B2C3D4, 4, 0, 1)
			g.Record(seconds, fraction, []byte("x"), 1)
			other := forge.Pcap(0, 1, 1, 0)
			r := split(t, Concat([]Source{source(t, g.Bytes(), "a"), source(t, other.Bytes(), "b")}), false, func() bool { return false })
			if err := alike(anyClock)(packets(t, r.kept.Bytes()), r.wantKept); err != nil {
				t.Errorf("%d.%d: %v", seconds, fraction, err)
			}
		}
	}
}
