// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/gopacket/pcapgo"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/encoding"
)

// handmade returns batches that were filled by hand, of the given numbers of packets.
func handmade(sizes ...int) []*capture.Batch {
	var all []*capture.Batch
	var tables capture.Batch
	number := 0
	for _, n := range sizes {
		b := &capture.Batch{Interfaces: tables.Interfaces, Sections: tables.Sections}
		for range n {
			if number == 0 || number == 5 {
				b.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet, Name: strings.Repeat("e", number+1), SnapLen: 96})
			}
			at := uint32(min(number/5, 1))
			data := bytes.Repeat([]byte{byte(number)}, number*7%97)
			b.Append(capture.Frame{Time: int64(number) * 1e9, WireLen: uint32(number), Interface: at}, data)
			number++
		}
		tables = *b
		all = append(all, b)
	}
	return all
}

// TestAppend writes batches that were filled by hand, in all formats, and reads them back.
func TestAppend(t *testing.T) {
	for _, sizes := range [][]int{{20}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 11}, {0, 6, 0, 14, 0}} {
		batches := handmade(sizes...)
		for name, create := range map[string]func(out *bytes.Buffer) capture.Writer{
			"copied": func(out *bytes.Buffer) capture.Writer { return NewWriter(out, WriterOptions{}) },
			"merged": func(out *bytes.Buffer) capture.Writer { return NewWriter(out, WriterOptions{Merged: true}) },
			"pcap": func(out *bytes.Buffer) capture.Writer {
				return NewWriter(out, WriterOptions{Format: capture.FormatPcap})
			},
			"pcapng": func(out *bytes.Buffer) capture.Writer {
				return NewWriter(out, WriterOptions{Format: capture.FormatPcapNG})
			},
		} {
			var out bytes.Buffer
			w := create(&out)
			for _, b := range batches {
				if err := w.Write(b, nil); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			checkHandmade(t, name, readAll(t, open(t, out.Bytes(), Options{})))
		}
	}
}

// checkHandmade looks at what was read of the packets of handmade.
func checkHandmade(t *testing.T, name string, got whole) {
	t.Helper()
	if got.err != nil || len(got.packets) != 20 {
		t.Fatalf("%s: %d packets, %v", name, len(got.packets), got.err)
	}
	for i, p := range got.packets {
		want := strings.Repeat(string([]byte{byte(i)}), i*7%97)
		if p.data != want || p.wireLen != uint32(max(i, len(want))) || p.time != int64(i)*1e9 || p.iface.LinkType != capture.LinkEthernet {
			t.Errorf("%s: packet %d: %+v", name, i, p)
		}
		if wantName := strings.Repeat("e", 1+min(i/5, 1)*5); name != "pcap" && (p.iface.Name != wantName || p.iface.SnapLen != 96) {
			t.Errorf("%s: packet %d of %+v", name, i, p.iface)
		}
	}
}

// TestDescribedAgain checks that two batches with tables of their own make no file that
// nobody can read.
func TestDescribedAgain(t *testing.T) {
	w := NewWriter(&bytes.Buffer{}, WriterOptions{})
	if err := w.Write(handmade(1)[0], nil); err != nil {
		t.Fatal(err)
	}
	if err := w.Write(handmade(1)[0], nil); !errors.Is(err, capture.ErrNotSupported) {
		t.Errorf("%v, want ErrNotSupported", err)
	}
}

// TestAppendedBlocks has pcapgo read a batch that was filled by hand.
func TestAppendedBlocks(t *testing.T) {
	b := handmade(20)[0]
	r, err := pcapgo.NewNgReader(bytes.NewReader(b.Buf), pcapgo.DefaultNgReaderOptions)
	if err != nil {
		t.Fatal(err)
	}
	for i := range b.Frames {
		data, info, err := r.ReadPacketData()
		f := &b.Frames[i]
		if err != nil || !bytes.Equal(data, b.Data(i)) || info.Timestamp.UnixNano() != f.Time ||
			info.Length != int(f.WireLen) || info.InterfaceIndex != int(f.Interface) {
			t.Fatalf("packet %d: %+v, %v", i, info, err)
		}
	}
	whole := readAll(t, open(t, b.Buf, Options{}))
	if len(whole.blocks) != 3 || len(b.Blocks) != 3 || whole.blocks[2].before != 5 || b.Blocks[2].Before != 5 {
		t.Errorf("blocks %+v", whole.blocks)
	}
}

// TestAppendTimes writes times that pcapng does not know as the first time that it knows.
func TestAppendTimes(t *testing.T) {
	var b capture.Batch
	at := b.AppendInterface(capture.Interface{LinkType: capture.LinkRaw})
	times := []int64{capture.NoTime, -1, 0, 1, math.MaxInt64}
	for _, time := range times {
		b.Append(capture.Frame{Time: time, Interface: at}, []byte("packet"))
	}
	got := readAll(t, open(t, b.Buf, Options{}))
	for i, p := range got.packets {
		if b.Frames[i].Time != times[i] || p.time != max(times[i], 0) || p.wireLen != 6 {
			t.Errorf("time %d: kept as %d, read %+v", times[i], b.Frames[i].Time, p)
		}
	}
}

// TestAppendPanics refuses what no batch can hold.
func TestAppendPanics(t *testing.T) {
	for name, f := range map[string]func(b *capture.Batch){
		"unknown interface": func(b *capture.Batch) { b.Append(capture.Frame{}, nil) },
		"link type":         func(b *capture.Batch) { b.AppendInterface(capture.Interface{LinkType: 1 << 16}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: accepted", name)
				}
			}()
			f(&capture.Batch{})
		}()
	}
}

// TestAppendKeepsMemory allocates nothing once a batch has its size.
func TestAppendKeepsMemory(t *testing.T) {
	var b capture.Batch
	at := b.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet})
	data := make([]byte, 1001)
	fill := func() {
		b.Reset()
		for range 100 {
			b.Append(capture.Frame{Interface: at}, data)
		}
	}
	fill()
	if n := testing.AllocsPerRun(10, fill); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if !slices.Equal(b.Data(99), data) || b.Record(99)[encoding.PacketHead+1001] != 0 {
		t.Error("another packet")
	}
}

func BenchmarkAppend(b *testing.B) {
	var batch capture.Batch
	at := batch.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet})
	data := make([]byte, 64)
	for i := 0; b.Loop(); i++ {
		if i%512 == 0 {
			batch.Reset()
		}
		batch.Append(capture.Frame{Time: int64(i), WireLen: 64, Interface: at}, data)
	}
}
