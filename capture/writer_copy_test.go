package capture

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

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
