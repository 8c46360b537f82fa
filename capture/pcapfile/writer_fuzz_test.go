package pcapfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/capturetest"
)

// FuzzWriterRoundTrip writes whatever can be read, alone and together with
// another input, less pseudo-random frames, and reads it again.
func FuzzWriterRoundTrip(f *testing.F) {
	for i := range capturetest.PcapKinds {
		f.Add(capturetest.Pcap(i, 4, 1, 64).Bytes(), uint64(i))
	}
	for i, order := range []capturetest.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		f.Add(capturetest.PcapNG(order, 6).Bytes(), uint64(i))
		f.Add(capturetest.NoCopy(order, true), uint64(i))
	}
	pcap, ng := capturetest.Pcap(1, 3, 1, 0).Bytes(), capturetest.PcapNG(binary.LittleEndian, 5).Bytes()
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		if _, err := NewReader(bytes.NewReader(data), "fuzz", Options{}); err != nil {
			return
		}
		rnd := rand.New(rand.NewPCG(seed, 1))
		drop := func() bool { return rnd.IntN(3) == 0 }
		for _, with := range []struct {
			other []byte
			same  func(got, want []capturetest.Packet) error
		}{{nil, alike(exactly)}, {pcap, alike(anyClock)}, {ng, alike(anyClock)}} {
			src, merged := source(t, data, "fuzz"), with.other != nil
			if merged {
				src = Merge([]capture.Source{src, source(t, with.other, "other")}, nil)
			}
			r, err := trySplit(t, src, merged, drop)
			if errors.Is(err, capture.ErrNotSupported) {
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
func blank(all []capturetest.Packet) (n int) {
	for _, p := range all {
		if p.Time <= 0 && p.Data == "" && p.Wire == 0 {
			n++
		}
	}
	return n
}

// fuzzPcap asks for pcap, and reads what comes of it.
func fuzzPcap(t *testing.T, data []byte) {
	var want []capturetest.Packet
	_ = capturetest.Each(t, source(t, data, "fuzz"), func(b *capture.Batch) {
		for i := range b.Frames {
			want = append(want, capturetest.PacketOf(b, i))
		}
	})
	out, _, err := formatted(t, source(t, data, "fuzz"), WriterOptions{Format: capture.FormatPcap})
	if errors.Is(err, capture.ErrNotSupported) || blank(want) > 1 {
		return
	}
	got := packets(t, out)
	if len(got) != len(want) {
		t.Fatalf("%d packets, want %d", len(got), len(want))
	}
	for i := range got {
		if g, w := got[i], want[i]; g.Data != w.Data || g.Wire != w.Wire || g.Link != w.Link ||
			w.Time >= 0 && w.Time < 1e9<<32 && max(g.Time-w.Time, w.Time-g.Time) >= 1000 {
			t.Fatalf("packet %d: %+v, want %+v", i, g, w)
		}
	}
}
