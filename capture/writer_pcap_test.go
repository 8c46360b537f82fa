package capture

import (
	"bytes"
	"encoding/binary"
	"testing"
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
