// SPDX-License-Identifier: Apache-2.0

package strip

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/pcapgo"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/capturetest"
	"github.com/flowdedup/flowdedup/capture/internal/encoding"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
)

// want is the expected rest of a packet of a file.
type want struct {
	data string
	link capture.LinkType
}

func wantOf(headers Headers, link capture.LinkType, data []byte) want {
	out, _ := stripOne(headers, link, bytes.Clone(data))
	return want{string(out.data), out.link}
}

// pcapFiles returns a file of each kind, with the Ethernet packets of all cases.
func pcapFiles(headers Headers) (files map[string][]byte, wants []want) {
	files = map[string][]byte{}
	for _, kind := range capturetest.PcapKinds {
		g := &capturetest.File{Order: kind.Order}
		g.PcapHeader(kind.Magic, kind.Minor, 262144, uint32(eth))
		wants = nil
		for i, c := range cases {
			if c.link == eth {
				g.Record(uint32(1000+i), uint32(i), c.before, uint32(len(c.before)), make([]byte, kind.Extra)...)
				wants = append(wants, wantOf(headers, eth, c.before))
			}
		}
		files[kind.Name] = g.Bytes()
	}
	return files, wants
}

const comment = "what the packet had to say"

// pcapngFile returns a file of every kind of packet block, with the packets of all cases.
func pcapngFile(headers Headers, order capturetest.Order) (file []byte, wants []want, comments int) {
	g := &capturetest.File{Order: order}
	g.Section(encoding.UnknownLength)
	links := map[capture.LinkType]uint32{}
	options := [][]byte{
		g.Option(encoding.OptHash, []byte("\x02crc!")), g.Option(encoding.OptComment, []byte(comment)),
		g.Option(encoding.OptFlags, g.U32(nil, 1)), g.Option(encoding.OptHash, []byte("\x00\x11")), g.End(),
	}
	for i, c := range cases {
		id, ok := links[c.link]
		if !ok {
			id = uint32(len(links))
			links[c.link] = id
			g.Interface(uint16(c.link), 0, g.Option(encoding.OptName, fmt.Appendf(nil, "eth%d", id)), g.Option(encoding.OptTSResol, []byte{9}), g.End())
		}
		at, n := uint64(1e12)+uint64(i), uint32(len(c.before))
		add := []func(){
			func() { g.Enhanced(id, at, c.before, n) },
			func() { g.Enhanced(id, at, c.before, n, options...); comments++ },
			func() { g.Enhanced(id, at, c.before, n, options[0], options[4]) },
			func() { g.Obsolete(uint16(id), 7, at, c.before, n) },
			func() { g.Obsolete(uint16(id), 0xffff, at, c.before, n, options[1:]...); comments++ },
			func() { g.Simple(c.before) },
		}
		if id > 0 {
			add = add[:5]
		}
		for _, one := range add {
			one()
			wants = append(wants, wantOf(headers, c.link, c.before))
		}
	}
	return g.Bytes(), wants, comments
}

// stripFile strips a capture and returns what a writer makes of it.
func stripFile(t *testing.T, headers Headers, file []byte) []byte {
	t.Helper()
	s := New(Config{Headers: headers})
	return rewrite(t, file, pcapfile.WriterOptions{Derived: headers&Tunnel != 0}, func(b *capture.Batch) *capture.Batch { return s.Strip(b, nil) })
}

// rewrite has change change each batch of a capture, and returns what a writer makes of the
// results. It checks that no byte changes outside of the records.
func rewrite(t *testing.T, file []byte, o pcapfile.WriterOptions, change func(*capture.Batch) *capture.Batch) []byte {
	t.Helper()
	src, err := pcapfile.NewReader(bytes.NewReader(file), "in", pcapfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := pcapfile.NewWriter(&out, o)
	if err := capturetest.Each(t, src, func(b *capture.Batch) {
		before, frames := bytes.Clone(b.Buf), slices.Clone(b.Frames)
		changed := change(b)
		checkRecords(t, before, frames, changed)
		if err := w.Write(changed, nil); err != nil {
			t.Fatal(err)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// checkRecords checks that records lie within those from before, and that nothing else
// changed.
func checkRecords(t *testing.T, before []byte, frames []capture.Frame, b *capture.Batch) {
	t.Helper()
	at := uint32(0)
	for i := range frames {
		old, f := &frames[i], &b.Frames[i]
		end := old.Record + old.RecordLen
		if f.Record < old.Record || f.Record+f.RecordLen > end || f.Data < f.Record || f.Data+f.CapLen > f.Record+f.RecordLen {
			t.Fatalf("packet %d: %+v became %+v", i, *old, *f)
		}
		if !bytes.Equal(before[at:old.Record], b.Buf[at:old.Record]) {
			t.Fatalf("bytes before packet %d changed", i)
		}
		at = end
	}
	if !bytes.Equal(before[at:], b.Buf[at:]) {
		t.Fatal("bytes behind the last packet changed")
	}
}

// checkFile reads the output with our reader and gopacket's.
func checkFile(t *testing.T, file []byte, wants []want) []capturetest.Packet {
	t.Helper()
	src, err := pcapfile.NewReader(bytes.NewReader(file), "out", pcapfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	packets := capturetest.PacketsOf(t, src)
	if len(packets) != len(wants) {
		t.Fatalf("%d packets, want %d", len(packets), len(wants))
	}
	for i, p := range packets {
		if p.Data != wants[i].data || p.Link != wants[i].link || int(p.Wire) != len(p.Data) {
			t.Fatalf("packet %d: %v of %d bytes on the wire, %x\nwant %v, %x", i, p.Link, p.Wire, p.Data, wants[i].link, wants[i].data)
		}
	}
	for i, data := range readByGopacket(t, file) {
		if data != wants[i].data {
			t.Fatalf("packet %d by gopacket: %x, want %x", i, data, wants[i].data)
		}
	}
	return packets
}

// readByGopacket reads a capture with an independent reader, up to a block that it does not know.
func readByGopacket(t *testing.T, file []byte) (all []string) {
	t.Helper()
	var r interface {
		ZeroCopyReadPacketData() ([]byte, gopacket.CaptureInfo, error)
	}
	var err error
	if file[0] == 0x0a {
		r, err = pcapgo.NewNgReader(bytes.NewReader(file), pcapgo.NgReaderOptions{WantMixedLinkType: true})
	} else if r, err = pcapgo.NewReader(bytes.NewReader(file)); err != nil {
		return nil // the modified format, and old versions
	}
	if err != nil {
		t.Fatal(err)
	}
	for {
		data, _, err := r.ZeroCopyReadPacketData()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(data))
	}
}

func TestPcapFiles(t *testing.T) {
	for _, headers := range []Headers{VLAN | MPLS | PPPoE, all} {
		files, wants := pcapFiles(headers)
		for name, file := range files {
			t.Run(fmt.Sprint(name, " ", headers), func(t *testing.T) {
				out := stripFile(t, headers, file)
				if isNG := bytes.HasPrefix(out, []byte{0x0a, 0x0d, 0x0d, 0x0a}); isNG != (headers&Tunnel != 0) {
					t.Errorf("pcapng: %v", isNG)
				}
				for i, p := range checkFile(t, out, wants) {
					if i > 0 && p.Time <= 1000e9 {
						t.Errorf("packet %d: time %d", i, p.Time)
					}
				}
			})
		}
	}
}

func TestPcapngFiles(t *testing.T) {
	for _, headers := range []Headers{VLAN | MPLS | PPPoE, all} {
		for _, order := range []capturetest.Order{binary.LittleEndian, binary.BigEndian} {
			t.Run(fmt.Sprint(order, " ", headers), func(t *testing.T) {
				file, wants, comments := pcapngFile(headers, order)
				out := stripFile(t, headers, file)
				checkFile(t, out, wants)
				if n := bytes.Count(out, []byte(comment)); n != comments {
					t.Errorf("%d comments, want %d", n, comments)
				}
				if headers&Tunnel != 0 && (!bytes.Contains(out, []byte("eth0 vxlan:1234")) || !bytes.Contains(out, []byte(" gre:9"))) {
					t.Error("no interface of a tunnel")
				}
			})
		}
	}
}

// TestHash checks that the hash of a packet goes with the bytes that it is of.
func TestHash(t *testing.T) {
	g := &capturetest.File{Order: binary.LittleEndian}
	g.Section(encoding.UnknownLength)
	g.Interface(1, 0)
	hash := g.Option(encoding.OptHash, []byte("\x02hash"))
	g.Enhanced(0, 1, ether(c10, t4, four), uint32(len(ether(c10, t4, four))), hash, g.End())
	g.Enhanced(0, 2, ether(t4, four), uint32(len(ether(t4, four))), hash, g.End())
	if n := bytes.Count(stripFile(t, VLAN, g.Bytes()), []byte("hash")); n != 1 {
		t.Errorf("%d hashes", n)
	}
}

// TestCheckSequenceFlags checks that a packet from a tunnel has no check sequence by its
// flags.
func TestCheckSequenceFlags(t *testing.T) {
	for _, order := range []capturetest.Order{binary.LittleEndian, binary.BigEndian} {
		g := &capturetest.File{Order: order}
		g.Section(encoding.UnknownLength)
		g.Interface(1, 0)
		data := concat(ether(t4, ip4(17, udp(4789, vni, ether(t4, four)))), "fcs!")
		g.Enhanced(0, 1, data, uint32(len(data)), g.Option(encoding.OptFlags, g.U32(nil, 4<<5|2)), g.End())
		src, err := pcapfile.NewReader(bytes.NewReader(stripFile(t, Tunnel, g.Bytes())), "", pcapfile.Options{})
		if err != nil {
			t.Fatal(err)
		}
		b := capturetest.WholeBatch(t, src)
		if n := b.FCSLen(0); n != 0 || !bytes.Equal(b.Data(0), ether(t4, four)) || b.Buf[b.Frames[0].Data+pad4(b.Frames[0].CapLen)+4] != 2 {
			t.Errorf("%v: %d bytes of check sequence, %x", order, n, b.Record(0))
		}
	}
}

// TestSnapped checks packet blocks that hold the start of a packet. A simple block cannot say so
// of the rest, and stays.
func TestSnapped(t *testing.T) {
	for _, order := range []capturetest.Order{binary.LittleEndian, binary.BigEndian} {
		g := &capturetest.File{Order: order}
		g.Section(encoding.UnknownLength)
		g.Interface(1, 40)
		data := ether(c10, t4, four)
		g.Enhanced(0, 1, data[:40], uint32(len(data)))
		g.Obsolete(0, 0, 1, data[:40], uint32(len(data)))
		simple := capturetest.SimpleBlock(order, uint32(len(data)), data[:40])
		file := append(g.Bytes(), simple...)
		src, err := pcapfile.NewReader(bytes.NewReader(stripFile(t, VLAN, file)), "", pcapfile.Options{})
		if err != nil {
			t.Fatal(err)
		}
		left := ether(t4, four)
		for i, p := range capturetest.PacketsOf(t, src) {
			before, wire := left[:36], len(left)
			if i == 2 {
				before, wire = data[:40], len(data)
			}
			if p.Data != string(before) || int(p.Wire) != wire {
				t.Errorf("packet %d: %d bytes on the wire, %x", i, p.Wire, p.Data)
			}
		}
	}
}

// TestPcapOutput checks what a pcap file has no place for.
func TestPcapOutput(t *testing.T) {
	write := func(packets ...[]byte) ([]capturetest.Packet, error) {
		b := &capture.Batch{}
		at := b.AppendInterface(capture.Interface{LinkType: eth})
		for _, p := range packets {
			b.Append(capture.Frame{Interface: at}, p)
		}
		var out bytes.Buffer
		var warned error
		w := pcapfile.NewWriter(&out, pcapfile.WriterOptions{Format: capture.FormatPcap, Derived: true, Warn: func(err error) { warned = err }})
		if err := w.Write(New(Config{Headers: all}).Strip(b, nil), nil); err != nil {
			return nil, err
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if warned == nil || !strings.Contains(warned.Error(), "interfaces") {
			t.Errorf("warned of %v", warned)
		}
		src, err := pcapfile.NewReader(&out, "", pcapfile.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return capturetest.PacketsOf(t, src), nil
	}
	gtp := ether(t4, ip4(17, udp(2152, "\x30\xff", u16(len(four)), "\x00\x00\x01\x00", four)))
	vxlan := ether(t4, ip4(17, udp(4789, vni, ether(c10, t4, four))))
	if got, err := write(vxlan, ether(t4, four)); err != nil || len(got) != 2 || got[0].Data != got[1].Data {
		t.Errorf("Ethernet: %v, %v", got, err)
	}
	if got, err := write(gtp, ether(t4, ip4(4, four))); err != nil || len(got) != 2 || got[0].Data != string(four) || got[0].Link != raw {
		t.Errorf("raw: %v, %v", got, err)
	}
	for _, mixed := range [][][]byte{{gtp, vxlan}, {vxlan, gtp}, {ether(t4, four), gtp}} {
		if _, err := write(mixed...); err == nil || !strings.Contains(err.Error(), "pcapng") || !errors.Is(err, capture.ErrNotSupported) {
			t.Errorf("mixed: %v", err)
		}
	}
}
