package capture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/capture/internal/forge"
)

// FuzzWriterRoundTrip writes whatever can be read, alone and together with
// another input, less pseudo-random frames, and reads it again.
func FuzzWriterRoundTrip(f *testing.F) {
	for i := range forge.PcapKinds {
		f.Add(forge.Pcap(i, 4, 1, 64).Bytes(), uint64(i))
	}
	for i, order := range []forge.Order{binary.LittleEndian, binary.BigEndian} {
		f.Add(forge.NG(order, 6).Bytes(), uint64(i))
		f.Add(forge.NoCopy(order, true), uint64(i))
	}
	pcap, ng := forge.Pcap(1, 3, 1, 0).Bytes(), forge.NG(binary.LittleEndian, 5).Bytes()
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
			if blank(r.wantKept) > 1 || blank(r.wantDup) > 1 {
				continue
			}
			if err := with.same(packets(t, r.kept.Bytes()), r.wantKept); err != nil {
				t.Errorf("kept: %v", err)
			}
			if err := with.same(packets(t, r.dup.Bytes()), r.wantDup); err != nil {
				t.Errorf("duplicates: %v", err)
			}
		}
		fuzzPcap(t, data)
	})
}

// blank counts packets that are not to come one behind the other in a pcap file, where
// they would be zeros.
func blank(all []packet) (n int) {
	for _, p := range all {
		if p.time <= 0 && p.data == "" && p.wire == 0 {
			n++
		}
	}
	return n
}

// fuzzPcap asks for pcap, and reads what comes of it.
func fuzzPcap(t *testing.T, data []byte) {
	var want []packet
	_ = each(t, source(t, data, "fuzz"), func(b *Batch) {
		for i := range b.Frames {
			want = append(want, packetOf(b, i))
		}
	})
	out, _, err := formatted(t, source(t, data, "fuzz"), WriterOptions{Format: FormatPcap})
	if errors.Is(err, ErrNotSupported) || blank(want) > 1 {
		return
	}
	got := packets(t, out)
	if len(got) != len(want) {
		t.Fatalf("%d packets, want %d", len(got), len(want))
	}
	for i := range got {
		if g, w := got[i], want[i]; g.data != w.data || g.wire != w.wire || g.link != w.link ||
			w.time >= 0 && w.time < 1e9<<32 && max(g.time-w.time, w.time-g.time) >= 1000 {
			t.Fatalf("packet %d: %+v, want %+v", i, g, w)
		}
	}
}
