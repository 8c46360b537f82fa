package capture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"
)

// FuzzWriterRoundTrip writes whatever can be read, alone and together with
// another input, less pseudo-random frames, and reads it again.
func FuzzWriterRoundTrip(f *testing.F) {
	for i := range pcapKinds {
		f.Add(forgePcap(i, 4, 1, 64).bytes(), uint64(i))
	}
	for i, order := range []byteOrder{binary.LittleEndian, binary.BigEndian} {
		f.Add(forgeNG(order, 6).bytes(), uint64(i))
	}
	pcap, ng := forgePcap(1, 3, 1, 0).bytes(), forgeNG(binary.LittleEndian, 5).bytes()
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		if _, err := NewReader(bytes.NewReader(data), "fuzz", Options{}); err != nil {
			return
		}
		rnd := rand.New(rand.NewPCG(seed, 1))
		drop := func() bool { return rnd.IntN(3) == 0 }
		for _, with := range []struct {
			other []byte
			same  func(got, want []packet) error
		}{{nil, alike(exactly)}, {pcap, alike(anyClock)}, {ng, alike(anyClock)}} {
			src, merged := source(t, data, "fuzz"), with.other != nil
			if merged {
				src = Merge([]Source{src, source(t, with.other, "other")}, nil)
			}
			r, err := trySplit(t, src, merged, drop)
			if errors.Is(err, ErrNotSupported) {
				continue // a link type that pcapng has no room for
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := with.same(packets(t, r.kept.Bytes()), r.wantKept); err != nil {
				t.Errorf("kept: %v", err)
			}
			if err := with.same(packets(t, r.dup.Bytes()), r.wantDup); err != nil {
				t.Errorf("duplicates: %v", err)
			}
		}
	})
}
