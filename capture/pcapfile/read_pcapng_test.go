// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/capturetest"
	"github.com/flowdedup/flowdedup/capture/internal/encoding"
)

// ngVariants is a file of two sections of different byte order with interfaces
// of many kinds, all packet blocks, and blocks of other and unknown types.
func ngVariants() []byte {
	var out []byte
	for i, o := range orders {
		offset := make([]byte, 8)
		o.PutUint64(offset, uint64(100+i))
		out = slices.Concat(out,
			capturetest.SectionBlock(o, 1, uint16(i*7), capturetest.Option(o, 1, []byte("a comment")...)),
			capturetest.InterfaceBlock(o, 1, 6),
			capturetest.InterfaceBlock(o, 101, 0, capturetest.Option(o, encoding.OptName, []byte("eth0")...), capturetest.Option(o, encoding.OptTSResol, 9), capturetest.Option(o, encoding.OptTSOffset, offset...), capturetest.Option(o, encoding.OptEnd)),
			capturetest.InterfaceBlock(o, 101, 96, capturetest.Option(o, encoding.OptName, []byte("eth0")...), capturetest.Option(o, encoding.OptTSResol, 0x80|10), capturetest.Option(o, encoding.OptFCSLen, 4)),
			capturetest.Block(o, capture.BlockNameResolution, make([]byte, 4)),
			capturetest.PacketBlock(o, 0, 1_500_000, 5, []byte("first"), capturetest.Option(o, 2, 0, 0, 0, 1), capturetest.Option(o, encoding.OptEnd)),
			capturetest.PacketBlock(o, 1, 1_500_000, 1500, []byte("second")),
			capturetest.SimpleBlock(o, 900, []byte("simple")),
			capturetest.Block(o, 0x12345678, []byte("whatever it is")),
			capturetest.ObsoleteBlock(o, 2, 3, 1536, 7, []byte("obsolet"), capturetest.Option(o, 2, 0, 0, 0, 1)),
			capturetest.PacketBlock(o, 2, 512, 0, nil),
			capturetest.Block(o, capture.BlockCustom, []byte("enterprise")),
		)
	}
	return append(out, capturetest.SectionBlock(binary.LittleEndian, 1, 0)...)
}

func TestPcapNG(t *testing.T) {
	data := ngVariants()
	w := readAll(t, open(t, data, Options{}))
	if w.err != nil || len(w.packets) != 10 || len(w.ifaces) != 6 || len(w.secs) != 3 {
		t.Fatalf("%d packets, %d interfaces, %d sections, %v", len(w.packets), len(w.ifaces), len(w.secs), w.err)
	}
	if string(w.bytes()) != string(data) {
		t.Error("records and blocks do not make up the file")
	}
	for i, p := range w.packets {
		s := i / 5
		want := []struct {
			data    string
			time    int64
			wireLen uint32
			id      uint32
		}{
			{"first", 1_500_000_000, 5, 0},
			{"second", 1_500_000 + (100+int64(s))*1e9, 1500, 1},
			{"simple", capture.NoTime, 900, 0},
			{"obsolet", 1_500_000_000, 7, 2},
			{"", 500_000_000, 0, 2},
		}[i%5]
		if p.data != want.data || p.time != want.time || p.wireLen != want.wireLen || p.iface.ID != want.id || p.big != (s == 1) {
			t.Errorf("packet %d: %+v, want %+v", i, p, want)
		}
	}
	for i, it := range w.ifaces {
		s := i / 3
		want := []capture.Interface{
			{LinkType: 1, SnapLen: 6, TicksPerSecond: 1e6},
			{LinkType: 101, ID: 1, Name: "eth0", TicksPerSecond: 1e9, OffsetSeconds: 100 + int64(s), CapturePoint: 1},
			{LinkType: 101, ID: 2, SnapLen: 96, FCSLen: 4, Name: "eth0", TicksPerSecond: 1024, CapturePoint: 2},
		}[i%3]
		if want.Section = uint32(s); it != want {
			t.Errorf("interface %d: %+v, want %+v", i, it, want)
		}
	}
}

// Names identify capture points and, if names repeat, their order.
func TestPoints(t *testing.T) {
	o := binary.LittleEndian
	name := func(s string) []byte {
		return capturetest.InterfaceBlock(o, 1, 0, capturetest.Option(o, encoding.OptName, []byte(s)...))
	}
	file := slices.Concat(
		capturetest.SectionBlock(o, 1, 0), name("a"), name("b"), name("a"), capturetest.InterfaceBlock(o, 1, 0), name("c\x00\x00"),
		capturetest.SectionBlock(o, 1, 0), name("b"), name("a"), capturetest.InterfaceBlock(o, 1, 0), capturetest.InterfaceBlock(o, 1, 0), name("a"), name("c"))
	w := readAll(t, open(t, file, Options{}))
	var points []uint32
	for _, it := range w.ifaces {
		points = append(points, it.CapturePoint)
	}
	if want := []uint32{0, 1, 2, 3, 4, 1, 0, 5, 3, 2, 4}; !slices.Equal(points, want) {
		t.Errorf("points %v, want %v", points, want)
	}
}

func TestPcapNGDamage(t *testing.T) {
	o := binary.LittleEndian
	begin := slices.Concat(capturetest.SectionBlock(o, 1, 0), capturetest.InterfaceBlock(o, 1, 0))
	good := capturetest.PacketBlock(o, 0, 1, 4, []byte("good"))
	badMagic := capturetest.SectionBlock(o, 1, 0)
	badMagic[9]++
	for _, c := range []struct {
		name   string
		block  []byte
		reason error
		text   string
	}{
		{"byte-order magic", badMagic, capture.ErrDamaged, "byte-order magic"},
		{"short section header", capturetest.Block(o, capture.BlockSectionHeader, capturetest.SectionBlock(o, 1, 0)[8:20]), capture.ErrDamaged, "section header of 24 bytes"},
		{"version 2", capturetest.SectionBlock(o, 2, 0), capture.ErrNotSupported, "version 2.0"},
		{"version 0, other byte order", capturetest.SectionBlock(binary.BigEndian, 0, 1), capture.ErrNotSupported, "version 0.1"},
		{"section options", capturetest.SectionBlock(o, 1, 0, []byte{1, 0, 9, 0}), capture.ErrDamaged, "section header: damaged: option 1 of 9 bytes"},
		{"interface options", capturetest.InterfaceBlock(o, 1, 0, []byte{9, 0, 9, 0}), capture.ErrDamaged, "option 9 of 9 bytes"},
		{"short interface", capturetest.Block(o, capture.BlockInterface, make([]byte, 4)), capture.ErrDamaged, "interface description of 16 bytes"},
		{"interface", capturetest.PacketBlock(o, 1, 0, 0, nil), capture.ErrDamaged, "interface 1 of 1"},
		{"obsolete interface", capturetest.ObsoleteBlock(o, 0xFFFF, 0, 0, 0, nil), capture.ErrDamaged, "interface 65535 of 1"},
		{"short packet", capturetest.Block(o, capture.BlockEnhancedPacket, make([]byte, 16)), capture.ErrDamaged, "packet block of 28 bytes"},
		{"short simple packet", capturetest.Block(o, capture.BlockSimplePacket, nil), capture.ErrDamaged, "simple packet block of 12 bytes"},
		{"simple packet", capturetest.SimpleBlock(o, 9, make([]byte, 8)), capture.ErrDamaged, "captured length 9 overruns"},
		{"huge simple packet", capturetest.SimpleBlock(o, 1<<31, make([]byte, 8)), capture.ErrDamaged, "captured length 2147483648"},
		{"cut", good[:len(good)-1], capture.ErrTruncated, "block cut short: 35 of 36 bytes"},
		{"cut header", good[:7], capture.ErrTruncated, "block header cut short: 7 of 12 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, packets := range []int{0, 1} {
				file := slices.Concat(begin, slices.Repeat(good, packets), c.block)
				w := readAll(t, open(t, file, Options{}))
				e := inputError(t, w.err)
				if len(w.packets) != packets || !errors.Is(e, c.reason) || !strings.Contains(e.Error(), c.text) ||
					e.Offset != int64(len(begin)+packets*len(good)) {
					t.Errorf("%d packets, %v", len(w.packets), e)
				}
				hasPackets := len(c.block) > 4 && (c.block[0] == 2 || c.block[0] == 3 || c.block[0] == 6)
				if e.Header != (packets == 0 && !hasPackets) {
					t.Errorf("%d packets before it, header %t", packets, e.Header)
				}
			}
		})
	}
	if _, err := NewReader(strings.NewReader(string(capturetest.SectionBlock(o, 2, 0))), "x", Options{}); !errors.Is(err, capture.ErrNotSupported) || !inputError(t, err).Header {
		t.Errorf("first section of version 2: %v", err)
	}
	alone := readAll(t, open(t, slices.Concat(capturetest.SectionBlock(o, 1, 0), capturetest.SimpleBlock(o, 1, []byte("x"))), Options{}))
	if !errors.Is(alone.err, capture.ErrDamaged) {
		t.Errorf("simple packet without interface: %v", alone.err)
	}
}

// Damage that reading survives is reported, and mended or left out.
func TestPcapNGWarnings(t *testing.T) {
	for _, o := range orders {
		good := capturetest.Option(o, 2, 0, 0, 0, 1)
		broken := slices.Concat(good, capturetest.Option(o, 4, 1, 2, 3, 4, 5, 6, 7, 8)[:8])
		ended := slices.Concat(good, make([]byte, 4), broken[12:])
		begin := slices.Concat(capturetest.SectionBlock(o, 1, 0), capturetest.InterfaceBlock(o, 1, 0))
		file := slices.Concat(begin,
			capturetest.PacketBlock(o, 0, 1, 4, []byte("abcde"), broken),
			capturetest.Block(o, capture.BlockFileHeader, []byte("reserved")),
			capturetest.ObsoleteBlock(o, 0, 0, 1, 4, []byte("abcd"), broken))
		want := slices.Concat(begin,
			capturetest.PacketBlock(o, 0, 1, 4, []byte("abcde"), ended),
			capturetest.ObsoleteBlock(o, 0, 0, 1, 4, []byte("abcd"), ended))
		for _, chunk := range []int{0, 1, 50} {
			var offsets []int64
			w := readAll(t, open(t, file, Options{ChunkSize: chunk, Warn: func(err error) {
				if !errors.Is(err, capture.ErrDamaged) {
					t.Error(err)
				}
				offsets = append(offsets, inputError(t, err).Offset)
			}}))
			if w.err != nil || string(w.bytes()) != string(want) {
				t.Errorf("%s, chunk %d: %v\n got %q\nwant %q", o.name, chunk, w.err, w.bytes(), want)
			}
			if !slices.Equal(offsets, []int64{48, 104, 124}) {
				t.Errorf("%s, chunk %d: warned at %v", o.name, chunk, offsets)
			}
		}
	}
}

// A file of nothing but interfaces must not fill the memory.
func TestPcapNGTablesBounded(t *testing.T) {
	o := binary.LittleEndian
	table := newIfaceTable()
	if err := table.beginSection(false); err != nil {
		t.Fatal(err)
	}
	block := capturetest.InterfaceBlock(o, 1, 0, capturetest.Option(o, encoding.OptName, make([]byte, 60000)...), capturetest.Option(o, encoding.OptName, slices.Repeat([]byte("x"), 60000)...))
	var err error
	n := 0
	for ; err == nil && n < 2000; n++ {
		err = table.addInterface(block, false)
	}
	if !errors.Is(err, capture.ErrDamaged) {
		t.Errorf("%d interfaces with names of 60,000 bytes: %v", n, err)
	}
}

// TestPcapNGWalk damages captures, and compares the fast path with the delivery of each
// block by itself.
func TestPcapNGWalk(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	r := rand.New(rand.NewPCG(9, 10))
	o := binary.LittleEndian
	whole := append(capturetest.SectionBlock(o, 1, 0), capturetest.InterfaceBlock(o, 1, 0)...)
	whole = append(whole, capturetest.InterfaceBlock(o, 1, 0, capturetest.Option(o, encoding.OptTSResol, 0x8a), capturetest.Option(o, encoding.OptTSOffset, 1, 0, 0, 0, 0, 0, 0, 0))...)
	for i := range 40 {
		data := make([]byte, r.IntN(9))
		switch i % 8 {
		case 3:
			whole = append(whole, capturetest.PacketBlock(o, 0, r.Uint64(), 9, data, capturetest.Option(o, 1, 'a'))...)
		case 6:
			whole = append(whole, capturetest.SimpleBlock(o, 4, []byte("abcd"))...)
		default:
			whole = append(whole, capturetest.PacketBlock(o, uint32(i&1), r.Uint64()>>uint(i), 9, data)...)
		}
	}
	plain := 0
	for range 20000 {
		data := slices.Clone(whole)
		for range r.IntN(3) {
			data[28+r.IntN(len(data)-28)] = byte(r.IntN(40))
		}
		data = data[:len(data)-r.IntN(2)*r.IntN(len(data)-28)]
		fast, slow := newPcapNG(func(int, error) {}), newPcapNG(func(int, error) {})
		if _, err := fast.header(data); err != nil {
			t.Fatal(err)
		}
		_, _ = slow.header(data)
		a, b := capture.Batch{Buf: data}, capture.Batch{Buf: slices.Clone(data)}
		used, need, err := fast.parse(&a, false)
		var at, wants int
		var wrong error
		for wants == 0 && wrong == nil {
			at, wants, wrong = slow.next(&b, at)
		}
		if used != at || need != wants || fmt.Sprint(err) != fmt.Sprint(wrong) {
			t.Fatalf("%x: ended at %d, needing %d, %v; want %d, %d, %v", data, used, need, err, at, wants, wrong)
		}
		if !slices.Equal(a.Frames, b.Frames) || !slices.Equal(a.Blocks, b.Blocks) || !bytes.Equal(a.Buf, b.Buf) {
			t.Fatalf("%x: frames %v, want %v", data, a.Frames, b.Frames)
		}
		plain += len(a.Frames)
	}
	if plain < 100_000 {
		t.Errorf("only %d frames", plain)
	}
}

// TestNoCopy reads and writes a file in each way. The output is as from a file without the
// blocks and options not to be copied.
func TestNoCopy(t *testing.T) {
	none := func() bool { return false }
	for _, order := range []capturetest.Order{binary.LittleEndian, binary.BigEndian} {
		with, without := capturetest.NoCopy(order, true), capturetest.NoCopy(order, false)
		for _, chunk := range []int{0, 1, 100} {
			equal(t, readAll(t, open(t, with, Options{ChunkSize: chunk})), readAll(t, open(t, without, Options{})))
		}
		written := map[string]func(data []byte) []byte{
			"one":    func(data []byte) []byte { return split(t, source(t, data, "in"), false, none).kept.Bytes() },
			"merged": func(data []byte) []byte { return mergedNG(t, data).kept.Bytes() },
		}
		for name, write := range written {
			got := write(with)
			if !bytes.Equal(got, write(without)) || bytes.Contains(got, []byte("secret")) {
				t.Errorf("%v, %s: the output is not that of an input without", order, name)
			}
		}
	}
}

// TestNoCopyBrokenList ends a list where it breaks, behind what was left out.
func TestNoCopyBrokenList(t *testing.T) {
	for _, order := range []capturetest.Order{binary.LittleEndian, binary.BigEndian} {
		g := &capturetest.File{Order: order}
		g.Section(encoding.UnknownLength)
		g.Interface(1, 0)
		broken := g.U16(nil, encoding.OptComment, 4000)
		g.Enhanced(0, 1, []byte("data"), 4, g.Option(encoding.OptCustomDataOnce, []byte("gone")), g.Option(encoding.OptComment, []byte("kept")), broken)
		warned := 0
		w := readAll(t, open(t, g.Bytes(), Options{Warn: func(error) { warned++ }}))
		want := &capturetest.File{Order: order}
		want.Enhanced(0, 1, []byte("data"), 4, want.Option(encoding.OptComment, []byte("kept")), want.End())
		if w.err != nil || warned != 1 || len(w.packets) != 1 || w.packets[0].record != string(want.Bytes()) {
			t.Errorf("%v: %d warnings, %v, %+v", order, warned, w.err, w.packets)
		}
	}
}

func TestClock(t *testing.T) {
	for _, c := range []struct {
		res    resolution
		offset int64
		ticks  uint64
		want   int64
		per    uint64
	}{
		{6, 0, 1_700_000_000_123_456, 1_700_000_000_123_456_000, 1e6},
		{6, 0, math.MaxUint64, math.MaxInt64, 1e6},
		{9, 0, math.MaxInt64, math.MaxInt64, 1e9},
		{9, 0, math.MaxInt64 + 1, math.MaxInt64, 1e9},
		{9, -1, 5, -999_999_995, 1e9},
		{0, 0, 7, 7e9, 1},
		{0, 0, math.MaxUint64, math.MaxInt64, 1},
		{0, math.MaxInt64, math.MaxUint64, math.MaxInt64, 1},
		{0, math.MinInt64, 0, math.MinInt64 + 1, 1},
		{0, -9_223_372_037, 0, math.MinInt64 + 1, 1},
		{9, -9_223_372_037, 145_224_192, math.MinInt64 + 1, 1e9},
		{9, -9_223_372_037, 145_224_193, math.MinInt64 + 1, 1e9},
		{9, -9_223_372_037, 145_224_194, math.MinInt64 + 2, 1e9},
		{0, math.MinInt64, math.MaxUint64, math.MaxInt64, 1},
		{9, -18_446_744_073, math.MaxUint64, 709_551_615, 1e9},
		{12, 0, 1_999, 1, 1e12},
		{12, 3, 1_999, 3_000_000_001, 1e12},
		{18, 0, 1_999_999_999, 1, 1e18},
		{19, 0, math.MaxUint64, 1_844_674_407, 1 << 63},
		{28, 0, math.MaxUint64, 1, 1 << 63},
		{29, 0, math.MaxUint64, 0, 1 << 63},
		{127, 2, math.MaxUint64, 2e9, 1 << 63},
		{0x80, 0, 3, 3e9, 1},
		{0x80 | 10, 0, 1536, 1_500_000_000, 1024},
		{0x80 | 32, 0, 1<<32 + 1<<31, 1_500_000_000, 1 << 32},
		{0x80 | 63, 0, math.MaxUint64, 1_999_999_999, 1 << 63},
		{0x80 | 64, 0, math.MaxUint64, 999_999_999, 1 << 63},
		{0x80 | 65, 1, math.MaxUint64, 1_499_999_999, 1 << 63},
		{0x80 | 93, 0, math.MaxUint64, 1, 1 << 63},
		{0x80 | 127, 0, math.MaxUint64, 0, 1 << 63},
	} {
		t.Run(fmt.Sprintf("%#x/%d/%d", uint8(c.res), c.offset, c.ticks), func(t *testing.T) {
			clock := newClock(c.res, c.offset, 0)
			if got := clock.nanoseconds(c.ticks); got != c.want {
				t.Errorf("%d, want %d", got, c.want)
			}
			if got := c.res.ticksPerSecond(); got != c.per {
				t.Errorf("%d ticks per second, want %d", got, c.per)
			}
		})
	}
}
