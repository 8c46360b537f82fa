// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/capturetest"
	"github.com/flowdedup/flowdedup/capture/internal/encoding"
)

// fuzzRead reads data whole, in small chunks, and merged with itself, and
// checks that it is the same packets each time.
func fuzzRead(t *testing.T, data []byte) {
	read := func(opt Options) (w whole, warned []string) {
		opt.Warn = func(err error) { warned = append(warned, err.Error()) }
		src, err := NewReader(bytes.NewReader(data), "fuzz", opt)
		if err != nil {
			if e := inputError(t, err); !e.Header {
				t.Fatalf("%v is not of a header", err)
			}
			return whole{err: err}, nil
		}
		defer src.Close()
		return readAll(t, src), warned
	}
	want, warned := read(Options{})
	for _, chunk := range []int{3, 100} {
		got, again := read(Options{ChunkSize: chunk})
		equal(t, got, want)
		if strings.Join(again, "\n") != strings.Join(warned, "\n") {
			t.Fatalf("warned of %q, then of %q", warned, again)
		}
	}
	if len(want.secs) == 0 {
		return
	}
	merged := readAll(t, Merge([]capture.Source{open(t, data, Options{}), open(t, data, Options{ChunkSize: 50})}, nil))
	if len(merged.packets) != 2*len(want.packets) || len(merged.blocks) != 2*len(want.blocks) {
		t.Fatalf("%d packets and %d blocks, merged %d and %d", len(want.packets), len(want.blocks), len(merged.packets), len(merged.blocks))
	}
	joined := readAll(t, Concat([]capture.Source{open(t, data, Options{}), open(t, data, Options{})}))
	if !bytes.Equal(joined.bytes(), bytes.Repeat(want.bytes(), 2)) {
		t.Fatal("concatenated records differ")
	}
}

func FuzzPcap(f *testing.F) {
	for _, data := range pcapVariants() {
		f.Add(data)
		f.Add(data[:len(data)-3])
		f.Add(append(data[:len(data):len(data)], make([]byte, 50)...))
	}
	o := binary.BigEndian
	for _, v := range [][2]uint16{{1, 0}, {2, 2}, {2, 3}, {543, 0}} {
		f.Add(append(capturetest.PcapRecord(capturetest.PcapHeader(o, magicMicroseconds, v[0], v[1], 96, 0x24000001), o, 1, 1<<31, 9, 4), "abcd"...))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) >= 4 && newPcap(data) != nil {
			fuzzRead(t, data)
		}
	})
}

func FuzzPcapNG(f *testing.F) {
	f.Add(ngVariants())
	f.Add(ngVariants()[:500])
	for _, o := range orders {
		f.Add(capturetest.NoCopy(o.Order, true))
		f.Add(append(capturetest.SectionBlock(o, 1, 0), capturetest.InterfaceBlock(o, 1, 0, capturetest.Option(o, encoding.OptTSResol, 0xFF))...))
		f.Add(append(append(capturetest.SectionBlock(o, 1, 0), capturetest.InterfaceBlock(o, 1, 0)...),
			capturetest.PacketBlock(o, 0, 1, 4, []byte("abcde"), capturetest.Option(o, 4, 1, 2, 3, 4, 5, 6, 7, 8)[:8])...))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) >= 4 && le.Uint32(data) == capture.BlockSectionHeader {
			fuzzRead(t, data)
		}
	})
}

// FuzzOpen reads anything, compressed data above all.
func FuzzOpen(f *testing.F) {
	for _, data := range pcapVariants() {
		f.Add(data)
		for _, p := range packers {
			f.Add(p(f, data))
			f.Add(p(f, p(f, data)))
		}
	}
	f.Add([]byte("text\n"))
	f.Add(append([]byte("\x5a\x2a\x4d\x18\x04\x00\x00\x00abcd"), packers["lz4"](f, ngVariants())...))
	f.Fuzz(func(t *testing.T, data []byte) {
		src, err := NewReader(bytes.NewReader(data), "fuzz", Options{ChunkSize: 1000})
		if err != nil {
			inputError(t, err)
			return
		}
		w := readAll(t, src)
		if w.err != nil {
			inputError(t, w.err)
		}
	})
}

// FuzzWriterRoundTrip writes all that can be read, by itself and together with a second input,
// less pseudo-random frames, and reads it again.
func FuzzWriterRoundTrip(f *testing.F) {
	for i := range capturetest.PcapKinds {
		f.Add(capturetest.Pcap(i, 4, 1, 64).Bytes(), uint64(i))
	}
	for i, order := range []capturetest.Order{binary.LittleEndian, binary.BigEndian} {
		f.Add(capturetest.NG(order, 6).Bytes(), uint64(i))
		f.Add(capturetest.NoCopy(order, true), uint64(i))
	}
	pcap, ng := capturetest.Pcap(1, 3, 1, 0).Bytes(), capturetest.NG(binary.LittleEndian, 5).Bytes()
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
		checkCommented(t, func() capture.Source { return source(t, data, "fuzz") })
	})
}

// blank counts packets that are not to come in a row in a pcap file, where
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
