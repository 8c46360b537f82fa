// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/capturetest"
	"github.com/flowdedup/flowdedup/capture/internal/encoding"
)

func none() bool { return false }

// mergedNG merges pcapng data with a pcap input without packets, which makes
// the output one section.
func mergedNG(tb testing.TB, data []byte) *splitResult {
	tb.Helper()
	blank := capturetest.Pcap(0, 0, 228, 0).Bytes()
	return split(tb, Merge([]capture.Source{source(tb, data, "ng"), source(tb, blank, "blank")}, nil), true, none)
}

func TestSectionPackets(t *testing.T) {
	for _, m := range modes[2:] {
		check(t, func() capture.Source { return m.open(t, 120) }, m.merged, alike(exactly))
	}
	mixed := func() []capture.Source {
		return []capture.Source{
			source(t, capturetest.Pcap(2, 90, 1|1<<26|2<<28, 0).Bytes(), "a"), source(t, capturetest.Pcap(4, 80, 101, 96).Bytes(), "b"),
			source(t, capturetest.NG(binary.BigEndian, 100).Bytes(), "c"),
		}
	}
	check(t, func() capture.Source { return Merge(mixed(), nil) }, true, alike(exactly))
	check(t, func() capture.Source { return Concat(mixed()) }, false, alike(exactly))
}

// TestSectionByteOrder converts the same content from both byte orders: the
// results must be equal, byte for byte.
func TestSectionByteOrder(t *testing.T) {
	little := mergedNG(t, capturetest.NG(binary.LittleEndian, 100).Bytes())
	big := mergedNG(t, capturetest.NG(binary.BigEndian, 100).Bytes())
	if !bytes.Equal(little.kept.Bytes(), big.kept.Bytes()) {
		t.Error("the output depends on the byte order of the input")
	}
	if little.skipped+big.skipped != 0 {
		t.Errorf("%d and %d blocks skipped", little.skipped, big.skipped)
	}
}

// blocks splits a pcapng file of a little-endian section.
func blocks(t *testing.T, data []byte) [][]byte {
	t.Helper()
	var all [][]byte
	for len(data) > 0 {
		n := binary.LittleEndian.Uint32(data[4:])
		all, data = append(all, data[:n]), data[n:]
	}
	return all
}

// TestSectionBlocks checks each kind of block against what it must become.
func TestSectionBlocks(t *testing.T) {
	in, want := &capturetest.File{Order: binary.LittleEndian}, &capturetest.File{Order: binary.LittleEndian}
	data := []byte("packet")
	flags := in.Option(encoding.OptFlags, in.U32(nil, 1))
	both := func(f func(g *capturetest.File, add uint32)) { f(in, 0); f(want, 1) }

	want.Block(capture.BlockSectionHeader, want.Order.AppendUint64(want.U16(want.U32(nil, encoding.ByteOrderMagic), 1, 0), encoding.UnknownLength),
		want.Option(encoding.OptUserAppl, []byte("flowdedup")), want.End())
	want.Interface(228, 0, want.Option(encoding.OptName, []byte("blank")), want.End()) // of the pcap input, whose header comes first
	in.Section(1000)
	both(func(g *capturetest.File, add uint32) {
		g.Interface(1, 0, g.Option(encoding.OptName, []byte("eth0")), g.End())
		g.Enhanced(add, 5_000_000, data, 6, flags, g.End())
		g.Block(capture.BlockStatistics, g.U32(nil, add, 0, 9))
		g.Block(capture.BlockNameResolution, g.U16(nil, 0, 0))
		g.Block(capture.BlockDecryption, g.U32(nil, 7, 1), []byte("k\x00\x00\x00"))
		g.Block(capture.BlockCustom, g.U32(nil, 32473))
		g.Block(0x80000001, []byte("local"))
	})
	in.Block(capture.BlockCustomNoCopy, in.U32(nil, 32473))
	in.Block(capture.BlockStatistics, in.U32(nil, 8, 0, 9)) // of no interface
	in.Obsolete(0, 3, 5_000_001, data, 7)
	want.Enhanced(1, 5_000_001, data, 7, want.Option64(encoding.OptDropCount, 3), want.End())
	in.Obsolete(0, 0xFFFF, 5_000_002, data, 8, flags, in.End())
	want.Enhanced(1, 5_000_002, data, 8, flags, want.End())
	in.Simple(data)
	want.Enhanced(1, 5_000_002, data, 6, want.Option(encoding.OptComment, []byte(commentTimeTaken)), want.End())

	r := mergedNG(t, in.Bytes())
	got := blocks(t, r.kept.Bytes())
	for i := range max(len(got), len(want.Pieces)) {
		if i >= len(got) || i >= len(want.Pieces) || !bytes.Equal(got[i], want.Pieces[i]) {
			t.Fatalf("%d blocks, want %d; block %d differs:\n% x, want\n% x", len(got), len(want.Pieces), i, got[i:], want.Pieces[i:])
		}
	}
	if r.skipped != 1 {
		t.Errorf("%d blocks skipped, want 1", r.skipped)
	}
}

// TestSimplePacketStays as long as its interface is number 0 of the output.
func TestSimplePacketStays(t *testing.T) {
	for _, order := range []capturetest.Order{binary.LittleEndian, binary.BigEndian} {
		g := &capturetest.File{Order: order}
		g.Section(0)
		g.Interface(1, 4)
		g.Simple([]byte("abcdef")[:4])
		other := &capturetest.File{Order: binary.LittleEndian}
		other.Section(0)
		other.Interface(1, 0)
		other.Simple([]byte("untimed first"))
		r := split(t, Merge([]capture.Source{source(t, g.Bytes(), "a"), source(t, other.Bytes(), "b")}, nil), true, none)
		got := packets(t, r.kept.Bytes())
		if len(got) != 2 || got[0].Time != capture.NoTime || got[0].Data != "abcd" || got[1].Time != 0 || got[1].Data != "untimed first" {
			t.Errorf("%v: %v", order, got)
		}
	}
}

// TestUnconvertible has big-endian blocks that cannot become little-endian.
func TestUnconvertible(t *testing.T) {
	g := &capturetest.File{Order: binary.BigEndian}
	g.Section(0)
	g.Interface(1, 0)
	g.Block(0x80000001, []byte("local"))
	g.Block(capture.BlockDecryption, g.U32(nil, 7, 1000), []byte("less"))
	g.Block(capture.BlockDecryption)
	g.Block(capture.BlockStatistics)
	g.Block(capture.BlockCustom)
	g.Block(capture.BlockNameResolution, g.U16(nil, 1, 4000)) // becomes an empty list
	g.Enhanced(0, 1, []byte("x"), 1)
	r := mergedNG(t, g.Bytes())
	if r.skipped != 5 {
		t.Errorf("%d blocks skipped, want 5", r.skipped)
	}
	if err := alike(exactly)(packets(t, r.kept.Bytes()), r.wantKept); err != nil {
		t.Error(err)
	}
	got := blocks(t, r.kept.Bytes())
	want := &capturetest.File{Order: binary.LittleEndian}
	want.Block(capture.BlockNameResolution, make([]byte, 4))
	if len(got) != 5 || !bytes.Equal(got[3], want.Bytes()) {
		t.Errorf("blocks % x", got)
	}
}

func TestLinkTypeTooLarge(t *testing.T) {
	src := Merge([]capture.Source{source(t, capturetest.Pcap(0, 1, 1<<17, 0).Bytes(), "a"), source(t, capturetest.Pcap(0, 1, 1, 0).Bytes(), "b")}, nil)
	defer src.Close()
	var b capture.Batch
	if err := src.Next(&b); err != nil {
		t.Fatal(err)
	}
	if err := NewWriter(io.Discard, WriterOptions{Merged: true}).Write(&b, nil); !errors.Is(err, capture.ErrNotSupported) {
		t.Errorf("link type 131072: %v, want ErrNotSupported", err)
	}
}

func TestTicksAt(t *testing.T) {
	for _, tt := range []struct {
		time   int64
		ticks  uint64
		offset int64
		want   uint64
	}{
		{1_500_000_000_123_456_789, 1e6, 0, 1_500_000_000_123_456},
		{1_500_000_000_123_456_789, 1e9, 0, 1_500_000_000_123_456_789},
		{1_500_000_000_123_456_789, 1e6, 1_500_000_000, 123_456},
		{1_500_000_000, 1 << 20, 0, 3 << 19},
		{1, 1e12, 0, 1000},
		{5, 1, 0, 0},
		{-1, 1e9, 0, 0},
		{-1, 1e9, -1, 999_999_999},
		{5e9, 1, 6, 0},
		{math.MaxInt64, 1 << 63, 0, math.MaxUint64},
		{math.MaxInt64, 1, math.MinInt64, 1<<62 + 9223372036},
		{math.MinInt64 + 1, 1e9, math.MaxInt64, 0},
		{math.MaxInt64, math.MaxUint64, math.MinInt64, math.MaxUint64},
	} {
		it := &capture.Interface{TicksPerSecond: tt.ticks, OffsetSeconds: tt.offset}
		if got := ticksAt(tt.time, it); got != tt.want {
			t.Errorf("ticksAt(%d, %d a second, offset %d) = %d, want %d", tt.time, tt.ticks, tt.offset, got, tt.want)
		}
	}
}

// TestTsharkReads has Wireshark's reader judge the outputs.
func TestTsharkReads(t *testing.T) {
	if _, err := exec.LookPath("tshark"); err != nil {
		t.Skip("no tshark here")
	}
	for _, m := range modes {
		r := split(t, m.open(t, 30), m.merged, func() bool { return false })
		name := filepath.Join(t.TempDir(), "out")
		if err := os.WriteFile(name, r.kept.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		// It shows custom blocks and journal entries as packets, too.
		out, err := exec.Command("tshark", "-n", "-r", name, "-Y", "frame.encap_type == 1", "-T", "fields", "-e", "frame.len").Output()
		if err != nil {
			var exit *exec.ExitError
			if errors.As(err, &exit) {
				t.Errorf("%s: %s", m.name, exit.Stderr)
			}
			t.Fatalf("%s: %v", m.name, err)
		}
		if n := strings.Count(string(out), "\n"); n != len(r.wantKept) {
			t.Errorf("%s: %d packets, want %d", m.name, n, len(r.wantKept))
		}
	}
}
