// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/capturetest"
	"github.com/flowdedup/flowdedup/capture/internal/encoding"
)

func TestFormatOf(t *testing.T) {
	for name, want := range map[string]capture.Format{
		"x.pcap": capture.FormatPcap, "a/b.c/X.PCAP": capture.FormatPcap, "x.pcap.gz": capture.FormatPcap, "x.Pcap.ZST": capture.FormatPcap, "x.pcap.lz4": capture.FormatPcap,
		"x.pcapng": capture.FormatPcapNG, "x.ntar": capture.FormatPcapNG, "x.pcapng.gz": capture.FormatPcapNG, "X.NTAR.GZ": capture.FormatPcapNG, ".pcap": capture.FormatPcap,
		"": 0, "-": 0, "x": 0, "x.cap": 0, "pcap": 0, "x.gz": 0, "x.pcap.gz.gz": 0, "x.pcap.bz2": 0, "x.pcap/y": 0, "/dev/stdout": 0,
	} {
		if got := FormatOf(name); got != want {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
}

// formatted writes src in a format and returns the output, what was warned of, and the
// first error.
func formatted(t *testing.T, src capture.Source, opt WriterOptions) (out []byte, warned []error, err error) {
	t.Helper()
	var buf bytes.Buffer
	opt.Warn = func(err error) { warned = append(warned, err) }
	w := NewWriter(&buf, opt)
	read := capturetest.Each(t, src, func(b *capture.Batch) { _ = w.Write(b, nil) }) // Close says how it went
	err = errors.Join(read, w.Close())
	return buf.Bytes(), warned, err
}

// toPcap writes a pcapng file as pcap, which must succeed.
func toPcap(t *testing.T, data []byte) ([]byte, []error) {
	t.Helper()
	out, warned, err := formatted(t, source(t, data, "in"), WriterOptions{Format: capture.FormatPcap})
	if err != nil {
		t.Fatal(err)
	}
	return out, warned
}

// A pcap file keeps the bytes, lengths and times of packets of pcapng. Warn gets what it
// loses.
func TestPcapFromPcapNG(t *testing.T) {
	for _, order := range []capturetest.Order{binary.LittleEndian, binary.BigEndian} {
		g := capturetest.NG(order, 200)
		want := packets(t, g.Bytes())
		out, warned := toPcap(t, g.Bytes())
		if le.Uint32(out) != magicNanoseconds {
			t.Fatalf("file header % x", out[:24])
		}
		if err := alike(anyClock)(packets(t, out), want); err != nil {
			t.Error(err)
		}
		// In each section: 80 packets have 5 options or 1, two interfaces have a name,
		// speed, zone and custom data, and there are 5 other blocks that may be copied.
		const text = "pcap has no place for 488 options, 10 blocks, 160 exact times, which of 4 interfaces a packet came from: " +
			"a name that ends with .pcapng keeps them"
		if len(warned) != 1 || !errors.Is(warned[0], ErrFormatLoss) || warned[0].Error() != text {
			t.Errorf("%v:\n%v\n%s", order, warned, text)
		}
	}
}

// clockFile is a pcapng file of two interfaces of the given resolutions with a packet
// from each.
func clockFile(first, second byte) []byte {
	o := binary.LittleEndian
	return bytes.Join([][]byte{
		capturetest.SectionBlock(o, 1, 0), capturetest.InterfaceBlock(o, 1, 96, capturetest.Option(o, encoding.OptTSResol, first)), capturetest.InterfaceBlock(o, 1, 1500, capturetest.Option(o, encoding.OptTSResol, second)),
		capturetest.PacketBlock(o, 0, 1024, 60, []byte("one")), capturetest.PacketBlock(o, 1, 1024, 60, []byte("two")),
	}, nil)
}

// The resolution of the pcap file holds the times of all interfaces, if any resolution does.
func TestPcapResolution(t *testing.T) {
	for _, c := range []struct {
		first, second byte
		magic         uint32
		inexact       bool
	}{
		{6, 6, magicMicroseconds, false},
		{0, 3, magicMicroseconds, false},
		{6, 9, magicNanoseconds, false},
		{7, 3, magicNanoseconds, false},
		{6, 0x80 | 6, magicMicroseconds, false}, // 64 a second: 15,625 us
		{6, 0x80 | 9, magicNanoseconds, false},  // 512 a second: 1,953,125 ns
		{6, 0x80 | 20, magicNanoseconds, true},
		{12, 6, magicNanoseconds, true},
	} {
		data := clockFile(c.first, c.second)
		out, warned := toPcap(t, data)
		if magic := le.Uint32(out); magic != c.magic || le.Uint32(out[16:]) != 1500 {
			t.Errorf("%d and %d: file header % x", c.first, c.second, out[:24])
		}
		if err := alike(anyClock)(packets(t, out), packets(t, data)); err != nil {
			t.Errorf("%d and %d: %v", c.first, c.second, err)
		}
		if len(warned) != 1 || strings.Contains(warned[0].Error(), "1 exact time") != c.inexact {
			t.Errorf("%d and %d: %v", c.first, c.second, warned)
		}
	}
}

// A conversion without loss gives no warning.
func TestPcapLossless(t *testing.T) {
	o := binary.BigEndian
	file := append(capturetest.SectionBlock(o, 1, 0), capturetest.InterfaceBlock(o, 113, 0, capturetest.Option(o, encoding.OptTSResol, 9), capturetest.Option(o, encoding.OptFCSLen, 4))...)
	for i := range uint64(1000) {
		file = append(file, capturetest.PacketBlock(o, 0, 1e18+i, 70, []byte("packet"))...)
	}
	out, warned := toPcap(t, file)
	if len(warned) != 0 || len(packets(t, out)) != 1000 || le.Uint32(out[20:]) != 113|fcsLenPresent|2<<28 {
		t.Errorf("%v, % x", warned, out[:24])
	}
	if w := readAll(t, open(t, out, Options{})); w.ifaces[0].FCSLen != 4 {
		t.Errorf("%+v", w.ifaces[0])
	}
}

// Packets without a time get the time of the packet before them.
func TestPcapUntimed(t *testing.T) {
	o := binary.LittleEndian
	out, _ := toPcap(t, bytes.Join([][]byte{
		capturetest.SectionBlock(o, 1, 0), capturetest.InterfaceBlock(o, 1, 0), capturetest.SimpleBlock(o, 3, []byte("one")),
		capturetest.PacketBlock(o, 0, 7_000_000, 3, []byte("two")), capturetest.SimpleBlock(o, 5, []byte("three")),
	}, nil))
	got := packets(t, out)
	if len(got) != 3 || got[0].Time != 0 || got[1].Time != 7e9 || got[2].Time != 7e9 || got[2].Data != "three" {
		t.Errorf("%+v", got)
	}
}

// If a pcap file cannot hold the packets, the output is as without a requested format,
// and Warn gets the reason.
func TestPcapDoesNotFit(t *testing.T) {
	o := binary.LittleEndian
	ng := func(interfaces ...[]byte) []byte {
		file := append(capturetest.SectionBlock(o, 1, 0), bytes.Join(interfaces, nil)...)
		return append(file, capturetest.PacketBlock(o, 0, 1, 3, []byte("one"))...)
	}
	pcap := func(link uint32) []byte {
		return append(capturetest.PcapRecord(capturetest.PcapHeader(o, magicMicroseconds, 2, 4, 0, link), o, 1, 2, 3, 3), "one"...)
	}
	for text, inputs := range map[string][][]byte{
		"there are ETHERNET and LINUX_SLL": {ng(capturetest.InterfaceBlock(o, 1, 0), capturetest.InterfaceBlock(o, 113, 0))},
		"there are ETHERNET and RAW":       {ng(capturetest.InterfaceBlock(o, 1, 0)), pcap(101)},
		"there are NULL and RAW":           {pcap(0), pcap(101)},
		"there are 4 and 0 bytes":          {ng(capturetest.InterfaceBlock(o, 1, 0, capturetest.Option(o, encoding.OptFCSLen, 4))), ng(capturetest.InterfaceBlock(o, 1, 0))},
		"frame check sequence of 3 bytes":  {ng(capturetest.InterfaceBlock(o, 1, 0, capturetest.Option(o, encoding.OptFCSLen, 3)))},
		"frame check sequence of 32 bytes": {ng(capturetest.InterfaceBlock(o, 1, 0, capturetest.Option(o, encoding.OptFCSLen, 32)))},
		"describes no interface":           {capturetest.SectionBlock(o, 1, 0)},
	} {
		for name, join := range map[string]func([]capture.Source) capture.Source{"merge": func(s []capture.Source) capture.Source { return Merge(s, nil) }, "concat": Concat} {
			sources := func() capture.Source {
				var all []capture.Source
				for _, data := range inputs {
					all = append(all, source(t, data, "in"))
				}
				return join(all)
			}
			want, none, err := formatted(t, sources(), WriterOptions{Merged: name == "merge"})
			if err != nil || len(none) > 0 {
				t.Fatal(none, err)
			}
			got, warned, err := formatted(t, sources(), WriterOptions{Merged: name == "merge", Format: capture.FormatPcap})
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s, %s: another output than without a wish, %v", name, text, err)
			}
			if len(warned) != 1 || !errors.Is(warned[0], ErrOtherFormat) || !strings.Contains(warned[0].Error(), "the name says pcap, but pcapng is written") ||
				!strings.Contains(warned[0].Error(), text) {
				t.Errorf("%s, %s: %v", name, text, warned)
			}
		}
	}
}

// A new link type after the first packet ends a pcap file with an error.
func TestPcapLateLinkType(t *testing.T) {
	o := binary.LittleEndian
	blocks := [][]byte{
		capturetest.SectionBlock(o, 1, 0), capturetest.InterfaceBlock(o, 1, 0), capturetest.PacketBlock(o, 0, 1, 3, []byte("one")),
		capturetest.InterfaceBlock(o, 113, 0), capturetest.PacketBlock(o, 0, 2, 3, []byte("two")), capturetest.PacketBlock(o, 1, 3, 3, []byte("odd")),
	}
	for n := 5; n <= 6; n++ {
		out, _, err := formatted(t, trickled(t, blocks[:n]...), WriterOptions{Format: capture.FormatPcap})
		if len(packets(t, out)) != 2 {
			t.Errorf("%d packets, want 2", len(packets(t, out)))
		}
		if late := n == 6; errors.Is(err, capture.ErrNotSupported) != late || late && !strings.Contains(err.Error(), "LINUX_SLL") {
			t.Errorf("%d blocks: %v", n, err)
		}
	}
}

// pcapng from pcap is the same as a section of several inputs. Inputs in the requested
// format are written as without a request.
func TestFormatKept(t *testing.T) {
	pcap, ng := capturetest.Pcap(2, 100, 1, 0), capturetest.NG(binary.BigEndian, 50)
	for _, c := range []struct {
		name   string
		inputs []*capturetest.File
		wish   capture.Format
	}{
		{"pcap", []*capturetest.File{pcap}, capture.FormatPcap}, {"pcaps", []*capturetest.File{pcap, pcap}, capture.FormatPcap},
		{"pcapng", []*capturetest.File{ng}, capture.FormatPcapNG}, {"pcapngs", []*capturetest.File{ng, ng}, capture.FormatPcapNG}, {"both", []*capturetest.File{ng, pcap}, capture.FormatPcapNG},
	} {
		for _, merged := range []bool{false, true} {
			sources := func() capture.Source {
				var all []capture.Source
				for _, g := range c.inputs {
					all = append(all, source(t, g.Bytes(), "in"))
				}
				return Concat(all)
			}
			want, _, err := formatted(t, sources(), WriterOptions{Merged: merged})
			got, warned, again := formatted(t, sources(), WriterOptions{Merged: merged, Format: c.wish})
			if err != nil || again != nil || len(warned) != 0 || !bytes.Equal(got, want) {
				t.Errorf("%s: another output, %v, %v, %v", c.name, warned, err, again)
			}
		}
	}
	out, warned, err := formatted(t, source(t, pcap.Bytes(), "in"), WriterOptions{Format: capture.FormatPcapNG})
	if err != nil || len(warned) != 0 || le.Uint32(out) != capture.BlockSectionHeader {
		t.Errorf("pcapng of pcap: %v, %v", warned, err)
	}
	if err := alike(exactly)(packets(t, out), packets(t, pcap.Bytes())); err != nil {
		t.Error(err)
	}
	odd := capturetest.PcapHeader(binary.LittleEndian, magicMicroseconds, 2, 4, 0, 70_000)
	out, warned, err = formatted(t, source(t, odd, "in"), WriterOptions{Format: capture.FormatPcapNG})
	if err != nil || !bytes.Equal(out, odd) || len(warned) != 1 || !errors.Is(warned[0], ErrOtherFormat) ||
		!strings.Contains(warned[0].Error(), "says pcapng, but pcap is written: pcapng has no link type 70000") {
		t.Errorf("a link type that pcapng does not have: %v, %v", warned, err)
	}
}

// trickle hands over blocks one at a time, as a pipe may.
type trickle struct{ blocks [][]byte }

func (r *trickle) Read(p []byte) (int, error) {
	if len(r.blocks) == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.blocks[0])
	if r.blocks[0] = r.blocks[0][n:]; len(r.blocks[0]) == 0 {
		r.blocks = r.blocks[1:]
	}
	return n, nil
}

// trickled reads a file whose blocks come one at a time.
func trickled(t *testing.T, blocks ...[]byte) capture.Source {
	t.Helper()
	src, err := NewReader(&trickle{slices.Clone(blocks)}, "pipe", Options{})
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// The format is not chosen before the interfaces are known, however they come, and
// nothing that came before is lost.
func TestFormatOfTrickle(t *testing.T) {
	o := binary.LittleEndian
	for _, link := range []uint16{1, 113} {
		blocks := [][]byte{
			capturetest.SectionBlock(o, 1, 0), capturetest.Block(o, capture.BlockCustom, []byte("early")), capturetest.InterfaceBlock(o, 1, 0), capturetest.InterfaceBlock(o, link, 0),
			capturetest.PacketBlock(o, 1, 1, 3, []byte("one")), capturetest.PacketBlock(o, 0, 1, 3, []byte("two")),
		}
		for n := range blocks {
			file := bytes.Join(blocks[:n+1], nil)
			out, warned, err := formatted(t, trickled(t, blocks[:n+1]...), WriterOptions{Format: capture.FormatPcap})
			if err != nil {
				t.Fatal(err)
			}
			if fits := n >= 2 && (link == 1 || n == 2); fits {
				if le.Uint32(out) != magicMicroseconds || len(packets(t, out)) != max(0, n-3) {
					t.Errorf("%d blocks: % x, %v", n+1, out, warned)
				}
			} else if !bytes.Equal(out, file) || !errors.Is(warned[0], ErrOtherFormat) {
				t.Errorf("%d blocks of link type %d: % x, %v", n+1, link, out, warned)
			}
		}
	}
}

// An idle source does not keep the file header back.
func TestFormatIdle(t *testing.T) {
	o := binary.LittleEndian
	var buf bytes.Buffer
	w := NewWriter(&buf, WriterOptions{Format: capture.FormatPcap})
	src := source(t, append(capturetest.SectionBlock(o, 1, 0), capturetest.InterfaceBlock(o, 1, 0)...), "in")
	var b capture.Batch
	if err := src.Next(&b); err != nil {
		t.Fatal(err)
	}
	if err := w.Write(&b, nil); err != nil || buf.Len() != 0 {
		t.Fatal(buf.Len(), err)
	}
	b.Reset()
	if err := w.Write(&b, nil); err != nil || buf.Len() != PcapHeaderLen {
		t.Error(fmt.Sprint(buf.Len()), err)
	}
}

// TestPcapFromOneInterface checks that a name and counts are no loss while all packets are of one
// interface, and that other things are.
func TestPcapFromOneInterface(t *testing.T) {
	file := func(interfaces int, more func(g *capturetest.File)) []byte {
		g := &capturetest.File{Order: binary.LittleEndian}
		g.Section(1000)
		for i := range uint32(interfaces) {
			g.Interface(1, 0, g.Option(encoding.OptName, []byte("eth0")), g.End())
			g.Enhanced(i, 5_000_000, make([]byte, 60), 60, g.End())
			g.Block(capture.BlockStatistics, g.U32(nil, i, 0, 9))
		}
		more(g)
		return g.Bytes()
	}
	for _, c := range []struct {
		data []byte
		want string // of the warning, "" for none
	}{
		{file(1, func(*capturetest.File) {}), ""},
		{file(2, func(*capturetest.File) {}), "2 options, 2 blocks, which of 2 interfaces"},
		{file(1, func(g *capturetest.File) { g.Block(capture.BlockDecryption, g.U32(nil, 7, 1), []byte("k\x00\x00\x00")) }), "1 block:"},
	} {
		_, warned := toPcap(t, c.data)
		if len(warned) > 1 || (len(warned) == 1) != (c.want != "") || c.want != "" && !strings.Contains(warned[0].Error(), c.want) {
			t.Errorf("%v, want %q", warned, c.want)
		}
	}
}
