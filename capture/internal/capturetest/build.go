// SPDX-License-Identifier: Apache-2.0

package capturetest

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/encoding"
)

// Order is the byte order of a file.
type Order interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

// PcapHeader returns the header of a pcap file.
func PcapHeader(o Order, magic uint32, major, minor uint16, snapLen, link uint32) []byte {
	h := o.AppendUint32(nil, magic)
	h = o.AppendUint16(h, major)
	h = o.AppendUint16(h, minor)
	h = append(h, make([]byte, 8)...)
	return o.AppendUint32(o.AppendUint32(h, snapLen), link)
}

// PcapRecord appends the header of a pcap record, 16 bytes.
func PcapRecord(out []byte, o Order, sec, frac, capLen, wireLen uint32) []byte {
	for _, v := range []uint32{sec, frac, capLen, wireLen} {
		out = o.AppendUint32(out, v)
	}
	return out
}

// Block returns a pcapng block, whose body is padded to 4 bytes.
func Block(o Order, kind uint32, body ...[]byte) []byte {
	content := padded(bytes.Join(body, nil))
	n := uint32(12 + len(content))
	out := o.AppendUint32(o.AppendUint32(nil, kind), n)
	return o.AppendUint32(append(out, content...), n)
}

func padded(p []byte) []byte { return append(slices.Clip(p), make([]byte, -len(p)&3)...) }

// Option returns an option of a pcapng block, padded to 4 bytes.
func Option(o Order, code uint16, value ...byte) []byte {
	out := o.AppendUint16(o.AppendUint16(nil, code), uint16(len(value)))
	return append(out, padded(value)...)
}

// SectionBlock returns a section header of unknown section length.
func SectionBlock(o Order, major, minor uint16, options ...[]byte) []byte {
	head := o.AppendUint32(nil, encoding.ByteOrderMagic)
	head = o.AppendUint16(o.AppendUint16(head, major), minor)
	return Block(o, capture.BlockSectionHeader, o.AppendUint64(head, encoding.UnknownLength), slices.Concat(options...))
}

// InterfaceBlock returns an interface description.
func InterfaceBlock(o Order, link uint16, snapLen uint32, options ...[]byte) []byte {
	head := o.AppendUint32(o.AppendUint32(nil, 0), snapLen)
	o.PutUint16(head, link)
	return Block(o, capture.BlockInterface, head, slices.Concat(options...))
}

// PacketBlock returns an enhanced packet block.
func PacketBlock(o Order, iface uint32, ticks uint64, wireLen uint32, data []byte, options ...[]byte) []byte {
	return packetBlock(o, capture.BlockEnhancedPacket, o.AppendUint32(nil, iface), ticks, wireLen, data, options)
}

// ObsoleteBlock returns an obsolete packet block.
func ObsoleteBlock(o Order, iface, drops uint16, ticks uint64, wireLen uint32, data []byte, options ...[]byte) []byte {
	head := o.AppendUint16(o.AppendUint16(nil, iface), drops)
	return packetBlock(o, capture.BlockPacket, head, ticks, wireLen, data, options)
}

func packetBlock(o Order, kind uint32, head []byte, ticks uint64, wireLen uint32, data []byte, options [][]byte) []byte {
	for _, v := range []uint32{uint32(ticks >> 32), uint32(ticks), uint32(len(data)), wireLen} {
		head = o.AppendUint32(head, v)
	}
	return Block(o, kind, head, padded(data), slices.Concat(options...))
}

// SimpleBlock returns a simple packet block.
func SimpleBlock(o Order, wireLen uint32, data []byte) []byte {
	return Block(o, capture.BlockSimplePacket, o.AppendUint32(nil, wireLen), data)
}

// longPacket is more than what a writer gathers.
const longPacket = 64 << 10

// File is a capture file: headers, blocks and records.
type File struct {
	Order  Order
	Pieces [][]byte
	Packet []bool // by piece

	swapped bool // lengths of pcap records, as before version 2.3
}

func (g *File) add(packet bool, p []byte) {
	g.Pieces = append(g.Pieces, p)
	g.Packet = append(g.Packet, packet)
}

// Bytes returns the whole file.
func (g *File) Bytes() []byte { return bytes.Join(g.Pieces, nil) }

// U16 appends integers to p.
func (g *File) U16(p []byte, v ...uint16) []byte {
	for _, x := range v {
		p = g.Order.AppendUint16(p, x)
	}
	return p
}

// U32 appends integers to p.
func (g *File) U32(p []byte, v ...uint32) []byte {
	for _, x := range v {
		p = g.Order.AppendUint32(p, x)
	}
	return p
}

// PcapHeader begins a pcap file of version 2.minor.
func (g *File) PcapHeader(magic uint32, minor uint16, snapLen, link uint32) {
	g.swapped = minor < 3
	g.add(false, PcapHeader(g.Order, magic, 2, minor, snapLen, link))
}

// Record adds a pcap record; extra are the bytes that the modified format has
// behind the lengths.
func (g *File) Record(seconds, fraction uint32, data []byte, wireLen uint32, extra ...byte) {
	first, second := uint32(len(data)), wireLen
	if g.swapped {
		first, second = second, first
	}
	p := PcapRecord(nil, g.Order, seconds, fraction, first, second)
	g.add(true, append(append(p, extra...), data...))
}

// Block adds a pcapng block that holds no packet.
func (g *File) Block(kind uint32, body ...[]byte) { g.add(false, Block(g.Order, kind, body...)) }

// Option returns an option of a pcapng block.
func (g *File) Option(code uint16, value []byte) []byte { return Option(g.Order, code, value...) }

// Option64 returns an option that is a number.
func (g *File) Option64(code uint16, v uint64) []byte {
	return g.Option(code, g.Order.AppendUint64(nil, v))
}

// End returns the end of a list of options.
func (g *File) End() []byte { return g.U16(nil, 0, 0) }

// Section adds a section header block with the given section length.
func (g *File) Section(length uint64) {
	p := SectionBlock(g.Order, 1, 0, g.Option(encoding.OptUserAppl, []byte("forge")), g.End())
	g.Order.PutUint64(p[16:], length)
	g.add(false, p)
}

// Interface adds an interface description block.
func (g *File) Interface(link uint16, snapLen uint32, options ...[]byte) {
	g.add(false, InterfaceBlock(g.Order, link, snapLen, options...))
}

// Enhanced adds an enhanced packet block.
func (g *File) Enhanced(id uint32, ticks uint64, data []byte, wireLen uint32, options ...[]byte) {
	g.add(true, PacketBlock(g.Order, id, ticks, wireLen, data, options...))
}

// Obsolete adds a packet block, which the enhanced packet block has replaced.
func (g *File) Obsolete(id, drops uint16, ticks uint64, data []byte, wireLen uint32, options ...[]byte) {
	g.add(true, ObsoleteBlock(g.Order, id, drops, ticks, wireLen, data, options...))
}

// Simple adds a simple packet block.
func (g *File) Simple(data []byte) { g.add(true, SimpleBlock(g.Order, uint32(len(data)), data)) }

// PcapKinds are all kinds of pcap files.
var PcapKinds = []struct {
	Name  string
	Magic uint32
	Minor uint16
	Order Order
	Extra int // bytes behind the lengths of a record
}{
	{"le-us", 0xA1B2C3D4, 4, binary.LittleEndian, 0},
	{"le-ns", 0xA1B23C4D, 4, binary.LittleEndian, 0},
	{"be-us", 0xA1B2C3D4, 4, binary.BigEndian, 0},
	{"be-ns", 0xA1B23C4D, 4, binary.BigEndian, 0},
	{"le-modified", 0xA1B2CD34, 4, binary.LittleEndian, 8},
	{"be-modified", 0xA1B2CD34, 4, binary.BigEndian, 8},
	{"le-2.3", 0xA1B2C3D4, 3, binary.LittleEndian, 0},
	{"be-2.2", 0xA1B2C3D4, 2, binary.BigEndian, 0},
}

// Pcap makes a pcap file of n packets with times that rise by a second.
func Pcap(kind int, n int, link, snapLen uint32) *File {
	k := PcapKinds[kind]
	g := &File{Order: k.Order}
	g.PcapHeader(k.Magic, k.Minor, snapLen, link)
	r := rand.New(rand.NewPCG(uint64(kind), uint64(n)))
	for i := range n {
		data := make([]byte, r.IntN(120))
		for j := range data {
			data[j] = byte(r.Uint32())
		}
		if i%50 == 17 {
			data = make([]byte, longPacket+r.IntN(100))
		}
		g.Record(uint32(1_600_000_000+i), uint32(r.IntN(1_000_000)), data, uint32(len(data)+i%3), make([]byte, k.Extra)...)
	}
	return g
}

// NG makes a pcapng file with every kind of block. Its content does not
// depend on the byte order.
func NG(order Order, n int) *File {
	g := &File{Order: order}
	r := rand.New(rand.NewPCG(5, uint64(n)))
	for section := range 2 {
		g.Section([]uint64{encoding.UnknownLength, 4096}[section])
		g.Interface(1, 0,
			g.Option(encoding.OptName, []byte("eth0")), g.Option64(encoding.OptSpeed, 1e9), g.Option(encoding.OptTSResol, []byte{9}),
			g.Option(encoding.OptZone, g.U32(nil, 3600)), g.Option(encoding.OptCustomData, g.U32(nil, 32473)), g.End())
		g.Block(capture.BlockNameResolution, g.U16(nil, 1, 9), []byte("\x0a\x00\x00\x01host\x00\x00\x00\x00"),
			g.U16(nil, 0, 0), g.Option(encoding.OptComment, []byte("names")), g.End())
		g.Block(capture.BlockDecryption, g.U32(nil, 0x544c534b, 5), []byte("keys!\x00\x00\x00"), g.Option(encoding.OptComment, []byte("keys")), g.End())
		g.Interface(1, 262144, g.Option(encoding.OptTSResol, []byte{0x94}), g.Option64(encoding.OptTSOffset, 1000), g.End())
		for i := range n {
			data := make([]byte, 1+r.IntN(90))
			data[0] = byte(i)
			wire := uint32(len(data) + i%2)
			at := uint64(1_600_000_000 + n*section + i)
			switch i % 5 {
			case 0:
				g.Enhanced(0, at*1e9+7, data, wire, g.Option(encoding.OptFlags, g.U32(nil, 0x11)), g.Option64(encoding.OptDropCount, 3),
					g.Option64(encoding.OptPacketID, 99), g.Option(encoding.OptQueue, g.U32(nil, 2)), g.Option(encoding.OptComment, []byte("c")), g.End())
			case 1:
				g.Enhanced(1, (at-1000)<<20+1, data, wire)
			case 2:
				g.Obsolete(1, uint16(i), (at-1000)<<20+2, data, wire, g.Option(encoding.OptFlags, g.U32(nil, 2)), g.End())
			case 3:
				g.Obsolete(0, 0xFFFF, at*1e9+8, data, wire)
			case 4:
				g.Simple(data)
			}
		}
		g.Block(capture.BlockCustom, g.U32(nil, 32473), []byte("payload"))
		g.Block(capture.BlockCustomNoCopy, g.U32(nil, 32473), []byte("do not copy"))
		g.Block(capture.BlockJournal, []byte("__REALTIME_TIMESTAMP=1600000000000000\nMESSAGE=x\n"))
		g.Block(capture.BlockStatistics, g.U32(nil, 1, 0, 5), g.Option(encoding.OptStatStart, g.U32(nil, 1, 2)), g.Option64(4, 100), g.End())
	}
	return g
}

// SmallPackets makes a pcap file of 7000 packets of 60 bytes, about as much as a batch of
// the readers holds.
func SmallPackets() *File {
	g := &File{Order: binary.LittleEndian}
	g.PcapHeader(0xA1B23C4D, 4, 262144, 1)
	for i := range 7000 {
		g.Record(uint32(i), 0, make([]byte, 60), 60)
	}
	return g
}

// NoCopy makes a file with options in every block that may have them; secret adds
// blocks and options that are not to be copied.
func NoCopy(order Order, secret bool) []byte {
	g := &File{Order: order}
	text := g.Option(encoding.OptComment, []byte("comment"))
	hidden := func(values ...string) []byte {
		var list []byte
		for i, v := range values {
			if secret {
				list = append(list, g.Option(encoding.OptCustomTextOnce+uint16(i&1), append(g.U32(nil, 32473), v...))...)
			}
		}
		return list
	}
	block := func() {
		if secret {
			g.Block(capture.BlockCustomNoCopy, g.U32(nil, 32473), []byte("secret block"))
		}
	}
	g.add(false, SectionBlock(order, 1, 0, hidden("secret"), text, hidden("secret 2", "secret data"), g.End()))
	block()
	g.Interface(1, 0, text, hidden("secret"))
	g.Block(capture.BlockNameResolution, g.U16(nil, 1, 9), []byte("\x0a\x00\x00\x01host\x00\x00\x00\x00"), g.U16(nil, 0, 0), hidden("secret"), text, g.End())
	g.Block(capture.BlockDecryption, g.U32(nil, 7, 5), []byte("keys!\x00\x00\x00"), hidden("secret", "secret"), g.End())
	for i := range uint64(50) {
		g.Enhanced(0, i, []byte("packet")[:i%7], 6, text, hidden("secret of a packet"), g.Option(encoding.OptCustomText, g.U32(nil, 1)), g.End())
		g.Enhanced(0, i, []byte("plain"), 5)
		g.Obsolete(0, 1, i, []byte("old"), 3, hidden("secret"), text)
		block()
		g.Enhanced(0, i, []byte("alone"), 5, hidden("secret"))
	}
	g.Block(capture.BlockStatistics, g.U32(nil, 0, 0, 5), hidden("secret", "secret"), g.Option64(4, 100), hidden("secret"), g.End())
	g.Block(capture.BlockCustom, g.U32(nil, 32473), []byte("payload"))
	return g.Bytes()
}
