// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/capturetest"
	"github.com/flowdedup/flowdedup/capture/internal/encoding"
)

var orders = []struct {
	name string
	capturetest.Order
}{{"little", binary.LittleEndian}, {"big", binary.BigEndian}}

// pcapVariants returns a capture of three packets for each kind of pcap file.
func pcapVariants() map[string][]byte {
	out := map[string][]byte{}
	for _, o := range orders {
		for kind, magic := range map[string]uint32{"us": magicMicroseconds, "ns": magicNanoseconds, "modified": magicModified} {
			f := capturetest.PcapHeader(o, magic, 2, 4, 65535, 1)
			for i := range uint32(3) {
				f = capturetest.PcapRecord(f, o, 0xF0000000+i, 123456+i, 5+i, 1500)
				if magic == magicModified {
					f = append(f, 1, 2, 3, 4, 5, 6, 7, 8)
				}
				f = append(f, "packetpacket"[:5+i]...)
			}
			out[kind+"-"+o.name] = f
		}
	}
	return out
}

func TestPcapVariants(t *testing.T) {
	for name, data := range pcapVariants() {
		t.Run(name, func(t *testing.T) {
			w := readAll(t, open(t, data, Options{}))
			if w.err != nil || len(w.packets) != 3 {
				t.Fatal(len(w.packets), w.err)
			}
			tick := int64(1000)
			if strings.HasPrefix(name, "ns") {
				tick = 1
			}
			for i, p := range w.packets {
				want := (0xF0000000+int64(i))*1e9 + (123456+int64(i))*tick
				if p.time != want || p.data != "packetpacket"[:5+i] || p.wireLen != 1500 {
					t.Errorf("packet %d: %+v, want time %d", i, p, want)
				}
			}
			s := w.secs[0]
			if s.Format != capture.FormatPcap || s.Nanosecond != (tick == 1) || s.BigEndian != strings.HasSuffix(name, "big") ||
				s.RecordHeader != map[bool]uint32{false: 16, true: 24}[strings.HasPrefix(name, "modified")] {
				t.Errorf("section %+v", s)
			}
			if got := w.ifaces[0]; got != (capture.Interface{LinkType: 1, SnapLen: 65535, TicksPerSecond: uint64(1e9 / tick)}) {
				t.Errorf("interface %+v", got)
			}
			if string(w.bytes()) != string(data) || w.blocks[0].typ != capture.BlockFileHeader || w.blocks[0].data != string(data[:24]) {
				t.Error("records and header do not make up the file")
			}
		})
	}
}

func TestPcapOldVersions(t *testing.T) {
	for _, c := range []struct {
		major, minor    uint16
		first, second   uint32 // as stored
		capLen, wireLen uint32
	}{
		{2, 4, 4, 9, 4, 9},
		{2, 4, 4, 2, 4, 2},
		{1, 0, 4, 9, 4, 9},
		{2, 0, 9, 4, 4, 9},
		{2, 2, 2, 4, 4, 2},
		{543, 0, 9, 4, 4, 9},
		{2, 3, 4, 9, 4, 9},
		{2, 3, 9, 4, 4, 9},
		{2, 3, 4, 4, 4, 4},
	} {
		for _, o := range orders {
			f := capturetest.PcapRecord(capturetest.PcapHeader(o, magicMicroseconds, c.major, c.minor, 0, 1), o, 1, 2, c.first, c.second)
			f = append(f, "abcd"...)
			w := readAll(t, open(t, f, Options{}))
			if w.err != nil || len(w.packets) != 1 || len(w.packets[0].data) != int(c.capLen) || w.packets[0].wireLen != c.wireLen {
				t.Errorf("version %d.%d %s, lengths %d and %d: %+v", c.major, c.minor, o.name, c.first, c.second, w)
			}
			cut := readAll(t, open(t, f[:len(f)-1], Options{}))
			if !errors.Is(cut.err, capture.ErrTruncated) || !strings.Contains(cut.err.Error(), "3 of 4 bytes") {
				t.Errorf("version %d.%d cut short: %v", c.major, c.minor, cut.err)
			}
		}
	}
}

// Zeros in place of records are damage at the offset of the first of them, whichever
// way the file is read. One blank record is a packet.
func TestZerosInPlaceOfRecords(t *testing.T) {
	for name, file := range pcapVariants() {
		header := 16
		if strings.HasPrefix(name, "modified") {
			header = 24
		}
		record := file[24 : 24+header+5]
		for _, c := range []struct {
			zeros   int
			behind  string
			packets int // in addition to the three of the file; -1 is damage
		}{
			{header, "", 1},
			{header, string(record), 2},
			{header, string(record) + string(make([]byte, header)), 3},
			{header + 1, "", -1},
			{header + 15, "", -1},
			{2 * header, "", -1},
			{2 * header, string(record), -1},
			{3*header + 5, string(record), -1},
			{1 << 20, "", -1},
		} {
			data := slices.Concat(file, make([]byte, c.zeros), []byte(c.behind))
			for _, chunk := range []int{0, 1, 20} {
				w := readAll(t, open(t, data, Options{ChunkSize: chunk}))
				if c.packets >= 0 {
					if w.err != nil || len(w.packets) != 3+c.packets || string(w.bytes()) != string(data) {
						t.Errorf("%s, %d zeros: %d packets, %v", name, c.zeros, len(w.packets), w.err)
					}
					continue
				}
				if e := inputError(t, w.err); !errors.Is(e, capture.ErrDamaged) || len(w.packets) != 3 || e.Offset != int64(len(file)) || e.Header {
					t.Errorf("%s, %d zeros: %d packets, %v", name, c.zeros, len(w.packets), e)
				}
			}
		}
	}
}

// The header of a file in place of a record is damage, not a packet of the year 2055.
func TestJoinedPcapFiles(t *testing.T) {
	for name, file := range pcapVariants() {
		for _, behind := range pcapVariants() {
			data := slices.Concat(file, behind)
			for _, chunk := range []int{0, 1, 20} {
				w := readAll(t, open(t, data, Options{ChunkSize: chunk}))
				e := inputError(t, w.err)
				if !errors.Is(e, capture.ErrDamaged) || len(w.packets) != 3 || e.Offset != int64(len(file)) || !strings.Contains(e.Error(), "another pcap file") {
					t.Errorf("%s: %d packets, %v", name, len(w.packets), e)
				}
			}
		}
	}
}

// A record without lengths is a packet with a time, if its fraction is below a second.
func TestEmptyRecords(t *testing.T) {
	for _, o := range orders {
		file := capturetest.PcapHeader(o, magicMicroseconds, 2, 4, 0, 1)
		file = capturetest.PcapRecord(file, o, 7, 9, 0, 0)
		file = capturetest.PcapRecord(file, o, 8, 1_000_000, 0, 0)
		src := open(t, file, Options{})
		var b capture.Batch
		if err := src.Next(&b); err != nil && err != io.EOF {
			t.Fatal(err)
		}
		if len(b.Frames) != 2 || b.Frames[0].Time != 7_000_009_000 || b.Frames[1].Time != capture.NoTime || b.Frames[1].CapLen != 0 {
			t.Errorf("%+v", b.Frames)
		}
	}
}

// A blank record is delivered if reading fails after it.
func TestBlankRecordBeforeFailure(t *testing.T) {
	file := append(pcapVariants()["us-little"], make([]byte, 16)...)
	src, err := NewReader(io.MultiReader(bytes.NewReader(file), iotest.ErrReader(errors.New("odd"))), "x", Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := readAll(t, src)
	checkReadError(t, w.err, errors.Unwrap(w.err), int64(len(file)))
	if len(w.packets) != 4 {
		t.Errorf("%d packets", len(w.packets))
	}
}

func TestPcapLinkTypeWord(t *testing.T) {
	for _, c := range []struct {
		word uint32
		link capture.LinkType
		fcs  uint8
	}{
		{1, 1, 0}, {0x24000001, 1, 4}, {0x20000001, 1, 0}, {0xF4000113, 0x113, 30}, {0x03FFFFFF, 0x03FFFFFF, 0}, {0x04000069, 105, 0},
	} {
		w := readAll(t, open(t, capturetest.PcapHeader(binary.BigEndian, magicMicroseconds, 2, 4, 0, c.word), Options{}))
		if it := w.ifaces[0]; it.LinkType != c.link || it.FCSLen != c.fcs {
			t.Errorf("%#x: %+v", c.word, it)
		}
	}
}

// A captured length at the ceiling is read, a length above it is damage before any
// more is read.
func TestCapLenCeilings(t *testing.T) {
	o := binary.LittleEndian
	for _, link := range []uint32{1, 189} {
		ceiling := capLenCeiling(capture.LinkType(link))
		over := capturetest.PcapRecord(capturetest.PcapHeader(o, magicMicroseconds, 2, 4, 0, link), o, 1, 2, ceiling+1, 1)
		if w := readAll(t, open(t, over, Options{})); !errors.Is(w.err, capture.ErrDamaged) {
			t.Errorf("link type %d, length %d: %v", link, ceiling+1, w.err)
		}
		if link != 1 {
			ceiling = 3 << 20
		}
		full := capturetest.PcapRecord(capturetest.PcapHeader(o, magicMicroseconds, 2, 4, 0, link), o, 1, 2, ceiling, 1)
		full = append(full, make([]byte, ceiling)...)
		if w := readAll(t, open(t, full, Options{})); w.err != nil || len(w.packets) != 1 || len(w.packets[0].data) != int(ceiling) {
			t.Errorf("link type %d, length %d: %d packets, %v", link, ceiling, len(w.packets), w.err)
		}
	}
}

// TestFCSLen takes the length of check sequences from packets and interfaces.
func TestFCSLen(t *testing.T) {
	for _, o := range orders {
		flags := func(v uint32) []byte { return capturetest.Option(o, encoding.OptFlags, o.AppendUint32(nil, v)...) }
		data := slices.Concat(
			capturetest.SectionBlock(o, 1, 0),
			capturetest.InterfaceBlock(o, 1, 0),
			capturetest.InterfaceBlock(o, 1, 0, capturetest.Option(o, encoding.OptFCSLen, 4)),
			capturetest.InterfaceBlock(o, 1, 0, capturetest.Option(o, encoding.OptFCSLen, 32)),
			capturetest.PacketBlock(o, 0, 1, 5, []byte("plain")),
			capturetest.PacketBlock(o, 0, 1, 5, []byte("four"), capturetest.Option(o, 1, []byte("a comment")...), flags(4<<5|2), capturetest.Option(o, encoding.OptEnd)),
			capturetest.PacketBlock(o, 1, 1, 5, []byte("iface"), flags(1)),
			capturetest.PacketBlock(o, 1, 1, 5, []byte("less"), flags(2<<5)),
			capturetest.PacketBlock(o, 2, 1, 5, []byte("bits")),
			capturetest.ObsoleteBlock(o, 0, 0, 1, 5, []byte("old"), flags(4<<5)),
			capturetest.PacketBlock(o, 0, 1, 5, []byte("short"), capturetest.Option(o, encoding.OptFlags, 0x80), capturetest.Option(o, encoding.OptEnd)),
			capturetest.SimpleBlock(o, 5, []byte("simple")),
		)
		src := open(t, data, Options{})
		var b capture.Batch
		var got []int
		for src.Next(&b) == nil {
			for i := range b.Frames {
				got = append(got, b.FCSLen(i))
			}
		}
		if want := []int{0, 4, 4, 2, 4, 4, 0, 0}; !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	}
	pcap := capturetest.PcapHeader(orders[0], magicMicroseconds, 2, 4, 100, 1|fcsLenPresent|2<<28)
	src := open(t, append(pcap, capturetest.PcapRecord(nil, orders[0], 1, 1, 0, 0)...), Options{})
	var b capture.Batch
	if err := src.Next(&b); err != nil || b.FCSLen(0) != 4 {
		t.Errorf("%v, %d bytes", err, b.FCSLen(0))
	}
}
