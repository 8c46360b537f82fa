// SPDX-License-Identifier: Apache-2.0

package strip

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
)

// The functions below build packets by hand, so that tests do not depend on what a library
// believes about a protocol.

// stripped is the rest of a packet.
type stripped struct {
	data []byte
	link capture.LinkType
	name string // of its interface
	wire uint32
}

// stripOne strips a packet that was captured whole.
func stripOne(headers Headers, link capture.LinkType, data []byte) (stripped, Stats) {
	b := &capture.Batch{}
	at := b.AppendInterface(capture.Interface{LinkType: link, Name: "eth0"})
	b.Append(capture.Frame{Interface: at}, data)
	s := New(Config{Headers: headers})
	out := s.Strip(b, nil)
	it := out.Interfaces[out.Frames[0].Interface]
	return stripped{out.Data(0), it.LinkType, it.Name, out.Frames[0].WireLen}, s.Stats()
}

func TestStrip(t *testing.T) {
	for _, c := range cases {
		got, stats := stripOne(c.headers, c.link, bytes.Clone(c.before))
		want := stripped{c.after, c.outLink, "eth0" + c.from, uint32(len(c.after))}
		counts := Stats{Stripped: 1}
		if c.after == nil {
			want.data, want.wire, counts.Stripped = c.before, uint32(len(c.before)), 0
		}
		if c.outLink == 0 {
			want.link = c.link
		}
		if c.left {
			counts.Left = 1
		}
		if !bytes.Equal(got.data, want.data) {
			t.Errorf("%s:\ngot  %x\nwant %x", c.name, got.data, want.data)
		}
		if got.link != want.link || got.name != want.name || got.wire != want.wire || stats != counts {
			t.Errorf("%s: got %v %q, %d bytes, %+v, want %v %q, %d bytes, %+v", c.name, got.link, got.name, got.wire, stats, want.link, want.name, want.wire, counts)
		}
	}
}

// TestTruncated checks that a packet cut anywhere stays as it is, or loses the same bytes as
// the whole frame.
func TestTruncated(t *testing.T) {
	for _, c := range cases {
		whole, _ := stripOne(c.headers, c.link, bytes.Clone(c.before))
		for n := range len(c.before) {
			b := &capture.Batch{}
			at := b.AppendInterface(capture.Interface{LinkType: c.link})
			b.Append(capture.Frame{Interface: at, WireLen: uint32(len(c.before))}, bytes.Clone(c.before[:n]))
			out := New(Config{Headers: c.headers}).Strip(b, nil)
			data, wire := out.Data(0), out.Frames[0].WireLen
			switch {
			case bytes.Equal(data, c.before[:n]) && int(wire) == len(c.before): // as it was
			case bytes.HasPrefix(whole.data, data) && wire == whole.wire:
			case out.Interfaces[out.Frames[0].Interface].Derived: // a further tunnel inside could not be opened
			case c.headers&Tunnel != 0, strings.HasPrefix(c.name, "vlans "): // headers behind were not found
			default:
				t.Fatalf("%s, %d bytes: got %x, %d on the wire", c.name, n, data, wire)
			}
			if int(wire) < len(data) {
				t.Fatalf("%s, %d bytes: %d left, %d on the wire", c.name, n, len(data), wire)
			}
		}
	}
}

// TestCheckSequence checks that a right check sequence is right again, and a wrong sequence is
// not mended.
func TestCheckSequence(t *testing.T) {
	withFCS := func(frame []byte) []byte {
		return binary.LittleEndian.AppendUint32(bytes.Clone(frame), crc32.ChecksumIEEE(frame))
	}
	strip := func(data []byte, wire uint32) *capture.Batch {
		b := &capture.Batch{}
		at := b.AppendInterface(capture.Interface{LinkType: eth, FCSLen: 4})
		b.Append(capture.Frame{Interface: at, WireLen: wire}, bytes.Clone(data))
		return New(Config{Headers: all}).Strip(b, nil)
	}
	right := withFCS(ether(c10, t4, four))
	if out := strip(right, 0); !bytes.Equal(out.Data(0), withFCS(ether(t4, four))) {
		t.Errorf("right: got %x", out.Data(0))
	}
	if out := strip(withFCS(ether("\x88\x47", bottom, "\x00\x00\x00\x00", ether(t4, four))), 0); !bytes.Equal(out.Data(0), withFCS(ether(t4, four))) {
		t.Errorf("pseudowire: got %x", out.Data(0))
	}
	wrong := slices.Concat(ether(c10, t4, four), []byte("fcs?"))
	if out := strip(wrong, 0); !bytes.Equal(out.Data(0), slices.Concat(ether(t4, four), []byte("fcs?"))) {
		t.Errorf("wrong: got %x", out.Data(0))
	}
	if out := strip(right[:40], uint32(len(right))); !bytes.Equal(out.Data(0), ether(t4, four)[:36]) || int(out.Frames[0].WireLen) != len(right)-4 {
		t.Errorf("truncated: got %x", out.Data(0))
	}
	// Behind an IP header without a length, only the capture says where the packet ends.
	offloaded := ip4(4, four)
	copy(offloaded[2:], "\x00\x00")
	out := strip(withFCS(ether(t4, offloaded)), 0)
	if it := out.Interfaces[out.Frames[0].Interface]; !bytes.Equal(out.Data(0), four) || it.FCSLen != 0 {
		t.Errorf("tunnel: got %x, %+v", out.Data(0), it)
	}
}

// TestInterfaces checks names, numbers, and the limit of interfaces.
func TestInterfaces(t *testing.T) {
	s := New(Config{Headers: Tunnel})
	b := &capture.Batch{}
	for _, name := range []string{"", "eth1"} {
		b.AppendInterface(capture.Interface{LinkType: eth, Name: name})
	}
	vxlan := func(id int) []byte {
		return ether(t4, ip4(17, udp(4789, "\x08\x00\x00\x00", binary.BigEndian.AppendUint32(nil, uint32(id)<<8), ether(t4, four))))
	}
	name := func(out *capture.Batch, i int) string {
		it := out.Interfaces[out.Frames[i].Interface]
		return fmt.Sprintf("%s %v%v", it.Name, it.LinkType, it.Derived)
	}
	b.Append(capture.Frame{Interface: 1}, vxlan(7))
	b.Append(capture.Frame{Interface: 0}, vxlan(7))
	b.Append(capture.Frame{Interface: 1}, ether(t4, ip4(4, four)))
	b.Append(capture.Frame{Interface: 1}, ether(t4, four))
	first := s.Strip(b, nil)
	earlier := first.Interfaces
	for i, want := range []string{"eth1 vxlan:7 ETHERNETtrue", "vxlan:7 ETHERNETtrue", "eth1 ipip RAWtrue", "eth1 ETHERNETfalse"} {
		if got := name(first, i); got != want {
			t.Errorf("packet %d: %q, want %q", i, got, want)
		}
	}
	// An interface of the source that comes later than a derived interface.
	b.Interfaces = append(b.Interfaces, capture.Interface{LinkType: eth, Name: "late"})
	for from := 0; from < maxInterfaces+10; from += 100 {
		b.Reset()
		for id := from; id < from+100; id++ {
			b.Append(capture.Frame{Interface: 2}, vxlan(id))
		}
		b.Append(capture.Frame{Interface: 2}, ether(t4, four))
		b.Append(capture.Frame{Interface: 1}, vxlan(7))
		out := s.Strip(b, nil)
		for i := range 100 {
			want := fmt.Sprintf("late vxlan:%d ETHERNETtrue", from+i)
			if from+i+3 >= maxInterfaces {
				want = "late tunnel ETHERNETtrue"
			}
			if got := name(out, i); got != want {
				t.Fatalf("VNI %d: %q, want %q", from+i, got, want)
			}
		}
		if a, b := name(out, 100), name(out, 101); a != "late ETHERNETfalse" || b != "eth1 vxlan:7 ETHERNETtrue" {
			t.Fatalf("others: %q and %q", a, b)
		}
		if !slices.Equal(earlier, out.Interfaces[:len(earlier)]) {
			t.Fatal("earlier interfaces changed")
		}
	}
	if n := len(s.tables.all); n != 3+maxInterfaces+1 {
		t.Errorf("%d interfaces", n)
	}
}

// TestDropped checks that dropped packets stay as they were.
func TestDropped(t *testing.T) {
	b := &capture.Batch{}
	at := b.AppendInterface(capture.Interface{LinkType: eth})
	for range 130 {
		b.Append(capture.Frame{Interface: at}, ether(c10, t4, four))
	}
	drop := []uint64{0xf0f0, ^uint64(0), 1}
	s := New(Config{Headers: VLAN})
	out := s.Strip(b, drop)
	dropped := uint64(0)
	for i := range out.Frames {
		want := ether(t4, four)
		if drop[i/64]>>(i%64)&1 != 0 {
			dropped++
			want = ether(c10, t4, four)
		}
		if !bytes.Equal(out.Data(i), want) {
			t.Fatalf("packet %d: %x", i, out.Data(i))
		}
	}
	if s.Stats() != (Stats{Stripped: 130 - dropped}) {
		t.Errorf("%+v, %d dropped", s.Stats(), dropped)
	}
}

func TestParseHeaders(t *testing.T) {
	if h, err := ParseHeaders([]string{"vlan", "tunnel", "pppoe", "arista", "mpls"}); h != all || err != nil {
		t.Errorf("%v, %v", h, err)
	}
	if _, err := ParseHeaders([]string{"vlan", "vxlan"}); err == nil {
		t.Error("an unknown name")
	}
}

// TestSteadyState checks that nothing is allocated once interfaces are known.
func TestSteadyState(t *testing.T) {
	source := &capture.Batch{}
	for _, c := range cases {
		at := source.AppendInterface(capture.Interface{LinkType: c.link})
		source.Append(capture.Frame{Interface: at}, c.before)
	}
	s, b := New(Config{Headers: all}), capture.Batch{Sections: source.Sections, Interfaces: source.Interfaces}
	run := func() {
		b.Buf = append(b.Buf[:0], source.Buf...)
		b.Frames = append(b.Frames[:0], source.Frames...)
		s.Strip(&b, nil)
	}
	if n := testing.AllocsPerRun(10, run); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
