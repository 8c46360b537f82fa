package capture

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/capture/internal/forge"
)

func TestCopyPcap(t *testing.T) {
	for i, k := range forge.PcapKinds {
		t.Run(k.Name, func(t *testing.T) {
			g := forge.Pcap(i, 300, 1, 65535)
			check(t, func() Source { return source(t, g.Bytes(), k.Name) }, false, alike(exactly))
			checkCopy(t, g)
		})
	}
}

func TestCopyPcapNG(t *testing.T) {
	for _, order := range []forge.Order{binary.LittleEndian, binary.BigEndian} {
		t.Run(order.String(), func(t *testing.T) {
			g := forge.NG(order, 200)
			check(t, func() Source { return source(t, g.Bytes(), "ng") }, false, alike(exactly))
			checkCopy(t, g)
		})
	}
}

// checkCopy compares the copy of a file with its pieces: all that are no
// packets, less those not to be copied, and the kept packets, byte for byte, with the
// section lengths unset.
func checkCopy(t *testing.T, g *forge.File) {
	t.Helper()
	for _, p := range patterns {
		var want, wantDup []byte
		rnd, n := rand.New(rand.NewPCG(1, 2)), 0
		for i, piece := range g.Pieces {
			if len(piece) >= minSectionLen && binary.LittleEndian.Uint32(piece) == BlockSectionHeader {
				piece = bytes.Clone(piece)
				binary.LittleEndian.PutUint64(piece[sectionLengthAt:], unknownLength)
			}
			if len(piece) >= minBlockLen && (le.Uint32(piece) == BlockCustomNoCopy || binary.BigEndian.Uint32(piece) == BlockCustomNoCopy) {
				continue
			}
			drop := false
			if g.Packet[i] {
				drop = p.drop(rnd, n)
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
		r := split(t, source(t, g.Bytes(), "copy"), false, func() bool { n++; return p.drop(rnd, n-1) })
		if !bytes.Equal(r.kept.Bytes(), want) || !bytes.Equal(r.dup.Bytes(), wantDup) {
			t.Errorf("%s: the copy differs from the file's pieces", p.name)
		}
	}
}

func TestCopyConcatenatedPcapNG(t *testing.T) {
	a, b := forge.NG(binary.LittleEndian, 60), forge.NG(binary.BigEndian, 50)
	open := func() Source { return Concat([]Source{source(t, a.Bytes(), "a"), source(t, b.Bytes(), "b")}) }
	check(t, open, false, alike(exactly))
	a.Pieces, a.Packet = append(a.Pieces, b.Pieces...), append(a.Packet, b.Packet...)
	checkCopy(t, a)
}
