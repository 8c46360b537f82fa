// SPDX-License-Identifier: Apache-2.0

package strip

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/capturetest"
	"github.com/flowdedup/flowdedup/capture/internal/encoding"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
)

func TestParseSlice(t *testing.T) {
	for text, want := range map[string]Slice{
		"1": {Bytes: 1}, "96": {Bytes: 96}, "2147483647": {Bytes: 1<<31 - 1}, "l4": {From: FromPayload}, "l4+0": {From: FromPayload},
		"l4+64": {Bytes: 64, From: FromPayload},
	} {
		got, err := ParseSlice(text)
		if err != nil || got != want || got.None() {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
		if again, err := ParseSlice(got.String()); err != nil || again != got {
			t.Errorf("%s: %+v, %v", got, again, err)
		}
	}
	for _, text := range []string{"", "0", "-1", "+5", "64k", "l4-1", "l464", "l4+", "l3+4", "2147483648", "l4++1", "1.5"} {
		if s, err := ParseSlice(text); err == nil {
			t.Errorf("%q was taken for %v", text, s)
		}
	}
	if (Slice{}).String() != "" || !(Slice{}).None() {
		t.Error("no slice")
	}
}

// tcp is a segment whose header has words 32-bit words.
func tcp(words byte, payload string) []byte {
	return concat("\x9c\x40\x00\x50", make([]byte, 8), []byte{words << 4, 0x18}, make([]byte, 4*int(words)-14), payload)
}

// TestSlicePayload cuts packets of every kind behind the headers that they have.
func TestSlicePayload(t *testing.T) {
	const payload = "0123456789abcdefghijklmnopqrstuvwxyz"
	later := ip4(17, payload)
	copy(later[6:], "\x00\x64")
	first := ip4(17, udp(53, payload))
	copy(first[6:], "\x20\x00")
	options := concat("\x46", ip4(6)[1:], "\x01\x01\x01\x00", tcp(5, payload))
	binary.BigEndian.PutUint16(options[2:], uint16(len(options)))
	inner := ether(t4, ip4(6, tcp(8, payload)))
	for _, c := range []struct {
		name string
		link capture.LinkType
		data []byte
		head int // bytes before the payload; 0 if the frame stays whole
	}{
		{"tcp", eth, ether(t4, ip4(6, tcp(5, payload))), 14 + 20 + 20},
		{"tcp with options", eth, ether(t4, ip4(6, tcp(8, payload))), 14 + 20 + 32},
		{"tcp of nonsense", eth, ether(t4, ip4(6, concat(tcp(5, "")[:12], "\x10\x18\x00\x00\x00\x00\x00\x00", payload))), 14 + 20 + 20},
		{"ip options", eth, ether(t4, options), 14 + 24 + 20},
		{"udp behind a tag", eth, ether(c10, t4, ip4(17, udp(53, payload))), 18 + 20 + 8},
		{"udp in ipv6", eth, ether(t6, ip6(17, udp(53, payload))), 14 + 40 + 8},
		{"behind an extension", eth, ether(t6, ip6(0, "\x11\x00\x01\x04\x00\x00\x00\x00", udp(53, payload))), 14 + 40 + 8 + 8},
		{"sctp", raw, ip4(132, concat("\x00\x01\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00", payload)), 20 + 12},
		{"dccp", raw, ip4(33, concat("\x00\x01\x00\x02\x04\x00\x00\x00", make([]byte, 8), payload)), 20 + 16},
		{"icmp", raw, ip4(1, concat("\x08\x00\x00\x00\x00\x01\x00\x01", payload)), 20 + 8},
		{"icmp6", raw, ip6(58, concat("\x80\x00\x00\x00\x00\x01\x00\x01", payload)), 40 + 8},
		{"esp", raw, ip4(50, payload), 20},
		{"first fragment", raw, first, 20 + 8},
		{"later fragment", raw, later, 20},
		{"later fragment of ipv6", raw, ip6(44, concat("\x11\x00\x00\x10\x00\x00\x00\x01", payload)), 40 + 8},
		{"in a tunnel", eth, ether(t4, ip4(17, udp(4789, vni, inner))), 14 + 20 + 8 + 8 + 14 + 20 + 32},
		{"arp", eth, ether(tARP, arp, payload), 0},
	} {
		for _, more := range []int{0, 1, 7, len(payload), 1000} {
			b := &capture.Batch{}
			at := b.AppendInterface(capture.Interface{LinkType: c.link})
			b.Append(capture.Frame{Interface: at, WireLen: uint32(len(c.data)) + 5}, c.data)
			s := NewSlicer(Slice{uint32(more), FromPayload}, nil)
			s.Slice(b, nil)
			want, stats := c.data[:min(c.head+more, len(c.data))], SliceStats{}
			switch {
			case c.head == 0:
				want, stats.Whole = c.data, 1
			case len(want) < len(c.data):
				stats.Sliced = 1
			}
			if got := b.Data(0); !bytes.Equal(got, want) || b.Frames[0].WireLen != uint32(len(c.data))+5 || s.Stats() != stats {
				t.Errorf("%s + %d: %d of %d bytes, want %d, wire %d, %+v", c.name, more, len(got), len(c.data), len(want), b.Frames[0].WireLen, s.Stats())
			}
		}
	}
}

// sliceFile slices a capture, except packets that drop has, and returns what a writer makes of
// it.
func sliceFile(t *testing.T, s *Slicer, file []byte, drop func(number int) bool) []byte {
	t.Helper()
	number := 0
	return rewrite(t, file, pcapfile.WriterOptions{}, func(b *capture.Batch) *capture.Batch {
		dropped := make([]uint64, (len(b.Frames)+63)/64)
		for i := range b.Frames {
			if drop(number) {
				dropped[i/64] |= 1 << (i % 64)
			}
			number++
		}
		s.Slice(b, dropped)
		return b
	})
}

// sliceInputs returns files of every format, with every kind of block.
func sliceInputs(t *testing.T) map[string][]byte {
	files := map[string][]byte{"ng-le": capturetest.NG(binary.LittleEndian, 300).Bytes(), "ng-be": capturetest.NG(binary.BigEndian, 300).Bytes()}
	for k, kind := range capturetest.PcapKinds {
		files[kind.Name] = capturetest.Pcap(k, 200, 1, 1<<18).Bytes()
	}
	ours, err := filepath.Glob("../../testdata/pcaps/*")
	if err != nil || len(ours) == 0 {
		t.Fatal("no captures", err)
	}
	for _, name := range ours {
		src, err := pcapfile.Open(name, pcapfile.Options{})
		if err != nil {
			continue // no capture
		}
		var out bytes.Buffer
		w := pcapfile.NewWriter(&out, pcapfile.WriterOptions{})
		if err := capturetest.Each(t, src, func(b *capture.Batch) { err = w.Write(b, nil) }); err == nil && w.Close() == nil {
			files[filepath.Base(name)] = out.Bytes()
		}
	}
	return files
}

// TestSliceFiles cuts the packets of captures of every format and reads them again, also with
// an independent reader. Nothing else of a packet changes, and dropped packets stay whole.
func TestSliceFiles(t *testing.T) {
	drop := func(number int) bool { return number%5 == 3 }
	for name, file := range sliceInputs(t) {
		src, err := pcapfile.NewReader(bytes.NewReader(file), "in", pcapfile.Options{})
		if err != nil {
			t.Fatal(err)
		}
		was := capturetest.PacketsOf(t, src)
		for _, slice := range []Slice{{Bytes: 1}, {Bytes: 60}, {Bytes: 1 << 20}, {From: FromPayload}, {Bytes: 10, From: FromPayload}} {
			t.Run(fmt.Sprint(name, " ", slice), func(t *testing.T) {
				s := NewSlicer(slice, nil)
				out := sliceFile(t, s, file, drop)
				src, err := pcapfile.NewReader(bytes.NewReader(out), "out", pcapfile.Options{})
				if err != nil {
					t.Fatal(err)
				}
				is, cut := capturetest.PacketsOf(t, src), uint64(0)
				if len(is) != len(was) {
					t.Fatalf("%d packets, want %d", len(is), len(was))
				}
				for i := range is {
					whole := was[i]
					if len(is[i].Data) < len(whole.Data) {
						cut++
						whole.Data = whole.Data[:len(is[i].Data)]
					}
					if is[i] != whole || drop(i) && len(is[i].Data) != len(was[i].Data) {
						t.Fatalf("packet %d: %+v, was %+v", i, is[i], was[i])
					}
					if slice.From == FromFrame && s.stats.Whole == 0 && !drop(i) && len(is[i].Data) != min(int(slice.Bytes), len(was[i].Data)) {
						t.Fatalf("packet %d: %d of %d bytes", i, len(is[i].Data), len(was[i].Data))
					}
				}
				if cut != s.Stats().Sliced || slice.Bytes == 1 && cut == 0 {
					t.Errorf("%d packets were cut, and %+v counted", cut, s.Stats())
				}
				for i, data := range readByGopacket(t, out) {
					if data != is[i].Data {
						t.Fatalf("packet %d by gopacket: %x, want %x", i, data, is[i].Data)
					}
				}
			})
		}
	}
}

// TestSliceOptions checks that a packet keeps its options, except a hash.
func TestSliceOptions(t *testing.T) {
	for _, order := range []capturetest.Order{binary.LittleEndian, binary.BigEndian} {
		g := &capturetest.File{Order: order}
		g.Section(encoding.UnknownLength)
		g.Interface(1, 0)
		hash, text := g.Option(encoding.OptHash, []byte("\x02hash")), g.Option(encoding.OptComment, []byte(comment))
		g.Enhanced(0, 1, make([]byte, 90), 90, hash, text, g.End())
		g.Enhanced(0, 1, make([]byte, 20), 90, hash, text, g.End())
		g.Obsolete(0, 1, 1, make([]byte, 90), 90, text, hash, g.End())
		g.Simple(make([]byte, 90))
		s := NewSlicer(Slice{Bytes: 33}, nil)
		out := sliceFile(t, s, g.Bytes(), func(int) bool { return false })
		if n, m := bytes.Count(out, []byte("hash")), bytes.Count(out, []byte(comment)); n != 1 || m != 3 || s.Stats() != (SliceStats{Sliced: 2, Whole: 1}) {
			t.Errorf("%d hashes, %d comments, %+v", n, m, s.Stats())
		}
	}
}

// TestSliceAllocates checks that nothing is allocated, and FuzzSlice that no bytes are read
// that a frame does not have.
func TestSliceAllocates(t *testing.T) {
	source := &capture.Batch{}
	for _, c := range cases {
		at := source.AppendInterface(capture.Interface{LinkType: c.link})
		source.Append(capture.Frame{Interface: at}, c.before)
	}
	s, b := NewSlicer(Slice{Bytes: 4, From: FromPayload}, nil), capture.Batch{Sections: source.Sections, Interfaces: source.Interfaces}
	if n := testing.AllocsPerRun(10, func() {
		b.Buf = append(b.Buf[:0], source.Buf...)
		b.Frames = append(b.Frames[:0], source.Frames...)
		s.Slice(&b, nil)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzSlice(f *testing.F) {
	for _, c := range cases {
		f.Add(c.before, uint16(c.link), uint32(3), true)
	}
	f.Fuzz(func(t *testing.T, data []byte, link uint16, bytesLeft uint32, behind bool) {
		b := &capture.Batch{}
		at := b.AppendInterface(capture.Interface{LinkType: capture.LinkType(link)})
		b.Append(capture.Frame{Interface: at}, data)
		slice := Slice{Bytes: bytesLeft}
		if behind {
			slice.From = FromPayload
		}
		NewSlicer(slice, nil).Slice(b, nil)
		if got := b.Data(0); !bytes.HasPrefix(data, got) || !behind && len(got) != min(len(data), int(bytesLeft)) || len(got) < min(len(data), int(bytesLeft)) {
			t.Errorf("%x became %x", data, got)
		}
	})
}
